package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/picture"
	"github.com/nngpu/nngpu/internal/devices"
)

const digits = "../digits"

// ownCache keeps compiled models in folders of the test's own.
func ownCache(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
}

// TestDigits: every sample is read right. Of the picture nothing is copied: only the ten scores are, and the device reads
// 28 rows of 64 texels.
func TestDigits(t *testing.T) {
	ownCache(t)
	devices.EachNamed(t, func(t *testing.T, device string) {
		for digit := range 10 {
			var out bytes.Buffer
			picture := filepath.Join(digits, "samples", fmt.Sprint(digit, ".png"))
			require.NoError(t, run(t.Context(), &out, device, filepath.Join(digits, "digits_s8.tflite"), picture))
			require.Regexp(t, fmt.Sprintf(`^%d \([01]\.\d\d\); 10 bytes copied, 1792 read by the device as texels\n$`, digit), out.String())
		}
	})
}

// TestColours: the same with pictures in colour, signed and not, where the test data are.
func TestColours(t *testing.T) {
	path := nntest.Shared(t, "images", "bird.png")
	for _, name := range []string{"mobilenet_v2_224_u8", "mobilenet_v2_224_s8"} {
		t.Run(name, func(t *testing.T) {
			model := nntest.Shared(t, "models", name, "model.tflite")
			ownCache(t)
			devices.EachNamed(t, func(t *testing.T, device string) {
				var out bytes.Buffer
				require.NoError(t, run(t.Context(), &out, device, model, path))
				require.Regexp(t, `^.+ \(\d+\.\d\d\); \d{4} bytes copied, 229376 read by the device as texels\n$`, out.String())
				require.Contains(t, out.String(), best(t, device, model, path))
			})
		})
	}
}

// best is what the network finds in a picture that comes to it as bytes.
func best(t *testing.T, device, model, path string) string {
	file, err := importer.Open(model)
	require.NoError(t, err)
	net, err := picture.NewClassifier(file)
	require.NoError(t, err)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	p, err := picture.Decode(data, picture.Limits{})
	require.NoError(t, err)
	client, err := devices.Open(t, device).NewClient("test")
	require.NoError(t, err)
	prepared, err := client.PrepareModel(t.Context(), net.Model)
	require.NoError(t, err)
	outputs := prepared.NewOutputs()
	_, err = prepared.Run(t.Context(), [][]byte{net.Input.Bytes(p)}, outputs)
	require.NoError(t, err)
	top, err := net.Top(outputs[0], 1)
	require.NoError(t, err)
	return fmt.Sprintf("%s (%.2f);", top[0], top[0].Score)
}

func TestMistakes(t *testing.T) {
	var out bytes.Buffer
	require.ErrorContains(t, run(t.Context(), &out, "", filepath.Join(digits, "digits_f32.tflite"), ""), "no picture of 8-bit colours")
	require.ErrorIs(t, run(t.Context(), &out, "", "absent.tflite", ""), os.ErrNotExist)
	require.ErrorContains(t, run(t.Context(), &out, "", "main.go", ""), "main.go")
	require.Zero(t, out.Len())
}
