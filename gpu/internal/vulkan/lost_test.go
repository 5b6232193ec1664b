package vulkan_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
	"github.com/nngpu/nngpu/shaders"
)

// loseNext makes the next call of c lose the device.
func loseNext(d *vulkan.Device, c vk.Call) {
	d.Inject(&vk.Faults{Calls: map[vk.Call]vk.Fault{c: {Result: vk.ResultDeviceLost, Times: 1}}})
}

// TestLoss loses the device in each call that can tell of it. The validation layer watches what is freed when.
func TestLoss(t *testing.T) {
	ctx := context.Background()
	in, out := floats(1<<16, 1), make([]byte, 4<<16)
	form := vulkan.Form{DenseBytes: 1 << 10, DeviceBytes: 1 << 10}
	for _, tc := range []struct {
		name string
		call vk.Call
		do   func(d *vulkan.Device, x *vulkan.Executable) error
	}{
		{"submit", vk.CallSubmit, func(_ *vulkan.Device, x *vulkan.Executable) error { return runOnce(ctx, x, in, out) }},
		{"wait", vk.CallWait, func(_ *vulkan.Device, x *vulkan.Executable) error { return runOnce(ctx, x, in, out) }},
		{"allocate", vk.CallAllocate, func(d *vulkan.Device, _ *vulkan.Executable) error {
			_, err := d.Allocate(form, 0)
			return err
		}},
		{"clear", vk.CallWait, func(d *vulkan.Device, _ *vulkan.Executable) error {
			_, err := d.Allocate(form, 0)
			return err
		}},
		{"buffer", vk.CallNewBuffer, func(d *vulkan.Device, _ *vulkan.Executable) error {
			_, err := vulkan.NewExecutable(ctx, d, absPlan(1021, 2), nil, vulkan.ExecutableOptions{})
			return err
		}},
		{"record", vk.CallRecord, func(d *vulkan.Device, _ *vulkan.Executable) error {
			x, err := vulkan.NewExecutable(ctx, d, absPlan(1021, 2), nil, vulkan.ExecutableOptions{})
			if err == nil { // it was the call that clears the slot, which nobody waits for before it is used
				defer x.Close()
				err = runOnce(ctx, x, make([]byte, 4*1021), make([]byte, 4*1021))
			}
			return err
		}},
		{"pipeline", vk.CallNewPipeline, func(d *vulkan.Device, _ *vulkan.Executable) error {
			p := absPlan(1021, 2)
			for i := range p.Steps {
				if p.Steps[i].Kernel != shaders.Copy {
					p.Steps[i].Local[0] = 32
				}
			}
			_, err := vulkan.NewExecutable(ctx, d, p, nil, vulkan.ExecutableOptions{})
			return err
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
				x, err := vulkan.NewExecutable(ctx, d, absPlan(1<<16, 3), nil, vulkan.ExecutableOptions{})
				require.NoError(t, err)
				m, err := d.Allocate(form, 0)
				require.NoError(t, err)
				require.NoError(t, runOnce(ctx, x, in, out))
				_, lost := d.Lost()
				require.NoError(t, lost)
				require.False(t, m.Lost())

				before := time.Now()
				loseNext(d, tc.call)
				err = tc.do(d, x)
				require.ErrorIs(t, err, vk.ErrDeviceLost)
				require.Equal(t, nn.StatusDeviceUnavailable, nn.StatusOf(err), err)
				since, lost := d.Lost()
				require.ErrorIs(t, lost, vk.ErrDeviceLost)
				require.WithinRange(t, since, before, time.Now())
				require.True(t, m.Lost())

				for _, do := range []func() error{
					func() error { return runOnce(ctx, x, in, out) },
					func() error { return m.Write(ctx, make([]byte, 1<<10)) },
					func() error { return m.Read(ctx, make([]byte, 1<<10)) },
					func() error { _, err := d.Allocate(form, 0); return err },
					func() error { _, err := d.Import(in, false); return err },
					func() error {
						_, err := vulkan.NewExecutable(ctx, d, absPlan(64, 1), nil, vulkan.ExecutableOptions{})
						return err
					},
				} {
					require.Equal(t, nn.StatusDeviceUnavailable, nn.StatusOf(do()))
				}
				require.NoError(t, x.Close())
				require.NoError(t, m.Close())
				used, _, _ := d.Memory()
				require.Zero(t, used)
			})
		})
	}
}

