package command

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn/nntest"
)

// verifyJSON is the interface of `nngpu verify --json`.
type verifyJSON struct {
	Passed, Failed, Skipped int
	Models                  []verifiedJSON
}

type verifiedJSON struct {
	Name, Device, Reason string
	Pass, Skipped        bool
	MaxError             float64 `json:"max_error"`
}

func decodeVerify(t *testing.T, r result) verifyJSON {
	t.Helper()
	var v verifyJSON
	object(t, r.stdout)
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &v))
	require.Equal(t, len(v.Models), v.Passed+v.Failed+v.Skipped)
	return v
}

// meta describes a folder with one case.
func meta(t *testing.T, name, kind string, inputs, outputs int, tolerance float64) []byte {
	t.Helper()
	type tolerated struct {
		Output int     `json:"output"`
		Kind   string  `json:"kind"`
		Max    float64 `json:"max"`
	}
	var list []tolerated
	for i := range outputs {
		list = append(list, tolerated{i, "absolute", tolerance})
	}
	b, err := json.Marshal(map[string]any{
		"name": name, "format": map[string]any{"kind": kind}, "tolerance": list,
		"cases": []any{map[string]any{"dir": ".", "inputs": make([]struct{}, inputs), "outputs": make([]struct{}, outputs)}},
	})
	require.NoError(t, err)
	return b
}

// pairFolder makes a folder that verify accepts.
func pairFolder(t *testing.T, dir, name string) string {
	t.Helper()
	dir = filepath.Join(dir, name)
	for file, data := range map[string][]byte{
		"meta.json":    meta(t, name, "tflite", 2, 2, 1e-6),
		"model.tflite": read(t, pairNetwork(t)),
		"input_0.bin":  floats(1, 2, 3, 4, 5, 6),
		"input_1.bin":  floats(2, 2, 2, 8, 8, 8),
		"output_0.bin": floats(3, 4, 5, 12, 13, 14),
		"output_1.bin": floats(.5, 1, 1.5, .5, .625, .75),
	} {
		write(t, filepath.Join(dir, file), data)
	}
	return dir
}

// TestVerifyFolders spoils folders in every way; each ends as its own line and none stops the others.
func TestVerifyFolders(t *testing.T) {
	device, root := anyDevice(t), t.TempDir()
	spoil := func(name, file string, data []byte) {
		dir := pairFolder(t, root, name)
		if data == nil {
			require.NoError(t, os.Remove(filepath.Join(dir, file)))
			return
		}
		write(t, filepath.Join(dir, file), data)
	}
	type want struct {
		pass     bool
		maxError float64
		reason   string
	}
	wants := map[string]want{
		"a_good":         {true, 0, ""},
		"b_off":          {false, .25, "output 0 differs by 0.25"},
		"c_nan":          {false, math.MaxFloat64, "output 1"},
		"d_length":       {false, math.MaxFloat64, "24 bytes, expected 20"},
		"e_onnx":         {false, 0, "onnx"},
		"f_no_model":     {false, 0, "no such file"},
		"g_no_input":     {false, 0, "input_1.bin"},
		"h_cut_model":    {false, 0, "not a whole one"},
		"i_meta":         {false, 0, "meta.json"},
		"j_fewer":        {false, 0, "1 output, the model has 2"},
		"k_few_inputs":   {false, 0, "1 input, the model takes 2"},
		"l_short_input":  {false, 0, "INVALID_ARGUMENT"},
		"m_no_tolerance": {false, 0, "tolerance"},
		"n_no_cases":     {false, 0, "no cases"},
	}
	pairFolder(t, root, "a_good")
	spoil("b_off", "output_0.bin", floats(3, 4, 5, 12, 13, 14.25))
	spoil("c_nan", "output_1.bin", floats(.5, 1, float32(math.NaN()), .5, .625, .75))
	spoil("d_length", "output_0.bin", floats(1, 2, 3, 4, 5))
	spoil("e_onnx", "meta.json", meta(t, "e_onnx", "onnx", 2, 2, 1))
	spoil("f_no_model", "model.tflite", nil)
	spoil("g_no_input", "input_1.bin", nil)
	spoil("h_cut_model", "model.tflite", read(t, pairNetwork(t))[:100])
	spoil("i_meta", "meta.json", []byte("{"))
	spoil("j_fewer", "meta.json", meta(t, "j_fewer", "tflite", 2, 1, 1))
	spoil("k_few_inputs", "meta.json", meta(t, "k_few_inputs", "tflite", 1, 2, 1))
	spoil("l_short_input", "input_0.bin", floats(1))
	spoil("m_no_tolerance", "meta.json", []byte(`{"name": "m_no_tolerance", "format": {"kind": "tflite"},
		"cases": [{"dir": ".", "inputs": [{}, {}], "outputs": [{}, {}]}]}`))
	spoil("n_no_cases", "meta.json", []byte(`{"name": "n_no_cases", "format": {"kind": "tflite"}}`))

	r := nngpu(t, "verify", root, "--device", device, "--json")
	require.Equal(t, wrong, r.code, r.stderr)
	v := decodeVerify(t, r)
	require.Equal(t, []int{1, len(wants) - 2, 1}, []int{v.Passed, v.Failed, v.Skipped})
	require.Equal(t, []string{"failed", "models", "passed", "skipped"}, keys(object(t, r.stdout)))
	require.Len(t, v.Models, len(wants))
	for _, m := range v.Models {
		w, known := wants[m.Name]
		require.True(t, known, m.Name)
		require.Equal(t, m.Name == "e_onnx", m.Skipped, m.Name)
		require.Equal(t, w.pass, m.Pass, m.Name)
		require.InDelta(t, w.maxError, m.MaxError, 1e-6, m.Name)
		require.Contains(t, m.Reason, w.reason, m.Name)
		require.NotContains(t, m.Reason, "\n")
		require.NotEmpty(t, m.Device)
	}

	text := nngpu(t, "verify", filepath.Join(root, "a_good"), filepath.Join(root, "b_off"), filepath.Join(root, "e_onnx"), "--device", device)
	require.Equal(t, wrong, text.code)
	require.Regexp(t, `(?m)^a_good +ok +0`, text.stdout)
	require.Regexp(t, `(?m)^b_off +FAILED +0\.25 +case \.: output 0 differs`, text.stdout)
	require.Regexp(t, `(?m)^e_onnx +skipped +- +format onnx`, text.stdout)
	require.Contains(t, text.stdout, "1 passed, 1 failed, 1 skipped")
	require.Equal(t, "nngpu: 1 of 2 networks failed\n", text.stderr)

	skipped := nngpu(t, "verify", filepath.Join(root, "e_onnx"), "--device", device)
	require.Equal(t, usage, skipped.code)
	require.Contains(t, skipped.stdout, "0 passed, 0 failed, 1 skipped")
	require.Equal(t, "nngpu: nothing was verified: format onnx is not read\n", skipped.stderr)
}

