package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/devices"
)

var starts = []int32{1, 2, 27, 3, 1, 6, 97}

// request lays inputs and outputs out in a pool each.
func request(inputs, outputs [][]byte) *nn.Request {
	r := &nn.Request{}
	add := func(b []byte) nn.RequestArgument {
		r.Pools = append(r.Pools, nn.HostMemory(b))
		return nn.RequestArgument{Location: nn.Location{PoolIndex: uint32(len(r.Pools) - 1), Length: uint32(len(b))}}
	}
	for _, b := range inputs {
		r.Inputs = append(r.Inputs, add(b))
	}
	for _, b := range outputs {
		r.Outputs = append(r.Outputs, add(b))
	}
	return r
}

// unhurried is for what is not about the loop timeout: other work on the machine may make any loop slow.
var unhurried = driver.WithLoopTimeout(15 * time.Second)

// TestForms: every way of running a model runs one with loops and branches.
func TestForms(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for name, opts := range map[string][]driver.Option{
			"plain": nil, "delayed": {driver.WithDelayedCompilation()}, "staged": {driver.WithStagedCompilation(1)}, "urgent": {driver.WithPriority(nn.PriorityHigh)},
		} {
			t.Run(name, func(t *testing.T) {
				pm := prepare(t, d, collatz(), opts...)
				defer func() { require.NoError(t, pm.Close()) }()
				burst := pm.Burst()
				for form, run := range map[string]func(r *nn.Request) error{
					"execute": func(r *nn.Request) error { _, err := pm.Execute(t.Context(), r, unhurried); return err },
					"burst": func(r *nn.Request) error {
						_, err := burst.Execute(t.Context(), r, []int32{0, 1, 2, driver.NoSlot, driver.NoSlot, driver.NoSlot, driver.NoSlot}, unhurried)
						return err
					},
					"profiled": func(r *nn.Request) error {
						res, err := pm.Execute(t.Context(), r, driver.WithProfile(), driver.WithTiming(), unhurried)
						if err != nil {
							return err
						}
						p := res.Profile()
						var sum time.Duration
						for _, row := range p.Rows {
							sum += row.Time
						}
						require.InDelta(t, float64(p.Wall), float64(sum), float64(p.Wall)/100)
						require.Positive(t, res.OnDevice)
						return nil
					},
					"every step": func(r *nn.Request) error {
						_, err := pm.Execute(t.Context(), r, driver.WithStepProfile(), unhurried)
						return err
					},
					"reusable": func(r *nn.Request) error {
						e, err := pm.NewExecution(r, unhurried)
						for range 3 {
							if err == nil {
								_, err = e.Run(t.Context())
							}
						}
						return err
					},
					"fenced": func(r *nn.Request) error {
						f, err := pm.ExecuteFenced(t.Context(), r, nil, driver.WithSyncFile(), unhurried)
						if err != nil {
							return err
						}
						_, err = f.SyncFile(t.Context())
						require.Error(t, err, "nobody knows when it ends")
						return f.Fence().Wait(t.Context())
					},
				} {
					for _, x := range starts {
						in, want := collatzOn(x)
						got := make([][]byte, len(want))
						for i := range want {
							got[i] = make([]byte, len(want[i]))
						}
						require.NoError(t, run(request(in, got)), form)
						require.Equal(t, want, got, "%s of %d", form, x)
					}
				}
			})
		}
	})
}

// TestBuffers: inputs and outputs in memory of the device.
func TestBuffers(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		c, err := d.NewClient("test")
		require.NoError(t, err)
		pm, err := c.PrepareModel(t.Context(), collatz())
		require.NoError(t, err)
		var inputs, outputs []*driver.Buffer
		for i := range 4 {
			if i < 3 {
				b, err := c.Allocate(driver.BufferDesc{}, []driver.BufferRole{{Model: pm, Index: i, Probability: 1}}, nil)
				require.NoError(t, err)
				inputs = append(inputs, b)
			}
			b, err := c.Allocate(driver.BufferDesc{}, nil, []driver.BufferRole{{Model: pm, Index: i, Probability: 1}})
			require.NoError(t, err)
			outputs = append(outputs, b)
		}
		for _, x := range starts {
			in, want := collatzOn(x)
			r := &nn.Request{}
			for i, b := range inputs {
				require.NoError(t, b.CopyFrom(t.Context(), nn.HostMemory(in[i]), nil))
				r.Pools = append(r.Pools, b.Token())
				r.Inputs = append(r.Inputs, nn.RequestArgument{Location: nn.Location{PoolIndex: uint32(len(r.Pools) - 1)}})
			}
			for _, b := range outputs {
				r.Pools = append(r.Pools, b.Token())
				r.Outputs = append(r.Outputs, nn.RequestArgument{Location: nn.Location{PoolIndex: uint32(len(r.Pools) - 1)}})
			}
			_, err := pm.Execute(t.Context(), r, unhurried)
			require.NoError(t, err)
			for i, b := range outputs {
				got := make([]byte, len(want[i]))
				require.NoError(t, b.CopyTo(t.Context(), nn.HostMemory(got)))
				require.Equal(t, want[i], got, "output %d of %d", i, x)
			}
		}
	})
}

