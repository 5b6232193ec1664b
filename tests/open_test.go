package tests

import (
	"bytes"
	"log/slog"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/importer/tflite"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

// TestOpen: every option gets to what it is for.
func TestOpen(t *testing.T) {
	for _, name := range nntest.Devices() {
		t.Run(name, func(t *testing.T) {
			devices.Open(t, name) // or there is none, which it says
			var log bytes.Buffer
			dir := t.TempDir()
			dev, err := nngpu.Open(nngpu.Options{
				Device: name, MemoryBudget: 64 << 20, Cache: driver.CacheOptions{Dir: dir, StateDir: t.TempDir()},
				Scheduling: driver.SchedulingOptions{QueueLimit: 1}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			require.NoError(t, err)
			defer func() { require.NoError(t, dev.Close()) }()
			_, _, limit := dev.Vulkan.Memory()
			require.Equal(t, int64(64<<20), limit)
			require.Equal(t, dev.Info(), dev.Vulkan.Info())
			c, err := dev.NewClient("test")
			require.NoError(t, err)
			data, err := os.ReadFile("../examples/digits/digits_s8.tflite")
			require.NoError(t, err)
			net, err := tflite.Import(data)
			require.NoError(t, err)
			model, err := c.PrepareModel(t.Context(), net.Model)
			require.NoError(t, err)
			require.Equal(t, driver.CacheMiss, model.Cached())
			kept, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.NotEmpty(t, kept)
			require.Empty(t, log.String())
		})
	}
	_, err := nngpu.Open(nngpu.Options{Device: "no such device"})
	require.Equal(t, nn.StatusDeviceUnavailable, nn.StatusOf(err))
}
