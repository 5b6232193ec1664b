package nngpu_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/importer/tflite"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
)

// A vertical stroke is a 1. There is no "Output:" comment, because an example cannot be skipped where there is no Vulkan
// device.
func Example() {
	ctx := context.Background()
	pixels := make([]float32, 28*28) // 0 is white, -1 black
	for y := 4; y < 24; y++ {
		pixels[28*y+14], pixels[28*y+15] = -1, -1
	}
	dev, err := nngpu.Open(nngpu.Options{})
	check(err)
	defer dev.Close() // and everything made from it
	data, err := os.ReadFile("examples/digits/digits_s8.tflite")
	check(err)
	net, err := tflite.Import(data)
	check(err)
	client, err := dev.NewClient("example")
	check(err)
	model, err := client.PrepareModel(ctx, net.Model)
	check(err)
	results, err := model.RunFloats(ctx, map[string][]float32{"image": pixels})
	check(err)
	fmt.Println(results["probabilities"]) // of the digits 0 to 9
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// TestOpen: every option gets to what it is for.
func TestOpen(t *testing.T) {
	names := []string{"lavapipe", "swiftshader"}
	if list := os.Getenv("NNGPU_DEVICE"); list != "" {
		names = strings.Split(list, ",")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			dir := t.TempDir()
			dev, err := nngpu.Open(nngpu.Options{
				Device: name, MemoryBudget: 64 << 20, Cache: driver.CacheOptions{Dir: dir, StateDir: t.TempDir()},
				Scheduling: driver.SchedulingOptions{QueueLimit: 1}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			if err != nil && !nntest.Required(name) {
				t.Skip(err)
			}
			require.NoError(t, err)
			defer func() { require.NoError(t, dev.Close()) }()
			_, _, limit := dev.Vulkan.Memory()
			require.Equal(t, int64(64<<20), limit)
			require.Equal(t, dev.Info(), dev.Vulkan.Info())
			c, err := dev.NewClient("test")
			require.NoError(t, err)
			data, err := os.ReadFile("examples/digits/digits_s8.tflite")
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
