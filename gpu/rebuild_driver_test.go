package gpu

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
	"github.com/nngpu/nngpu/memory"
)

// workload runs one model again and again in one way; it is used by one goroutine.
type workload struct {
	name string
	// run executes the model once and compares.
	run   func() error
	close func() error
}

// requestFor has one pool for an input and one for an output.
func requestFor(in, out nn.Memory, inBytes, outBytes int) *nn.Request {
	arg := func(pool uint32, n int) []nn.RequestArgument {
		return []nn.RequestArgument{{Location: nn.Location{PoolIndex: pool, Length: uint32(n)}}}
	}
	return &nn.Request{Inputs: arg(0, inBytes), Outputs: arg(1, outBytes), Pools: []nn.Memory{in, out}}
}

func differs(want, got []byte) error {
	if !bytes.Equal(want, got) {
		return fmt.Errorf("another result")
	}
	return nil
}

// workloads are the ways to run pm, which has one input and one output, all of which compare with what it computes
// now.
func workloads(t *testing.T, c *driver.Client, name string, pm *driver.PreparedModel, input []byte) []workload {
	t.Helper()
	ctx := context.Background()
	output := pm.NewOutputs()[0]
	_, err := pm.Run(ctx, [][]byte{input}, [][]byte{output})
	require.NoError(t, err)
	want := bytes.Clone(output)

	pool, err := memory.NewAshmem("nngpu-test", int64(len(input)+len(output)))
	require.NoError(t, err)
	shared, err := pool.Bytes()
	require.NoError(t, err)
	copy(shared, input)
	inPool := requestFor(pool, pool, len(input), len(output))
	inPool.Pools = inPool.Pools[:1]
	inPool.Outputs[0].Location = nn.Location{Offset: uint32(len(input)), Length: uint32(len(output))}
	burst := pm.Burst()

	x, err := c.Allocate(driver.BufferDesc{}, []driver.BufferRole{{Model: pm, Probability: 1}}, nil)
	require.NoError(t, err)
	y, err := c.Allocate(driver.BufferDesc{}, nil, []driver.BufferRole{{Model: pm, Probability: 1}})
	require.NoError(t, err)
	back := make([]byte, len(want))
	return []workload{
		{name + " on slices", func() error {
			clear(output)
			if _, err := pm.Run(ctx, [][]byte{input}, [][]byte{output}); err != nil {
				return err
			}
			return differs(want, output)
		}, func() error { return nil }},
		{name + " in a burst", func() error {
			clear(shared[len(input):])
			if _, err := burst.Execute(ctx, inPool, []int32{1}); err != nil {
				return err
			}
			return differs(want, shared[len(input):][:len(want)])
		}, pool.Close},
		{name + " on buffers", func() error {
			if err := x.CopyFrom(ctx, nn.HostMemory(input), nil); err != nil {
				return err
			}
			e, err := pm.ExecuteFenced(ctx, requestFor(x.Token(), y.Token(), 0, 0), nil)
			if err != nil {
				return err
			}
			if err := e.Fence().Wait(ctx); err != nil {
				return err
			}
			clear(back)
			if err := y.CopyTo(ctx, nn.HostMemory(back)); err != nil {
				return err
			}
			return differs(want, back)
		}, func() error { return nil }},
	}
}

// TestLossBelowTheDriver loses the device, or lets it hang, under four models that the driver runs in every way. Each
// user has one error to tell of, and then goes on with the same results.
func TestLossBelowTheDriver(t *testing.T) {
	for _, mode := range []string{"lost", "hung"} {
		for _, selector := range vktest.Selectors() {
			t.Run(mode+" "+selector, func(t *testing.T) {
				o := Options{}
				faults := &vk.Faults{Calls: map[vk.Call]vk.Fault{vk.CallWait: {Result: vk.ResultDeviceLost}}}
				if mode == "hung" {
					t.Setenv("NNGPU_VALIDATION", "0") // what is left behind would be reported
					o.Watchdog = time.Second
					faults = &vk.Faults{Stuck: 1}
				}
				goroutines := runtime.NumGoroutine()
				b := openAlone(t, selector, o)
				dev := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
				var list []workload
				for i, m := range []*nn.Model{
					network(t, lostNetwork), network(t, "digits/digits_s8.tflite"), absModel(nn.Dims{2, 5, 7, 3}), absModel(nn.Dims{1000}),
				} {
					client, err := dev.NewClient(fmt.Sprint("client ", i/2))
					require.NoError(t, err)
					pm, err := client.PrepareModel(t.Context(), m)
					require.NoError(t, err)
					input := bytesOf(t, m, m.Main.Inputs, rand.New(rand.NewPCG(1, uint64(i))))[0]
					list = append(list, workloads(t, client, fmt.Sprint("model ", i), pm, input)...)
				}
				var done sync.WaitGroup
				var right, failed atomic.Int64
				over := make(chan struct{})
				for _, w := range list {
					done.Go(func() {
						errs := 0
						for n := 0; n < 20 || !closed(over); n++ {
							err := w.run()
							if err == nil {
								right.Add(1)
								continue
							}
							failed.Add(1)
							errs++
							// A buffer that was written before the loss and is read after it is uninitialised.
							if s := nn.StatusOf(err); s != nn.StatusDeviceUnavailable && (s != nn.StatusGeneralFailure || w.name[len(w.name)-7:] != "buffers") {
								t.Errorf("%s: %v", w.name, err)
							}
						}
						if errs > 1 {
							t.Errorf("%s: %d errors", w.name, errs)
						}
					})
				}
				for right.Load() < int64(len(list)) {
					time.Sleep(time.Millisecond)
				}
				b.device.Inject(faults)
				for failed.Load() == 0 {
					time.Sleep(time.Millisecond)
				}
				close(over)
				done.Wait()
				require.Positive(t, failed.Load())
				b.device.Inject(nil)
				for _, w := range list {
					require.NoError(t, w.run(), w.name)
					require.NoError(t, w.close(), w.name)
				}
				again := b.devices.now()
				require.NotSame(t, b.device, again)
				require.Empty(t, b.ValidationMessages())
				require.NoError(t, dev.Close())
				for _, d := range []interface {
					Memory() (used, peak, limit int64)
				}{b.device, again} {
					used, _, _ := d.Memory()
					require.Zero(t, used)
				}
				settled(t, goroutines)
			})
		}
	}
}
