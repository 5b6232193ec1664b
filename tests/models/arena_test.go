package models

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/importer/tflite"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/internal/devices"
)

// TestArenaIsHardlyLargerThanItsLargestLiveSet holds for every real network that compiles.
func TestArenaIsHardlyLargerThanItsLargestLiveSet(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(nntest.Shared(t, "models"), "*", "model.tflite"))
	require.NoError(t, err)
	for _, name := range []string{"lavapipe", "swiftshader"} {
		t.Run(name, func(t *testing.T) {
			devices.Open(t, name) // or skip
			b, err := gpu.Open(name, gpu.Options{})
			require.NoError(t, err)
			defer b.Close()
			compiled := 0
			for _, path := range paths {
				if d := describe(t, b, path); d != nil {
					compiled++
					require.Positive(t, d.LargestLive, path)
					require.GreaterOrEqual(t, d.Layout, d.LargestLive, path)
					require.LessOrEqual(t, float64(d.Layout), 1.15*float64(d.LargestLive), path)
				}
			}
			require.GreaterOrEqual(t, compiled, len(networks))
		})
	}
}

// describe returns nil for a network that is not supported.
func describe(t *testing.T, b *gpu.Backend, path string) *gpu.Description {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	net, err := tflite.Import(data)
	var unsupported *importer.UnsupportedError
	if errors.As(err, &unsupported) {
		return nil
	}
	require.NoError(t, err, path)
	refused, err := b.Supports(net.Model)
	require.NoError(t, err)
	if errors.Join(refused...) != nil {
		return nil
	}
	d, err := b.Describe(context.Background(), net.Model)
	require.NoError(t, err, path)
	return d
}
