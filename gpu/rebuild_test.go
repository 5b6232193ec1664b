package gpu

import (
	"bytes"
	"context"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

const lostNetwork = "digits/digits_f32.tflite"

// lose makes the next call of c lose the device that b has now.
func lose(b *Backend, c vk.Call) {
	b.devices.now().Inject(&vk.Faults{Calls: map[vk.Call]vk.Fault{c: {Result: vk.ResultDeviceLost, Times: 1}}})
}

// attempt runs x once, as compute does.
func attempt(t testing.TB, x backend.Executable, m *nn.Model, inputs [][]byte) ([][]byte, error) {
	ctx := context.Background()
	outputs := bytesOf(t, m, m.Main.Outputs, rand.New(rand.NewPCG(0, 0)))
	e, err := x.Begin(ctx, backend.Hosts(inputs), backend.Hosts(outputs))
	if err != nil {
		return nil, err
	}
	defer e.Release()
	for i := range e.Segments() {
		f, err := e.Submit(i, i+1)
		if err == nil {
			err = f.Wait(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	return outputs, e.Finish()
}

// settled waits until no more goroutines run than n.
func settled(t *testing.T, n int) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); runtime.NumGoroutine() > n; time.Sleep(10 * time.Millisecond) {
		require.Less(t, time.Now(), limit, "goroutines: %d, before: %d", runtime.NumGoroutine(), n)
	}
}

// openAlone opens a device that the test closes, to see what is left; an absent one skips it.
func openAlone(t testing.TB, selector string, o Options) *Backend {
	t.Helper()
	b, err := Open(selector, o)
	if err != nil {
		if vktest.Required(selector) {
			t.Fatal(err)
		}
		t.Skipf("no device: %v", err)
	}
	return b
}

func unavailable(t testing.TB, err error) {
	t.Helper()
	require.ErrorIs(t, err, vk.ErrDeviceLost)
	require.Equal(t, nn.StatusDeviceUnavailable, nn.StatusOf(err), err)
}

// TestRebuild loses a device under an execution; the next one is right again.
func TestRebuild(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		for _, call := range []vk.Call{vk.CallSubmit, vk.CallWait} {
			for _, copies := range []bool{false, true} {
				t.Run(selector+" call "+strconv.Itoa(int(call))+" copies="+strconv.FormatBool(copies), func(t *testing.T) {
					goroutines := runtime.NumGoroutine()
					b := openAlone(t, selector, Options{})
					b.copyWeights = copies
					m := network(t, lostNetwork)
					inputs := bytesOf(t, m, m.Main.Inputs, rand.New(rand.NewPCG(1, 2)))
					x, err := b.Compile(t.Context(), m, backend.Options{Storable: true})
					require.NoError(t, err)
					want, stats := compute(t, x, m, inputs), x.Stats()
					require.Equal(t, copies, stats.KeptBytes == stats.WeightBytes)
					model, data, err := x.(backend.Storer).Store()
					require.NoError(t, err)
					restored, err := b.Restore(t.Context(), model, bytes.NewReader(data), backend.Options{})
					require.NoError(t, err)
					require.Equal(t, want, compute(t, restored, m, inputs)) // its memory is cleared: nothing else waits

					lose(b, call)
					_, err = attempt(t, x, m, inputs)
					unavailable(t, err)
					for range 3 {
						require.Equal(t, want, compute(t, x, m, inputs))
					}
					require.NotSame(t, b.device, b.devices.now())
					require.Equal(t, want, compute(t, restored, m, inputs), "it was not under way")
					require.NoError(t, restored.Close())
					require.Equal(t, stats, x.Stats())
					modelAgain, dataAgain, err := x.(backend.Storer).Store()
					require.NoError(t, err)
					require.True(t, bytes.Equal(data, dataAgain))
					require.True(t, bytes.Equal(model, modelAgain))
					require.NoError(t, x.Close())
					require.NoError(t, x.Close())
					_, err = attempt(t, x, m, inputs)
					require.Error(t, err)
					for _, d := range []*vulkan.Device{b.device, b.devices.now()} {
						used, _, _ := d.Memory()
						require.Zero(t, used)
					}
					require.Empty(t, b.ValidationMessages())
					require.NoError(t, b.Close())
					settled(t, goroutines)
				})
			}
		}
	}
}

// TestLossOutsideExecutions: what loses the device fails once, everything works then, on the new device.
func TestLossOutsideExecutions(t *testing.T) {
	const pageBytes = 1 << 16
	for _, tc := range []struct {
		name string
		call vk.Call
		do   func(t *testing.T, b *Backend, m *nn.Model, model, data []byte) error
	}{
		{"pipelines of compile", vk.CallNewPipeline, compileOnce},
		{"memory of compile", vk.CallAllocate, compileOnce},
		{"recording of compile", vk.CallRecord, compileOnce},
		{"warm-up of compile", vk.CallWait, compileOnce},
		{"restore", vk.CallNewBuffer, func(t *testing.T, b *Backend, _ *nn.Model, model, data []byte) error {
			x, err := b.Restore(t.Context(), model, bytes.NewReader(data), backend.Options{})
			if err != nil {
				return err
			}
			return x.Close()
		}},
		{"allocate", vk.CallAllocate, func(_ *testing.T, b *Backend, _ *nn.Model, _, _ []byte) error {
			m, err := b.Allocate(nn.TensorFloat32, nn.Dims{2, 3}, 0)
			if err != nil {
				return err
			}
			return m.Close()
		}},
		{"import", vk.CallAllocate, func(t *testing.T, b *Backend, _ *nn.Model, _, _ []byte) error {
			m, err := b.Import(pages(t, pageBytes), false)
			if err != nil {
				return err
			}
			return m.Close()
		}},
	} {
		for _, selector := range vktest.Selectors() {
			t.Run(tc.name+" "+selector, func(t *testing.T) {
				b := openBackend(t, selector, Options{})
				m := network(t, "digits/digits_s8.tflite")
				inputs := bytesOf(t, m, m.Main.Inputs, rand.New(rand.NewPCG(1, 2)))
				other := openBackend(t, selector, Options{})
				model, data, want, _ := stored(t, other, m, inputs)
				lose(b, tc.call)
				err := tc.do(t, b, m, model, data)
				unavailable(t, err)
				require.NoError(t, tc.do(t, b, m, model, data))
				reasons, err := b.Supports(m)
				require.NoError(t, err)
				for _, why := range reasons {
					require.NoError(t, why)
				}
				x, err := b.Restore(t.Context(), model, bytes.NewReader(data), backend.Options{})
				require.NoError(t, err)
				require.Equal(t, want, compute(t, x, m, inputs))
				require.NoError(t, x.Close())
			})
		}
	}
}

func compileOnce(t *testing.T, b *Backend, m *nn.Model, _, _ []byte) error {
	x, err := b.Compile(t.Context(), m, backend.Options{})
	if err != nil {
		return err
	}
	return x.Close()
}

// TestMemoryIsLost: memories of a lost device say so, and executions refuse them.
func TestMemoryIsLost(t *testing.T) {
	eachBackend(t, func(t *testing.T, b *Backend) {
		x := compileGraphTwice(t, b)
		dims := nn.Dims{2, 3}
		ctx := t.Context()
		in, err := b.Allocate(nn.TensorFloat32, dims, 0)
		require.NoError(t, err)
		host, err := b.Import(pages(t, 4096), false)
		require.NoError(t, err)
		value := bytes.Repeat([]byte{0, 0, 0x80, 0x3f}, 6)
		require.NoError(t, in.Write(ctx, value))
		require.False(t, in.Lost())
		b.devices.now().Inject(&vk.Faults{Calls: map[vk.Call]vk.Fault{vk.CallSubmit: {Result: vk.ResultDeviceLost}}})
		unavailable(t, in.Read(ctx, make([]byte, len(value))))
		require.True(t, in.Lost())
		require.True(t, host.Lost())

		fresh, err := b.Allocate(nn.TensorFloat32, dims, 0)
		require.NoError(t, err)
		require.False(t, fresh.Lost())
		require.NoError(t, fresh.Write(ctx, value))
		out := make([]byte, len(value))
		for _, old := range []backend.Memory{in, host} {
			_, err := x.Begin(ctx, []backend.Binding{{Memory: old, Length: int64(len(value))}}, backend.Hosts([][]byte{out}))
			unavailable(t, err)
		}
		run := func(in backend.Binding) {
			e, err := x.Begin(ctx, []backend.Binding{in}, backend.Hosts([][]byte{out}))
			require.NoError(t, err)
			defer e.Release()
			f, err := e.Submit(0, e.Segments())
			require.NoError(t, err)
			require.NoError(t, f.Wait(ctx))
			require.NoError(t, e.Finish())
		}
		run(backend.Binding{Memory: fresh, Length: int64(len(value))})
		want := bytes.Clone(out)
		run(backend.Binding{Host: value})
		require.Equal(t, want, out)
		require.NoError(t, x.Close())
		for _, m := range []backend.Memory{in, host, fresh} {
			require.NoError(t, m.Close())
		}
		used, _, _ := b.Memory()
		require.Zero(t, used)
	})
}

// compileGraphTwice compiles y = x + x for six floats.
func compileGraphTwice(t *testing.T, b *Backend) backend.Executable {
	t.Helper()
	var mb nn.Builder
	in := mb.Input(nn.TensorFloat32, nn.Dims{2, 3}, 0, 0)
	out := mb.Temp(nn.TensorFloat32, nn.Dims{2, 3}, 0, 0)
	mb.Op(nn.OpAdd, []uint32{in, in, mb.Scalar(0)}, []uint32{out})
	mb.Output(out)
	x, err := b.Compile(t.Context(), nntest.Build(&mb), backend.Options{})
	require.NoError(t, err)
	return x
}

// TestLossUnderLoad loses the device while four models run. Each execution under way fails once, and every other is
// right to the bit.
func TestLossUnderLoad(t *testing.T) {
	const rounds, clients = 30, 2
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			goroutines := runtime.NumGoroutine()
			b := openAlone(t, selector, Options{})
			var models sync.WaitGroup
			var ran, failed atomic.Int64
			lost := make(chan struct{})
			for i, name := range []string{lostNetwork, "digits/digits_s8.tflite", lostNetwork, "digits/digits_s8.tflite"} {
				m := network(t, name)
				inputs := bytesOf(t, m, m.Main.Inputs, rand.New(rand.NewPCG(1, uint64(i))))
				x, err := b.Compile(t.Context(), m, backend.Options{})
				require.NoError(t, err)
				want := compute(t, x, m, inputs)
				models.Go(func() {
					var wg sync.WaitGroup
					for range clients {
						wg.Go(func() {
							errs := 0
							for r := 0; r < rounds || !closed(lost); r++ {
								got, err := attempt(t, x, m, inputs)
								if ran.Add(1); err != nil {
									failed.Add(1)
									errs++
									if nn.StatusOf(err) != nn.StatusDeviceUnavailable {
										t.Errorf("%s: %v", name, err)
									}
									continue
								}
								for k := range want {
									if !bytes.Equal(want[k], got[k]) {
										t.Errorf("%s: output %d differs", name, k)
									}
								}
							}
							if errs > 1 {
								t.Errorf("%s: %d failures of one client", name, errs)
							}
						})
					}
					wg.Wait()
					if err := x.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			for ran.Load() < 10 {
				time.Sleep(time.Millisecond)
			}
			// All waits fail from now on, while the device goes on working.
			b.device.Inject(&vk.Faults{Calls: map[vk.Call]vk.Fault{vk.CallWait: {Result: vk.ResultDeviceLost}}})
			for failed.Load() == 0 {
				time.Sleep(time.Millisecond)
			}
			close(lost)
			models.Wait()
			require.LessOrEqual(t, failed.Load(), int64(4*clients))
			used, _, _ := b.Memory()
			require.Zero(t, used)
			require.Empty(t, b.ValidationMessages())
			require.NoError(t, b.Close())
			settled(t, goroutines)
		})
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestSecondLoss: a device that is lost again at once stays lost; one that has lasted a while does not.
func TestSecondLoss(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openBackend(t, selector, Options{})
			m := network(t, lostNetwork)
			inputs := bytesOf(t, m, m.Main.Inputs, rand.New(rand.NewPCG(1, 2)))
			x, err := b.Compile(t.Context(), m, backend.Options{Storable: true})
			require.NoError(t, err)
			want := compute(t, x, m, inputs)
			model, data, err := x.(backend.Storer).Store()
			require.NoError(t, err)
			for range 3 {
				lose(b, vk.CallSubmit)
				_, err = attempt(t, x, m, inputs)
				unavailable(t, err)
				require.Equal(t, want, compute(t, x, m, inputs))
				b.devices.since = b.devices.since.Add(-betweenLosses - time.Second) // as if that long ago
			}
			b.devices.since = time.Now().Add(-betweenLosses / 2)
			last := b.devices.now()
			lose(b, vk.CallWait)
			_, err = attempt(t, x, m, inputs)
			unavailable(t, err)
			for range 2 {
				_, err = attempt(t, x, m, inputs)
				unavailable(t, err)
				unavailable(t, compileOnce(t, b, m, nil, nil))
				_, err = b.Restore(t.Context(), model, bytes.NewReader(data), backend.Options{})
				unavailable(t, err)
				_, err = b.Allocate(nn.TensorFloat32, nn.Dims{1}, 0)
				unavailable(t, err)
				_, err = b.Import(pages(t, 4096), false)
				unavailable(t, err)
				_, err = b.Supports(m)
				unavailable(t, err)
				_, _, err = x.(backend.Storer).Store()
				unavailable(t, err)
				b.devices.since = b.devices.since.Add(-betweenLosses) // it stays so
			}
			require.Same(t, last, b.devices.now())
			require.NoError(t, x.Close())
			used, _, _ := b.Memory()
			require.Zero(t, used)
		})
	}
}

