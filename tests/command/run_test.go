package command

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn/nntest"
)

// runJSON is the interface of `nngpu run --json`.
type runJSON struct {
	Device  string
	Outputs []struct {
		Name, Type, File string
		Shape            []int
	}
	Top []struct {
		Index int
		Label string
		Score float64
	}
	Latency float64 `json:"latency_ms"`
	Cache   string
}

func decodeRun(t *testing.T, r result) runJSON {
	t.Helper()
	var v runJSON
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &v))
	return v
}

// TestCat names the animal in a picture with both 8-bit networks.
func TestCat(t *testing.T) {
	models, images := nntest.Shared(t, "models"), nntest.Shared(t, "images")
	eachDevice(t, func(t *testing.T, device string) {
		for _, name := range []string{"mobilenet_v2_224_u8", "mobilenet_v2_224_s8"} {
			r := ok(t, "run", filepath.Join(models, name, "model.tflite"), "--input", filepath.Join(images, "cat.png"),
				"--labels", filepath.Join(images, "imagenet_labels.txt"), "--device", device, "--json")
			v := decodeRun(t, r)
			require.Len(t, v.Top, 5)
			require.Equal(t, "Egyptian cat", v.Top[0].Label, name)
			require.Equal(t, 286, v.Top[0].Index)
			require.Greater(t, v.Top[0].Score, 0.5)
			require.Greater(t, v.Latency, 0.0)
		}
	})
}

// TestFloatPictures: a network that does not say how colours are normalised gets them from -1 to 1.
func TestFloatPictures(t *testing.T) {
	models, images := nntest.Shared(t, "models"), nntest.Shared(t, "images")
	r := ok(t, "run", filepath.Join(models, "mobilenet_v1_025_224_f32", "model.tflite"), "--input", filepath.Join(images, "cat.png"),
		"--labels", filepath.Join(images, "imagenet_labels.txt"), "--device", anyDevice(t), "--json")
	require.Contains(t, decodeRun(t, r).Top[0].Label, "cat")
	require.Contains(t, r.stderr, "-1 to 1 is assumed")
}

// TestDigits reads every picture of the shipped example, and some with every network on every device.
func TestDigits(t *testing.T) {
	for digit := range 10 {
		readDigit(t, anyDevice(t), "digits_s8.tflite", digit)
	}
	eachDevice(t, func(t *testing.T, device string) {
		readDigit(t, device, "digits_s8.tflite", 4)
		readDigit(t, device, "digits_f32.tflite", 9)
	})
}

func readDigit(t *testing.T, device, model string, digit int) {
	t.Helper()
	r := ok(t, "run", example(t, model), "--input", example(t, fmt.Sprintf("samples/%d.png", digit)),
		"--labels", example(t, "labels.txt"), "--top", "1", "--device", device, "--json")
	v := decodeRun(t, r)
	require.Len(t, v.Top, 1)
	require.Equal(t, digit, v.Top[0].Index, "%s", r.stdout)
}

func TestRunFields(t *testing.T) {
	device, out := anyDevice(t), filepath.Join(t.TempDir(), "new", "folder")
	r := ok(t, "run", example(t, "digits_s8.tflite"), "-i", example(t, "samples/3.png"), "-o", out,
		"--labels", example(t, "labels.txt"), "--device", device, "--json")
	v := object(t, r.stdout)
	require.Equal(t, []string{"cache", "device", "latency_ms", "outputs", "top"}, keys(v))
	require.Equal(t, []string{"file", "name", "shape", "type"}, keys(v["outputs"].([]any)[0]))
	require.Equal(t, []string{"index", "label", "score"}, keys(v["top"].([]any)[0]))
	require.Empty(t, r.stderr)
	require.FileExists(t, filepath.Join(out, "output_0.bin"))
	require.Equal(t, []string{out, filepath.Join(out, "output_0.bin")}, listing(t, out))
}

func TestRunText(t *testing.T) {
	r := ok(t, "run", example(t, "digits_f32.tflite"), "-i", example(t, "samples/3.png"), "--device", anyDevice(t), "-v")
	require.Regexp(t, `(?m)^3 +\d\.\d{4}  █+$`, r.stdout)
	require.Regexp(t, `(?m) ms on `, r.stdout)
	require.Contains(t, r.stderr, "device: ")
	require.Contains(t, r.stderr, "kernels: ")
	require.Contains(t, r.stderr, "prepared in ")
	require.Contains(t, r.stderr, "resized to 28x28, normalised as the model says")
}

