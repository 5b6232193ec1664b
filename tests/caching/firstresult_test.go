package caching

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/importer/tflite"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/internal/devices"
)

// TestStagedFirstResult: whoever asks for stages never waits longer for the first result than without, beyond what
// measurements vary, on a device that has made nothing yet, with and without a disk cache of the Vulkan driver's. With
// NNGPU_SOAK=1 it measures all networks of the shared data that are supported, more often and to closer bounds.
func TestStagedFirstResult(t *testing.T) {
	soak := os.Getenv("NNGPU_SOAK") == "1"
	examples := filepath.Join("..", "..", "examples", "digits")
	paths := []string{filepath.Join(examples, "digits_f32.tflite"), filepath.Join(examples, "digits_s8.tflite")}
	rounds, factor, slack := 2, 2.0, 300*time.Millisecond
	if soak {
		more, err := filepath.Glob(filepath.Join(nntest.Shared(t, "models"), "*", "model.tflite"))
		require.NoError(t, err)
		paths = append(paths, more...)
		rounds, factor, slack = 5, 1.15, 20*time.Millisecond
	}
	for _, device := range nntest.Devices() {
		for _, disk := range []bool{false, true} {
			if disk && device != "lavapipe" { // which alone has one
				continue
			}
			t.Run(device+map[bool]string{false: "", true: " with disk cache"}[disk], func(t *testing.T) {
				devices.Open(t, device) // or skip
				t.Setenv("MESA_SHADER_CACHE_DISABLE", map[bool]string{false: "true", true: "false"}[disk])
				t.Setenv("MESA_SHADER_CACHE_DIR", t.TempDir())
				for _, path := range paths {
					m := importSupported(t, device, path)
					if m == nil {
						continue
					}
					if disk { // fill it, with both forms
						firstResult(t, device, m)
						firstResult(t, device, m, driver.WithStagedCompilation(1))
					}
					full, staged, quick := time.Hour, time.Hour, false
					for range rounds {
						took, _ := firstResult(t, device, m)
						full = min(full, took)
						took, is := firstResult(t, device, m, driver.WithStagedCompilation(0))
						staged, quick = min(staged, took), quick || is
					}
					name := filepath.Base(filepath.Dir(path))
					t.Logf("%-26s full %8.1f ms, staged %8.1f ms, quick form: %v", name, float64(full)/1e6, float64(staged)/1e6, quick)
					if float64(staged) > factor*float64(full)+float64(slack) {
						t.Errorf("%s: the first result came after %v, in full after %v", name, staged, full)
					}
				}
			})
		}
	}
}

// importSupported is the network, or nil where it or an operation of it is not supported.
func importSupported(t *testing.T, device, path string) *nn.Model {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	net, err := tflite.Import(data)
	if err != nil {
		t.Logf("%s is left out: %v", path, err)
		return nil
	}
	supported, reasons, err := devices.Open(t, device).SupportedOperations(net.Model)
	require.NoError(t, err)
	for i, ok := range supported {
		if !ok {
			t.Logf("%s is left out: operation %d: %v", path, i, reasons[i])
			return nil
		}
	}
	return net.Model
}

// firstResult is the time from preparing m on a device that was just opened until an execution of it has ended, and
// whether that was of the quick form.
func firstResult(t *testing.T, device string, m *nn.Model, opts ...driver.Option) (took time.Duration, quick bool) {
	t.Helper()
	b, err := gpu.Open(device, gpu.Options{})
	require.NoError(t, err)
	d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
	defer func() { require.NoError(t, d.Close()) }()
	c, err := d.NewClient("test")
	require.NoError(t, err)
	var inputs [][]byte
	for _, i := range m.Main.Inputs {
		n, err := m.Main.Operands[i].ByteSize()
		require.NoError(t, err)
		inputs = append(inputs, make([]byte, n))
	}
	start := time.Now()
	pm, err := c.PrepareModel(t.Context(), m, opts...)
	require.NoError(t, err)
	quick = pm.Stats().Quick
	_, err = pm.Run(t.Context(), inputs, pm.NewOutputs())
	require.NoError(t, err)
	return time.Since(start), quick
}
