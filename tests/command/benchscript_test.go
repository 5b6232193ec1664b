package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
)

// benchScript runs the script behind "make bench" in a folder with these networks, by the names of their folders.
func benchScript(t *testing.T, flags string, networks map[string][]byte) (text string, code int) {
	t.Helper()
	dir := t.TempDir()
	script := write(t, filepath.Join(dir, "tools", "bench.sh"), read(t, filepath.Join("..", "..", "tools", "bench.sh")))
	require.NoError(t, os.Symlink(built, filepath.Join(dir, "nngpu")))
	for name, data := range networks {
		write(t, filepath.Join(dir, "shared", "models", name, "model.tflite"), data)
	}
	cmd := exec.Command("bash", script)
	cmd.Env = append(os.Environ(), "NNGPU_DEVICE=", "NNGPU_SHARED="+filepath.Join(dir, "shared"), "BENCH_FLAGS="+flags)
	out, err := cmd.CombinedOutput()
	if err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestBenchScriptSkips: a network whose operations are not supported fails nothing, one that is damaged does.
func TestBenchScriptSkips(t *testing.T) {
	flags := "--runs 1 --device " + anyDevice(t)
	good := read(t, example(t, "digits_s8.tflite"))
	tensor := tflitegen.Tensor{Name: "x", Shape: []int{1, 4}}
	odd := read(t, network(t, tflitegen.Subgraph{
		Tensors: []tflitegen.Tensor{tensor, tensor, tensor}, Inputs: []int{0}, Outputs: []int{2},
		Operators: []tflitegen.Op{
			{Code: tflitegen.OpCustom, CustomCode: "MyOwn", Inputs: []int{0}, Outputs: []int{1}},
			{Code: tflitegen.OpCustom, CustomCode: "MyOther", Inputs: []int{1}, Outputs: []int{2}},
		},
	}))
	text, code := benchScript(t, flags, map[string][]byte{"a": odd, "b": good})
	require.Equal(t, right, code, text)
	require.Regexp(t, `(?m)^== .*/a/model.tflite\nskipped: .*MyOwn.*, and 1 more\n== .*/b/model.tflite\n.*\n  cold start`, text)
	text, code = benchScript(t, flags, map[string][]byte{"a": good[:100], "b": good})
	require.Equal(t, usage, code, text)
	require.Contains(t, text, "median of 1", "the others are measured")
	text, code = benchScript(t, "--runs 1 --device=none", map[string][]byte{"a": good})
	require.Equal(t, refused, code, text)
	text, code = benchScript(t, "", nil)
	require.Equal(t, right, code, text)
}

// TestUnknownSettings: a value that means nothing is told.
func TestUnknownSettings(t *testing.T) {
	device := anyDevice(t)
	for _, tc := range []struct{ set, says string }{
		{"NNGPU_VALIDATION=cores", `NNGPU_VALIDATION="cores" is taken for 1; what is known is 0, 1, core`},
		{"NNGPU_SELFTEST=no", `NNGPU_SELFTEST="no" is ignored; what is known is off`},
		{"NNGPU_SELFTEST=off", ""},
		{"NNGPU_VALIDATION=0", ""},
		{"NNGPU_VALIDATION=", ""},
	} {
		r := (&call{
			args: []string{"inspect", example(t, "digits_s8.tflite"), "--device", device, "--json"},
			env:  []string{"NNGPU_VALIDATION=", "NNGPU_SELFTEST=", tc.set},
		}).run(t)
		require.Equal(t, right, r.code, r.stderr)
		object(t, r.stdout)
		if tc.says == "" {
			require.Empty(t, r.stderr)
			continue
		}
		require.Equal(t, "nngpu: warning: "+tc.says+"\n", r.stderr)
	}
}
