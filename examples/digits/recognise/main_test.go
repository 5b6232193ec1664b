package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/internal/devices"
)

// TestRecognise reads all samples with both networks, on each device.
func TestRecognise(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // the program keeps compiled models
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	devices.EachNamed(t, func(t *testing.T, device string) {
		for _, model := range []string{"digits_f32.tflite", "digits_s8.tflite"} {
			for want := range 10 {
				picture := filepath.Join("..", "samples", fmt.Sprint(want, ".png"))
				digit, probability, err := recognise(t.Context(), device, filepath.Join("..", model), picture)
				require.NoError(t, err)
				require.Equal(t, want, digit, model)
				require.Greater(t, probability, float32(0.5), "%s, %d", model, want)
			}
		}
	})
}

func TestRecogniseFails(t *testing.T) {
	text := filepath.Join("..", "labels.txt")
	picture := filepath.Join("..", "samples", "0.png")
	for name, tc := range map[string]struct{ device, model, picture string }{
		"no picture":  {"", filepath.Join("..", "digits_s8.tflite"), text},
		"no model":    {"", text, picture},
		"no device":   {"no such device", filepath.Join("..", "digits_s8.tflite"), picture},
		"absent file": {"", "absent", picture},
	} {
		_, _, err := recognise(t.Context(), tc.device, tc.model, tc.picture)
		require.Error(t, err, name)
	}
}