// TestWaitWithoutMemory: a wait that fails for another reason is no loss, and nothing is freed under the device.
func TestWaitWithoutMemory(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		x := newExecutable(t, d, absPlan(1<<18, 4), vulkan.ExecutableOptions{})
		in, out := floats(1<<18, 1), make([]byte, 4<<18)
		d.Inject(&vk.Faults{Calls: map[vk.Call]vk.Fault{vk.CallWait: {Result: vk.ResultOutOfHostMemory}}})
		err := runOnce(context.Background(), x, in, out)
		require.Equal(t, nn.StatusResourceExhaustedTransient, nn.StatusOf(err), err)
		_, lost := d.Lost()
		require.NoError(t, lost)
		d.Inject(nil)
		require.NoError(t, runOnce(context.Background(), x, in, out))
		require.NoError(t, wantAbs(in, out))
	})
}

// TestLossInFlight loses the device under many executions; what they use is freed at once.
func TestLossInFlight(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		ctx := context.Background()
		x, err := vulkan.NewExecutable(ctx, d, absPlan(1<<18, 4), nil, vulkan.ExecutableOptions{MaxSlots: 4})
		require.NoError(t, err)
		in := floats(1<<18, 1)
		var begun, done sync.WaitGroup
		lose := make(chan struct{})
		errs := make([]error, 4)
		for i := range errs {
			begun.Add(1)
			done.Go(func() {
				e, err := x.BeginRun(ctx, [][]byte{in}, [][]byte{nil})
				var f backend.Fence
				if err == nil {
					f, err = e.Submit(0, 4)
				}
				begun.Done()
				<-lose
				if err == nil {
					err = f.Wait(ctx)
				}
				if errs[i] = err; e != nil {
					e.Release()
				}
			})
		}
		begun.Wait()
		d.Inject(&vk.Faults{Calls: map[vk.Call]vk.Fault{vk.CallWait: {Result: vk.ResultDeviceLost}}})
		close(lose)
		require.NoError(t, x.Close())
		done.Wait()
		for _, err := range errs {
			require.Equal(t, nn.StatusDeviceUnavailable, nn.StatusOf(err), err)
		}
		used, _, _ := d.Memory()
		require.Zero(t, used)
	})
}

// TestHang: the timeline does not move any more, and everybody who waits is told within the watchdog's time.
func TestHang(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			t.Setenv("NNGPU_VALIDATION", "0") // what is left behind would be reported
			d := vktest.Open(t, selector, vulkan.Options{Watchdog: time.Second})
			ctx := context.Background()
			x, err := vulkan.NewExecutable(ctx, d, absPlan(1<<10, 2), nil, vulkan.ExecutableOptions{})
			require.NoError(t, err)
			in, out := floats(1<<10, 1), make([]byte, 4<<10)
			require.NoError(t, runOnce(ctx, x, in, out))
			d.Inject(&vk.Faults{Stuck: 1})
			var wg sync.WaitGroup
			errs := make([]error, 4)
			for i := range errs {
				wg.Go(func() { errs[i] = runOnce(ctx, x, in, make([]byte, 4<<10)) })
			}
			wg.Wait()
			for _, err := range errs {
				require.ErrorIs(t, err, vulkan.ErrAbandoned)
				require.Equal(t, nn.StatusDeviceUnavailable, nn.StatusOf(err))
			}
			require.NoError(t, x.Close())
			used, _, _ := d.Memory()
			require.Zero(t, used)
		})
	}
}

// TestHangKeepsImports: memory of the host stays with a device that was given up, as long as it may still use it.
func TestHangKeepsImports(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			t.Setenv("NNGPU_VALIDATION", "0") // what is left behind would be reported
			d := vktest.Open(t, selector, vulkan.Options{})
			ctx := context.Background()
			page, err := unix.Mmap(-1, 0, 1<<22, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
			require.NoError(t, err)
			m, err := d.Import(page, false)
			require.NoError(t, err)
			x, err := vulkan.NewExecutable(ctx, d, absPlan(1<<20, 40), nil, vulkan.ExecutableOptions{})
			require.NoError(t, err)
			e, err := x.Begin(ctx, make([]backend.Binding, 1), []backend.Binding{{Memory: m, Length: 1 << 22}})
			require.NoError(t, err)
			f, err := e.Submit(0, 40)
			require.NoError(t, err)
			d.Abandon()
			e.Release() // does not wait
			require.NoError(t, m.Close())
			none, cancel := context.WithCancel(ctx)
			cancel()
			require.NoError(t, f.Wait(none), "the work goes on")
			require.NoError(t, unix.Munmap(page)) // would be the end of a device that still works
			require.NoError(t, x.Close())
		})
	}
}