// TestDeviceIsGone: a device that cannot be opened again is tried again later, and not before.
func TestDeviceIsGone(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		variable := map[string]string{vulkan.Lavapipe: "NNGPU_LAVAPIPE", vulkan.SwiftShader: "NNGPU_SWIFTSHADER"}[selector]
		if variable == "" {
			continue
		}
		t.Run(selector, func(t *testing.T) {
			b := openBackend(t, selector, Options{})
			x := compileGraphTwice(t, b)
			run := func() error {
				e, err := x.Begin(t.Context(), make([]backend.Binding, 1), make([]backend.Binding, 1))
				if err != nil {
					return err
				}
				defer e.Release()
				_, err = e.Submit(0, e.Segments())
				return err
			}
			require.NoError(t, run())
			lose(b, vk.CallSubmit)
			unavailable(t, run())
			t.Run("away", func(t *testing.T) {
				t.Setenv(variable, t.TempDir())
				unavailable(t, run())
			})
			unavailable(t, run())
			b.devices.retry = time.Now()
			require.NoError(t, run())
			require.NoError(t, x.Close())
		})
	}
}

// TestDamagedWeights: a device that was lost has left other constants than it was given.
func TestDamagedWeights(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openBackend(t, selector, Options{})
			m := network(t, lostNetwork)
			inputs := bytesOf(t, m, m.Main.Inputs, rand.New(rand.NewPCG(1, 2)))
			x, err := b.Compile(t.Context(), m, backend.Options{})
			require.NoError(t, err)
			lose(b, vk.CallSubmit)
			_, err = attempt(t, x, m, inputs)
			unavailable(t, err)
			x.(*executable).at.Load().MappedWeights()[100] ^= 4
			for range 2 {
				_, err = attempt(t, x, m, inputs)
				require.Equal(t, nn.StatusDeviceUnavailable, nn.StatusOf(err), err)
				require.ErrorContains(t, err, "constants")
			}
			require.NoError(t, compileOnce(t, b, m, nil, nil))
			require.NoError(t, x.Close())
			used, _, _ := b.Memory()
			require.Zero(t, used)
		})
	}
}