// TestInputsAndOutputs runs a network of two inputs and two outputs on .bin and .npy files, named and in
// order.
func TestInputsAndOutputs(t *testing.T) {
	device, model, dir := anyDevice(t), pairNetwork(t), t.TempDir()
	left, right := floats(1, 2, 3, 4, 5, 6), floats(2, 2, 2, 8, 8, 8)
	leftBin := write(t, filepath.Join(dir, "left.bin"), left)
	leftNPY := write(t, filepath.Join(dir, "left.npy"), npy("<f4", "False", "(1, 2, 3)", left))
	rightBin := write(t, filepath.Join(dir, "right.bin"), right)
	rightNPY := write(t, filepath.Join(dir, "right.npy"), npy("=f4", "False", "(1, 2, 3,)", right))
	for _, tc := range []struct {
		name   string
		inputs []string
		format string
	}{
		{"bin in order", []string{leftBin, rightBin}, "bin"},
		{"npy in order", []string{leftNPY, rightNPY}, "npy"},
		{"named, the other way round", []string{"right=" + rightBin, "left=" + leftNPY}, "npy"},
		{"one named, the other in what is left", []string{leftBin, "right=" + rightNPY}, "bin"},
		{"one named first", []string{"right=" + rightNPY, leftBin}, "bin"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			r := ok(t, "run", model, "-i", tc.inputs[0], "-i", tc.inputs[1], "-o", out, "--format", tc.format, "--device", device, "--json")
			v := decodeRun(t, r)
			require.Len(t, v.Outputs, 2)
			require.Equal(t, "sum", v.Outputs[0].Name)
			require.Equal(t, []int{1, 2, 3}, v.Outputs[1].Shape)
			require.Equal(t, []float32{3, 4, 5, 12, 13, 14}, readFloats(t, v.Outputs[0].File))
			require.InDeltaSlice(t, []float32{.5, 1, 1.5, .5, .625, .75}, readFloats(t, v.Outputs[1].File), 1e-6)
		})
	}
	t.Run("an output as the next input", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "out")
		ok(t, "run", model, "-i", leftBin, "-i", rightBin, "-o", out, "--format", "npy", "--device", device)
		first := filepath.Join(out, "output_0.npy")
		ok(t, "run", model, "-i", first, "-i", first, "-o", out, "--format", "npy", "--device", device) // overwrites it
		require.Equal(t, []float32{6, 8, 10, 24, 26, 28}, readFloats(t, first))
	})
}

// TestNotANumber has results that JSON cannot hold.
func TestNotANumber(t *testing.T) {
	device, dir := anyDevice(t), t.TempDir()
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	x := write(t, filepath.Join(dir, "x.bin"), floats(nan, inf, 1, -inf, 2, 3))
	zero := write(t, filepath.Join(dir, "zero.bin"), floats(0, 0, 0, 0, 0, 0))
	r := ok(t, "run", pairNetwork(t), "-i", x, "-i", zero, "--top", "6", "--device", device, "--json")
	top := decodeRun(t, r).Top
	require.NotEmpty(t, top)
	require.LessOrEqual(t, len(top), 6)
	for _, e := range top {
		require.NotEqual(t, 0, e.Index, "NaN has no rank")
	}
	object(t, r.stdout)
}

func TestPictureFormats(t *testing.T) {
	device, dir := anyDevice(t), t.TempDir()
	for name, data := range pictures(t, example(t, "samples/5.png")) {
		path := write(t, filepath.Join(dir, name), data)
		v := decodeRun(t, ok(t, "run", example(t, "digits_f32.tflite"), "-i", path, "--device", device, "--json"))
		require.Equal(t, 5, v.Top[0].Index, name)
	}
}

// TestNormalisation gives a network of its own what --mean and --std make of a picture.
func TestNormalisation(t *testing.T) {
	device, out := anyDevice(t), filepath.Join(t.TempDir(), "out")
	model := imageNetwork(t)
	white := write(t, filepath.Join(t.TempDir(), "white.png"), whitePicture(t))
	for _, tc := range []struct {
		flags []string
		want  float32
	}{
		{nil, 1},
		{[]string{"--mean", "0"}, 255},
		{[]string{"--mean", "127.5", "--std", "127.5"}, 1},
		{[]string{"--std", "255"}, 1},
		{[]string{"--mean=100,110,120", "--std=10"}, 15.5},
	} {
		args := append([]string{"run", model, "-i", white, "-o", out, "--device", device}, tc.flags...)
		r := ok(t, args...)
		require.Equal(t, tc.want, readFloats(t, filepath.Join(out, "output_0.bin"))[0], "%v", tc.flags)
		if tc.flags == nil {
			require.Contains(t, r.stderr, "-1 to 1 is assumed")
		} else {
			require.Empty(t, r.stderr)
		}
	}
}

func TestLabelsOfAnotherLength(t *testing.T) {
	labels := write(t, filepath.Join(t.TempDir(), "labels.txt"), []byte("zero\r\none\r\n"))
	r := ok(t, "run", example(t, "digits_f32.tflite"), "-i", example(t, "samples/1.png"), "--labels", labels,
		"--device", anyDevice(t), "--json")
	require.Equal(t, "one", decodeRun(t, r).Top[0].Label)
	require.Contains(t, r.stderr, "2 labels for 10 values")
	object(t, r.stdout)
}

var npyHead = regexp.MustCompile(`^\{'descr': '<f4', 'fortran_order': False, 'shape': \((?:\d+, )*\d+,?\), \} *\n$`)

// readFloats decodes a .bin or .npy file of float32.
func readFloats(t *testing.T, path string) []float32 {
	t.Helper()
	b := read(t, path)
	if filepath.Ext(path) == ".npy" {
		require.Equal(t, "\x93NUMPY\x01\x00", string(b[:8]))
		n := 10 + int(binary.LittleEndian.Uint16(b[8:]))
		require.Zero(t, n%64, "NumPy aligns the data")
		require.Regexp(t, npyHead, string(b[10:n]))
		b = b[n:]
	}
	require.Zero(t, len(b)%4)
	list := make([]float32, len(b)/4)
	for i := range list {
		list[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return list
}

func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no /dev/full: %v", err)
	}
	defer full.Close()
	for _, args := range [][]string{{"version"}, {"version", "--json"}} {
		cmd := (&call{args: args}).command()
		var stderr strings.Builder
		cmd.Stdout, cmd.Stderr = full, &stderr
		require.Error(t, cmd.Run())
		require.Equal(t, usage, cmd.ProcessState.ExitCode(), args)
		require.Contains(t, stderr.String(), "nngpu: standard output: ", args)
	}
}
