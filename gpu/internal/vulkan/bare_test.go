package vulkan_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/importer/tflite"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// helloWorld is the smallest network of the test data.
func helloWorld(t testing.TB) *nn.Model {
	t.Helper()
	data, err := os.ReadFile(nntest.Shared(t, "models", "hello_world_f32", "model.tflite"))
	require.NoError(t, err)
	net, err := tflite.Import(data)
	require.NoError(t, err)
	return net.Model
}

// TestReusableBesideBare: an execution of the smallest network, through a reusable request with all that the driver does,
// takes at most 1.3 times as long as its commands take that are handed to the device by nothing but Vulkan's calls. Both
// take turns, so that each finds the device's threads, and the processor's caches, as the other one leaves them. In blocks
// of the same, of which the log tells, the bare ones also gain that the device does not go to sleep between them.
func TestReusableBesideBare(t *testing.T) {
	t.Setenv("NNGPU_VALIDATION", "0")
	t.Setenv("NNGPU_POISON", "0")
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			model := helloWorld(t)
			back, err := gpu.Open(selector, gpu.Options{})
			if err != nil && !vktest.Required(selector) {
				t.Skipf("no device: %v", err)
			}
			require.NoError(t, err)
			d := driver.NewDevice(back, driver.WithCache(driver.CacheOptions{Off: true}))
			defer func() { require.NoError(t, d.Close()) }()
			client, err := d.NewClient("bare")
			require.NoError(t, err)
			prepared, err := client.PrepareModel(t.Context(), model)
			require.NoError(t, err)
			in, out := make(nn.HostMemory, 4), make(nn.HostMemory, 4)
			whole := nn.Location{Length: 4}
			reusable, err := prepared.NewExecution(&nn.Request{
				Pools: []nn.Memory{in, out}, Inputs: []nn.RequestArgument{{Location: whole}},
				Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: 4}}},
			})
			require.NoError(t, err)

			exe, err := back.Compile(t.Context(), model, backend.Options{})
			require.NoError(t, err)
			defer func() { require.NoError(t, exe.Close()) }()
			e, err := exe.Begin(t.Context(), backend.Hosts([][]byte{in}), backend.Hosts([][]byte{out}))
			require.NoError(t, err)
			defer e.Release()
			bare := e.(*vulkan.Execution).Bare()
			run := func() error {
				_, err := reusable.Run(t.Context())
				return err
			}

			direct := func() error {
				e, err := exe.Begin(t.Context(), backend.Hosts([][]byte{in}), backend.Hosts([][]byte{out}))
				if err != nil {
					return err
				}
				defer e.Release()
				f, err := e.Submit(0, e.Segments())
				if err != nil {
					return err
				}
				if err := f.Wait(t.Context()); err != nil {
					return err
				}
				return e.Finish()
			}

			const rounds, block = 2500, 50
			functions := []struct {
				name string
				run  func() error
			}{{"bare", bare}, {"backend", direct}, {"reusable", run}}
			var turns, blocks [3][]time.Duration
			for range rounds {
				for i, f := range functions {
					start := time.Now()
					require.NoError(t, f.run())
					turns[i] = append(turns[i], time.Since(start))
				}
			}
			for range rounds / block {
				for i, f := range functions {
					for n := range block {
						start := time.Now()
						require.NoError(t, f.run())
						if n > 0 {
							blocks[i] = append(blocks[i], time.Since(start))
						}
					}
				}
			}
			var median [3]time.Duration
			for i, f := range functions {
				slices.Sort(turns[i])
				slices.Sort(blocks[i])
				median[i] = turns[i][rounds/2]
				t.Logf("%s: %v in turn, %v in blocks", f.name, median[i], blocks[i][len(blocks[i])/2])
			}
			ratio := float64(median[2]) / float64(median[0])
			t.Logf("%.3f times as long in turn, %.3f in blocks", ratio, float64(blocks[2][len(blocks[2])/2])/float64(blocks[0][len(blocks[0])/2]))
			bound := 1.3
			if nntest.Raced {
				bound = 5 // the driver's own work takes many times as long
			}
			require.LessOrEqual(t, ratio, bound)
		})
	}
}