// TestAtOnce: more executions at once than there is memory for, of several clients.
func TestAtOnce(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		pm := prepare(t, d, collatz())
		var group sync.WaitGroup
		for k := range 6 {
			group.Go(func() {
				for i := range 5 {
					x := starts[(i+k)%len(starts)]
					in, want := collatzOn(x)
					got := pm.NewOutputs()
					if _, err := pm.Run(t.Context(), in, got, unhurried); err != nil {
						t.Errorf("%d: %v", x, err)
					} else if fmt.Sprint(want) != fmt.Sprint(got) {
						t.Errorf("%d: %v instead of %v", x, got, want)
					}
				}
			})
		}
		group.Wait()
	})
}

// TestEndless: a loop without end is ended by its timeout, a deadline and its context, and Close waits for that; the
// device goes on.
func TestEndless(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		c, err := d.NewClient("endless")
		require.NoError(t, err)
		pm, err := c.PrepareModel(t.Context(), counting(4, 0))
		require.NoError(t, err)
		run := func(ctx context.Context, limit int32, opts ...driver.ExecuteOption) (time.Duration, error) {
			began, out := time.Now(), pm.NewOutputs()
			_, err := pm.Run(ctx, countingInputs(4, limit), out, opts...)
			if err == nil {
				require.Equal(t, ints(limit), out[0])
				require.Equal(t, floats(float32(limit)), out[1][:4])
			}
			return time.Since(began), err
		}
		usable := func() {
			_, err := run(t.Context(), 3)
			require.NoError(t, err)
		}
		usable()
		took, err := run(t.Context(), -1, driver.WithLoopTimeout(50*time.Millisecond))
		require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(err), "%v", err)
		require.ErrorContains(t, err, "iterations")
		require.GreaterOrEqual(t, took, 50*time.Millisecond)
		require.Less(t, took, 2*time.Second, "before the default")
		usable()
		took, err = run(t.Context(), -1)
		require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(err), "%v", err)
		require.GreaterOrEqual(t, took, 2*time.Second, "the default")
		usable()
		took, err = run(t.Context(), -1, driver.WithTimeout(200*time.Millisecond))
		require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(err), "%v", err)
		require.Less(t, took, 2*time.Second, "before the default")
		usable()
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("no more"))
		took, err = run(ctx, -1)
		cancel()
		require.Error(t, err)
		require.Less(t, took, 2*time.Second, "before the default")
		usable()
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		took, err = run(ctx, -1)
		require.ErrorIs(t, err, context.Canceled)
		require.Less(t, took, 2*time.Second, "before the default")
		usable()
		time.AfterFunc(50*time.Millisecond, func() { _ = pm.Close() }) // waits for the end
		_, err = run(t.Context(), -1, driver.WithLoopTimeout(200*time.Millisecond))
		require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(err), "%v", err)
		_, err = run(t.Context(), 3)
		require.ErrorIs(t, err, nn.ErrClosed)
		require.NoError(t, c.Close())
	})
}

// TestStored: the second start compiles nothing and computes the same.
func TestStored(t *testing.T) {
	dir := t.TempDir()
	inCache := driver.WithCache(driver.CacheOptions{Dir: dir, StateDir: dir})
	devices.EachWith(t, gpuOptions, func(t *testing.T, first *driver.Device) {
		selector := t.Name()[strings.LastIndex(t.Name(), "/")+1:]
		for i, d := range []*driver.Device{first, devices.OpenWith(t, selector, gpuOptions, inCache)} {
			want := []driver.CacheStatus{driver.CacheMiss, driver.CacheHit}[i]
			for _, x := range starts {
				pm := prepare(t, d, collatz())
				require.Equal(t, want, pm.Cached())
				want = driver.CacheHit
				in, result := collatzOn(x)
				out := pm.NewOutputs()
				_, err := pm.Run(t.Context(), in, out, unhurried)
				require.NoError(t, err)
				require.Equal(t, result, out)
				require.NoError(t, pm.Close())
			}
			pm := prepare(t, d, counting(4, 0))
			for range 2 {
				out := pm.NewOutputs()
				_, err := pm.Run(t.Context(), countingInputs(4, 40), out, unhurried)
				require.NoError(t, err)
				require.Equal(t, ints(40), out[0])
			}
			require.NoError(t, pm.Close())
			compiled := map[int]uint64{0: 2, 1: 0}[i]
			require.Equal(t, compiled, d.Metrics().Compile.Count)
		}
	}, inCache)
}