// TestVerifyPattern: what a pattern of the shell names besides networks is skipped, as long as there is a network.
func TestVerifyPattern(t *testing.T) {
	device, root := anyDevice(t), t.TempDir()
	good := pairFolder(t, root, "good")
	empty, file := filepath.Join(root, "LICENSES"), write(t, filepath.Join(root, "README.md"), nil)
	write(t, filepath.Join(empty, "Apache-2.0.txt"), nil)

	text := ok(t, "verify", empty, file, good, "--device", device)
	require.Regexp(t, `(?m)^LICENSES +skipped +- +no meta\.json`, text.stdout)
	require.Regexp(t, `(?m)^README\.md +skipped +- +not a folder$`, text.stdout)
	require.Contains(t, text.stdout, "1 passed, 0 failed, 2 skipped")

	v := decodeVerify(t, ok(t, "verify", empty, file, good, "--device", device, "--json"))
	require.Equal(t, []int{1, 0, 2}, []int{v.Passed, v.Failed, v.Skipped})
	for i, name := range []string{"LICENSES", "README.md", "good"} {
		require.Equal(t, name, v.Models[i].Name)
		require.Equal(t, name != "good", v.Models[i].Skipped)
		require.Equal(t, name != "good", v.Models[i].Reason != "")
	}
	(&bad{args: []string{"verify", good, root + "/absent"}, code: usage, says: []string{"absent", "no such file"}}).check(t)
}

func TestVerifyNothing(t *testing.T) {
	empty := t.TempDir()
	file := write(t, filepath.Join(t.TempDir(), "file"), nil)
	for _, tc := range []bad{
		{name: "no meta.json", args: []string{"verify", empty}, says: []string{"no meta.json"}},
		{name: "missing", args: []string{"verify", empty + "/absent"}, says: []string{"absent", "no such file"}},
		{name: "file", args: []string{"verify", file}, says: []string{file}},
		{name: "several without a network", args: []string{"verify", empty, file, empty}, says: []string{empty, "no meta.json"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.code, tc.status = usage, "INVALID_ARGUMENT"
			tc.check(t)
		})
	}
}

// TestVerifySharedModels runs real networks: small ones, because package models runs all.
func TestVerifySharedModels(t *testing.T) {
	models := nntest.Shared(t, "models")
	device := anyDevice(t)
	args := []string{"verify", "--device", device, "--json"}
	for _, name := range []string{"hello_world_f32", "micro_speech_s8", "mobilenet_v2_224_u8", "mnist8_f32_onnx"} {
		args = append(args, filepath.Join(models, name))
	}
	v := decodeVerify(t, ok(t, args...))
	require.Equal(t, 3, v.Passed)
	require.Equal(t, 1, v.Skipped)
	for _, m := range v.Models {
		if m.Name == "mnist8_f32_onnx" {
			require.Contains(t, m.Reason, "onnx")
		}
	}
}

func TestConformance(t *testing.T) {
	dir := nntest.Shared(t, "conformance")
	device := anyDevice(t)
	r := ok(t, "conformance", dir, "--filter", "softmax_float_*", "--device", device, "--json")
	var v struct {
		Passed, Failed, Refused int
		Operations              map[string]struct{ Passed, Failed, Refused int }
		Failures                []any
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &v))
	require.Positive(t, v.Passed)
	require.Zero(t, v.Failed)
	require.Positive(t, v.Operations["SOFTMAX"].Passed)
	fields := object(t, r.stdout)
	require.Subset(t, keys(fields), []string{"failed", "failures", "operations", "passed", "refused"})
	require.Equal(t, []any{}, fields["failures"])
	require.Contains(t, ok(t, "conformance", dir, "--filter", "softmax_float_*", "--device", device).stdout, "SOFTMAX")
	(&bad{args: []string{"conformance", dir, "--filter", "nothing*", "--device", device}, code: usage, says: []string{"nothing*"}}).check(t)
}

func TestConformanceFolders(t *testing.T) {
	device, dir := anyDevice(t), t.TempDir()
	(&bad{args: []string{"conformance", dir, "--device", device}, code: usage, says: []string{dir}}).check(t)
	(&bad{args: []string{"conformance", dir + "/absent", "--device", device}, code: usage}).check(t)
	write(t, filepath.Join(dir, "V1_0", "broken.jsonl.gz"), []byte("not gzip"))
	(&bad{args: []string{"conformance", dir, "--device", device}, code: usage, says: []string{"broken.jsonl.gz"}}).check(t)
}