// TestPatience: with the watchdog off, or work that may take long, only the waiter's context ends a wait.
func TestPatience(t *testing.T) {
	vktest.Each(t, func(t *testing.T, _ *vulkan.Device) {
		d, err := vulkan.Open(selectorOf(t), vulkan.Options{Watchdog: -1})
		require.NoError(t, err)
		x, err := vulkan.NewExecutable(context.Background(), d, absPlan(1<<10, 1), nil, vulkan.ExecutableOptions{})
		require.NoError(t, err)
		e, err := x.BeginRun(context.Background(), [][]byte{nil}, [][]byte{nil})
		require.NoError(t, err)
		d.Inject(&vk.Faults{Stuck: 1})
		f, err := e.Submit(0, 1)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, f.Wait(ctx), context.DeadlineExceeded)
		d.Inject(nil)
		require.NoError(t, f.Wait(context.Background()))
		e.Release()
		require.NoError(t, x.Close())
		require.NoError(t, d.Close())
	})
}

// selectorOf is the device of a subtest of vktest.Each.
func selectorOf(t *testing.T) string {
	for _, s := range vktest.Selectors() {
		if len(t.Name()) > len(s) && t.Name()[len(t.Name())-len(s):] == s {
			return s
		}
	}
	t.Fatal("no device in the name of the test")
	return ""
}

// TestRetireAndReopen: the device comes back beside the lost one, which is closed when its last user has gone.
func TestRetireAndReopen(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			_ = vktest.Open(t, selector, vulkan.Options{}) // or skip
			d, err := vulkan.Open(selector, vulkan.Options{MemoryBudget: 1 << 28})
			require.NoError(t, err)
			d.SetRates(plan.Rates{FLOPS: 1, Depthwise: 2, Bandwidth: 3, Dispatch: 4})
			ctx := context.Background()
			x, err := vulkan.NewExecutable(ctx, d, absPlan(1021, 2), nil, vulkan.ExecutableOptions{})
			require.NoError(t, err)
			m, err := d.Allocate(vulkan.Form{DenseBytes: 1 << 12, DeviceBytes: 1 << 12}, 0)
			require.NoError(t, err)
			in, out := floats(1021, 1), make([]byte, 4*1021)
			loseNext(d, vk.CallWait)
			require.Error(t, runOnce(ctx, x, in, out))

			closed := false
			d.Retire(func(messages []string, err error) {
				closed = true
				require.Empty(t, messages)
				require.NoError(t, err)
			})
			again, err := d.Reopen()
			require.NoError(t, err)
			require.Equal(t, d.Facts(), again.Facts())
			require.Equal(t, d.Info(), again.Info())
			_, _, limit := again.Memory()
			require.Equal(t, int64(1<<28), limit)
			y := newExecutable(t, again, absPlan(1021, 2), vulkan.ExecutableOptions{})
			_, err = y.Begin(ctx, []backend.Binding{{Memory: m, Length: 4 * 1021}}, backend.Hosts([][]byte{out}))
			require.Equal(t, nn.StatusDeviceUnavailable, nn.StatusOf(err), err)
			require.NoError(t, runOnce(ctx, y, in, out))
			require.NoError(t, wantAbs(in, out))
			require.False(t, closed)
			require.NoError(t, x.Close())
			require.True(t, closed)
			used, _, _ := d.Memory()
			require.Zero(t, used)
			require.Equal(t, nn.StatusDeviceUnavailable, nn.StatusOf(m.Read(ctx, make([]byte, 1<<12))))
			require.True(t, m.Lost())
			require.Positive(t, m.Bytes())
			require.NoError(t, m.Close())
			require.NoError(t, y.Close())
			require.Empty(t, again.ValidationMessages())
			require.NoError(t, again.Close())
		})
	}
	_, err := vulkan.Open("no such device", vulkan.Options{})
	require.True(t, errors.Is(err, vulkan.ErrUnknownDevice) || errors.Is(err, vk.ErrNoLoader), err)
}