// TestHungDevice: the watchdog gives the device up, and everything goes on beside what is left of it.
func TestHungDevice(t *testing.T) {
	t.Setenv("NNGPU_VALIDATION", "0") // what is left behind would be reported
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openBackend(t, selector, Options{Watchdog: time.Second})
			m := network(t, lostNetwork)
			inputs := bytesOf(t, m, m.Main.Inputs, rand.New(rand.NewPCG(1, 2)))
			x, err := b.Compile(t.Context(), m, backend.Options{})
			require.NoError(t, err)
			memory, err := b.Allocate(nn.TensorFloat32, nn.Dims{5, 3}, 0)
			require.NoError(t, err)
			want := compute(t, x, m, inputs)
			b.device.Inject(&vk.Faults{Stuck: 1})
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					_, err := attempt(t, x, m, inputs)
					unavailable(t, err)
				})
			}
			wg.Wait()
			require.True(t, memory.Lost())
			require.Equal(t, want, compute(t, x, m, inputs))
			require.NoError(t, memory.Close())
			require.NoError(t, x.Close())
		})
	}
}

// TestRebuildEndsWithItsContext: who cannot wait for it fails, and the next one tries again.
func TestRebuildEndsWithItsContext(t *testing.T) {
	eachBackend(t, func(t *testing.T, b *Backend) {
		m := network(t, lostNetwork)
		inputs := bytesOf(t, m, m.Main.Inputs, rand.New(rand.NewPCG(1, 2)))
		x, err := b.Compile(t.Context(), m, backend.Options{})
		require.NoError(t, err)
		want := compute(t, x, m, inputs)
		lose(b, vk.CallSubmit)
		_, err = attempt(t, x, m, inputs)
		unavailable(t, err)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = x.Begin(ended, backend.Hosts(inputs), make([]backend.Binding, len(m.Main.Outputs)))
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, want, compute(t, x, m, inputs))
		require.NoError(t, x.Close())
	})
}
