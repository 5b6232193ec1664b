package command

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNet: a standard network is written as a file that can be read again, and measured without one.
func TestNet(t *testing.T) {
	device := anyDevice(t)
	file := filepath.Join(t.TempDir(), "product.tflite")
	v := object(t, ok(t, "net", "gemm:19,23,29", "--type", "int8", "--batch", "2", "-o", file, "--json").stdout)
	require.Equal(t, map[string]any{
		"net": "gemm:19,23,29", "type": "int8", "batch": 2.0, "file": file, "bytes": float64(len(read(t, file))),
	}, v)
	require.Contains(t, ok(t, "inspect", file, "--device", device).stdout, "TENSOR_QUANT8_ASYMM_SIGNED [38 29]")
	require.Contains(t, ok(t, "net", "squeezenet_1.1", "--type", "f16", "-o", file).stdout, "MB")
	require.Contains(t, ok(t, "inspect", file, "--device", device).stdout, "squeezenet_1.1, f16, batch 1")

	for _, typ := range []string{"f32", "f16", "int8"} {
		r := ok(t, "bench", "--net", "gemm:64,64,64", "--type", typ, "--batch", "3", "--runs", "3", "--device", device, "--json")
		var b benchJSON
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &b))
		require.Equal(t, "gemm:64,64,64, "+typ, b.Model)
		require.Positive(t, b.GFLOPS)
		require.Greater(t, b.ColdStart, b.Latency.Min)
	}
	object(t, ok(t, "bench", "--net", "gemm:64,64,64", "--startup", "--device", device, "--json").stdout)
	require.Contains(t, ok(t, "profile", "--net", "gemm:64,64,64", "--runs", "3", "--device", device).stdout, "FULLY_CONNECTED")
	require.Contains(t, ok(t, "compile", "--net", "gemm:64,64,64", "--batch", "2", "--device", device).stdout, "gemm:64,64,64, f32")
}

func TestNetRefusals(t *testing.T) {
	file := filepath.Join(t.TempDir(), "net.tflite")
	for name, tc := range map[string]struct {
		args []string
		says []string
	}{
		"unknown":          {[]string{"net", "resnet", "-o", file}, []string{`"resnet"`, "resnet50"}},
		"no file":          {[]string{"net", "resnet50"}, []string{"--output"}},
		"another file":     {[]string{"net", "resnet50", "-o", "net.onnx"}, []string{".tflite"}},
		"no folder":        {[]string{"net", "gemm:1,1,1", "-o", filepath.Join(file, "x.tflite")}, []string{"no such file"}},
		"type":             {[]string{"net", "resnet50", "--type", "f64", "-o", file}, []string{`"f64"`, "int8"}},
		"batch":            {[]string{"net", "resnet50", "--batch", "0", "-o", file}, []string{"--batch"}},
		"unknown to bench": {[]string{"bench", "--net", "gemm:1,2"}, []string{"M,N,K"}},
		"model, too":       {[]string{"bench", "--net", "resnet50", "model.tflite"}, []string{"beside --net"}},
		"shape":            {[]string{"bench", "--net", "resnet50", "--shape", "1,2,2,3"}, []string{"--shape", "exclude"}},
		"type alone":       {[]string{"bench", "model.tflite", "--type", "int8"}, []string{"--type", "--net"}},
		"empty":            {[]string{"bench", "--net", ""}, []string{`""`}},
	} {
		t.Run(name, func(t *testing.T) {
			(&bad{args: tc.args, code: usage, status: "INVALID_ARGUMENT", says: tc.says}).check(t)
		})
	}
}
