package command

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

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

// TestSuite: networks side by side, as a table and as JSON.
func TestSuite(t *testing.T) {
	device, dir := anyDevice(t), filepath.Join(t.TempDir(), "out")
	args := []string{"bench", "--suite", "gemm:64,64,64", "gemm:1,512,512", "--duration", "50ms", "--budget", "2m", "--batch", "2", "--device", device}
	text := ok(t, append(args, "--output", dir, "--io", "pool")...).stdout
	require.Contains(t, text, "| gemm:64,64,64 | f32 | ")
	require.Contains(t, text, "| gemm:1,512,512 | int8 | ")
	require.Equal(t, text, string(read(t, filepath.Join(dir, "suite.md"))))
	saved := object(t, string(read(t, filepath.Join(dir, "suite.json"))))
	require.Len(t, saved["rows"], 6)
	v := object(t, ok(t, append(args, "--type", "int8", "--json")...).stdout)
	require.Equal(t, keys(saved), keys(v))
	rows := v["rows"].([]any)
	require.Len(t, rows, 2)
	row := rows[0].(map[string]any)
	for _, name := range []string{"median_ms", "min_ms", "p90_ms", "bursts", "runs", "gflops", "ceiling_ms", "percent", "prepare_ms"} {
		require.Greater(t, row[name], 0.0, name)
	}
	require.Contains(t, row, "spread_percent")
	require.Positive(t, v["ceilings"].(map[string]any)["fma_f32_gflops"])
	require.InDelta(t, 2*2*64*64*64/1e9/(row["min_ms"].(float64)/1e3), row["gflops"], 1e-3*row["gflops"].(float64))
}

// TestSuiteBudget: what is not ready within half of the budget is left out, and the rest is told all the same.
func TestSuiteBudget(t *testing.T) {
	begin := time.Now()
	text := ok(t, "bench", "--suite", "gemm:64,64,64", "--budget", "1ns", "--device", anyDevice(t)).stdout
	require.Contains(t, text, "| gemm:64,64,64 | int8 | failed | | | | | | left out: the time is used up | | |")
	require.Less(t, time.Since(begin), time.Minute)
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
		"suite of what":    {[]string{"bench", "--suite", "resnet"}, []string{`"resnet"`}},
		"suite, runs":      {[]string{"bench", "--suite", "--runs", "3"}, []string{"--suite", "--runs"}},
		"suite, net":       {[]string{"bench", "--suite", "--net", "resnet50"}, []string{"--net"}},
		"suite, duration":  {[]string{"bench", "--suite", "--duration", "-1s"}, []string{"--duration"}},
		"suite, budget":    {[]string{"bench", "--suite", "--budget", "0s"}, []string{"--budget"}},
		"budget alone":     {[]string{"bench", "model.tflite", "--budget", "1s"}, []string{"--budget", "--suite"}},
		"suite, io":        {[]string{"bench", "--suite", "--io", "gpu"}, []string{"--io"}},
		"suite, type":      {[]string{"bench", "--suite", "--type", "u8"}, []string{`"u8"`}},
		"output alone":     {[]string{"bench", "model.tflite", "-o", "x"}, []string{"--suite"}},
		"empty":            {[]string{"bench", "--net", ""}, []string{`""`}},
	} {
		t.Run(name, func(t *testing.T) {
			(&bad{args: tc.args, code: usage, status: "INVALID_ARGUMENT", says: tc.says}).check(t)
		})
	}
}
