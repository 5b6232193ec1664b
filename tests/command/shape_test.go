package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn/nntest"
)

// TestShapes: --shape and --batch change what a network takes and gives, in every command that takes one.
func TestShapes(t *testing.T) {
	path := filepath.Join(nntest.Shared(t, "models"), "mobilenet_v1_025_224_f32", "model.tflite")
	eachDevice(t, func(t *testing.T, device string) {
		type tensor struct{ Shape []uint32 }
		inspect := func(args ...string) (in, out []uint32) {
			var v struct{ Inputs, Outputs []tensor }
			require.NoError(t, json.Unmarshal([]byte(ok(t, append([]string{"inspect", path, "--device", device, "--json"}, args...)...).stdout), &v))
			return v.Inputs[0].Shape, v.Outputs[0].Shape
		}
		in, out := inspect()
		require.Equal(t, []uint32{1, 224, 224, 3}, in)
		require.Equal(t, []uint32{1, 1001}, out)
		for _, args := range [][]string{{"--batch", "2"}, {"--shape", "input=2,224,224,3"}, {"--shape", "2, 224,224,3"}, {"--batch", "5", "--shape", "input=2,224,224,3"}} {
			in, out = inspect(args...)
			require.Equal(t, []uint32{2, 224, 224, 3}, in, args)
			require.Equal(t, []uint32{2, 1001}, out, args)
		}

		dir := t.TempDir()
		x := filepath.Join(dir, "x.bin")
		require.NoError(t, os.WriteFile(x, make([]byte, 2*224*224*3*4), 0o600))
		require.Equal(t, usage, nngpu(t, "run", path, "--device", device, "--input", x).code, "twice the file's input")
		var r struct{ Outputs []tensor }
		require.NoError(t, json.Unmarshal([]byte(ok(t, "run", path, "--device", device, "--batch", "2", "--input", x, "--output", dir, "--json").stdout), &r))
		require.Equal(t, []uint32{2, 1001}, r.Outputs[0].Shape)
		y, err := os.ReadFile(filepath.Join(dir, "output_0.bin"))
		require.NoError(t, err)
		require.Len(t, y, 2*1001*4)
		require.Equal(t, y[:1001*4], y[1001*4:], "two examples alike")

		var one, two struct {
			GFLOP float64 `json:"gflop"`
		}
		require.NoError(t, json.Unmarshal([]byte(ok(t, "compile", path, "--device", device, "--json").stdout), &one))
		require.NoError(t, json.Unmarshal([]byte(ok(t, "compile", path, "--device", device, "--batch", "2", "--json").stdout), &two))
		require.InEpsilon(t, 2*one.GFLOP, two.GFLOP, 0.01)
		for _, args := range [][]string{{"bench", "--runs", "2"}, {"bench", "--startup"}, {"profile", "--runs", "2"}} {
			ok(t, append(args, example(t, "digits_f32.tflite"), "--device", device, "--batch", "3")...)
		}
	})
}

// TestShapeErrors: what no shape is, or not one of this network, is said before anything else happens.
func TestShapeErrors(t *testing.T) {
	path := example(t, "digits_f32.tflite")
	for said, args := range map[string][]string{
		`no input is called "nothing"; there is "`: {"--shape", "nothing=1,28,28,1"},
		`"x" is no dimension`:                      {"--shape", "1,x"},
		`"" is no dimension`:                       {"--shape", "1,,1"},
		`"0" is no dimension`:                      {"--shape", "0,28,28,1"},
		`"4294967296" is no dimension`:             {"--shape", "4294967296"},
		"twice":                                    {"--shape", "2,28,28,1", "--shape", "3,28,28,1"},
		"--batch must be at least 1":               {"--batch", "0"},
		"cannot have these shapes":                 {"--shape", "7"},
	} {
		for _, command := range []string{"inspect", "compile", "run", "bench", "profile"} {
			r := nngpu(t, append([]string{command, path, "--device", "swiftshader"}, args...)...)
			require.Equal(t, usage, r.code, "%s: %s", command, r.stderr)
			require.Contains(t, r.stderr, said, command)
			require.LessOrEqual(t, strings.Count(r.stderr, "\n"), 1, r.stderr)
		}
	}
	require.NotContains(t, ok(t, "verify", "--help").stdout, "--batch", "of which the results are stored")
}
