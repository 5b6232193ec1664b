package vulkan_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
	"github.com/nngpu/nngpu/shaders"
)

func TestBudget(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			d := vktest.Open(t, selector, vulkan.Options{MemoryBudget: 1 << 20})
			_, _, limit := d.Memory()
			require.Equal(t, int64(1<<20), limit)
			ctx := context.Background()
			quarter := absPlan(1<<14-64, 1) // 4 x 64 KiB for a slot
			_, err := vulkan.NewExecutable(ctx, d, absPlan(1<<17, 1), nil, vulkan.ExecutableOptions{})
			require.Equal(t, nn.StatusResourceExhaustedPersistent, nn.StatusOf(err), err)
			// Each memory fits, all together do not.
			_, err = vulkan.NewExecutable(ctx, d, absPlan(80000, 1), nil, vulkan.ExecutableOptions{})
			require.Equal(t, nn.StatusResourceExhaustedPersistent, nn.StatusOf(err), err)
			// The caller's budget is tighter.
			_, err = vulkan.NewExecutable(ctx, d, quarter, nil, vulkan.ExecutableOptions{MemoryBudget: 1 << 17})
			require.Equal(t, nn.StatusResourceExhaustedPersistent, nn.StatusOf(err), err)

			var list []*vulkan.Executable
			for {
				x, err := vulkan.NewExecutable(ctx, d, quarter, nil, vulkan.ExecutableOptions{})
				if err != nil {
					require.Equal(t, nn.StatusResourceExhaustedTransient, nn.StatusOf(err), err)
					break
				}
				list = append(list, x)
			}
			require.Len(t, list, 4)
			// No memory for a second slot: the second execution waits for the first.
			in, out := [][]byte{floats(1<<14-64, 1)}, [][]byte{make([]byte, 4<<14-256)}
			e, err := list[0].BeginRun(ctx, in, out)
			require.NoError(t, err)
			short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			defer cancel()
			_, err = list[0].BeginRun(short, in, out)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			e.Release()
			require.NoError(t, runOnce(ctx, list[0], in[0], out[0]))
			for _, x := range list {
				require.NoError(t, x.Close())
			}
			used, peak, _ := d.Memory()
			require.Zero(t, used)
			require.LessOrEqual(t, peak, int64(1<<20))
		})
	}
}

func TestCancellation(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		x := newExecutable(t, d, absPlan(1<<20, 40), vulkan.ExecutableOptions{MaxSlots: 1})
		in, out := [][]byte{floats(1<<20, 1)}, [][]byte{make([]byte, 4<<20)}
		canceled, cancel := context.WithCancel(context.Background())
		cancel()
		e, err := x.BeginRun(context.Background(), in, out)
		require.NoError(t, err)
		_, err = x.BeginRun(canceled, in, out)
		require.ErrorIs(t, err, context.Canceled)
		f, err := e.Submit(0, 40)
		require.NoError(t, err)
		if err := f.Wait(canceled); err != nil { // the work may be done already
			require.ErrorIs(t, err, context.Canceled)
		}
		e.Release() // waits
		e.Release()
		_, err = e.Submit(0, 1)
		require.Error(t, err)
		require.Error(t, e.Finish())
		require.NoError(t, f.Wait(context.Background()))
		require.NoError(t, runOnce(context.Background(), x, in[0], out[0]))
		require.NoError(t, wantAbs(in[0], out[0]))

		late, err := vulkan.NewExecutable(canceled, d, absPlan(4, 1), nil, vulkan.ExecutableOptions{})
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			return
		}
		require.NoError(t, late.Close()) // the pipeline existed already
	})
}

func TestCloseWaits(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		x, err := vulkan.NewExecutable(context.Background(), d, absPlan(1<<16, 4), nil, vulkan.ExecutableOptions{MaxSlots: 2})
		require.NoError(t, err)
		in, out := [][]byte{floats(1<<16, 1)}, [][]byte{make([]byte, 4<<16)}
		a, err := x.BeginRun(context.Background(), in, out)
		require.NoError(t, err)
		b, err := x.BeginRun(context.Background(), in, out)
		require.NoError(t, err)
		waiting := make(chan error)
		go func() {
			_, err := x.BeginRun(context.Background(), in, out)
			waiting <- err
		}()
		_, err = b.Submit(0, 4)
		require.NoError(t, err)
		var closed atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = x.Close()
			closed.Store(true)
		}()
		require.ErrorContains(t, <-waiting, "closed")
		require.False(t, closed.Load())
		a.Release()
		b.Release()
		<-done
		_, err = x.BeginRun(context.Background(), in, out)
		require.ErrorContains(t, err, "closed")
		require.NoError(t, x.Close())
		used, _, _ := d.Memory()
		require.Zero(t, used)
	})
}

// TestRejectedPlans breaks a good plan in one place at a time.
func TestRejectedPlans(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		for _, tc := range []struct {
			name string
			do   func(p *plan.Plan)
		}{
			{"unknown kernel", func(p *plan.Plan) { p.Steps[0].Kernel = 65535 }},
			{"no workgroup", func(p *plan.Plan) { p.Steps[0].Local[0] = 0 }},
			{"huge workgroup", func(p *plan.Plan) { p.Steps[0].Local[0] = 1 << 20 }},
			{"no groups", func(p *plan.Plan) { p.Steps[0].Groups[1] = 0 }},
			{"too many groups", func(p *plan.Plan) { p.Steps[0].Groups[2] = 1 << 31 }},
			{"missing push constants", func(p *plan.Plan) { p.Steps[0].Push = nil }},
			{"missing binding", func(p *plan.Plan) { p.Steps[0].Bindings = p.Steps[0].Bindings[:1] }},
			{"unknown memory", func(p *plan.Plan) { p.Steps[0].Bindings[0].Buffer = 9 }},
			{"no weights", func(p *plan.Plan) { p.Steps[0].Bindings[0].Buffer = plan.Weights }},
			{"format of a storage buffer", func(p *plan.Plan) { p.Steps[0].Bindings[0].Format = plan.FormatR32U }},
			{"unaligned", func(p *plan.Plan) { p.Steps[0].Bindings[0].Offset = 16 }},
			{"negative offset", func(p *plan.Plan) { p.Steps[0].Bindings[0].Offset = -256 }},
			{"empty", func(p *plan.Plan) { p.Steps[0].Bindings[0].Size = 0 }},
			{"out of range", func(p *plan.Plan) { p.Steps[0].Bindings[0].Size = 1 << 40 }},
			{"overflow", func(p *plan.Plan) { p.Steps[0].Bindings[0].Size = 1<<63 - 1 }},
			{"huge arena", func(p *plan.Plan) { p.ArenaBytes = 1 << 62 }},
			{"negative arena", func(p *plan.Plan) { p.ArenaBytes = -1 }},
			{"short copy", func(p *plan.Plan) { p.Steps[1].Bindings[0].Size = 4 }},
			{"overlapping copy", func(p *plan.Plan) { p.Steps[1].Bindings[0] = p.Steps[1].Bindings[1] }},
			{"output outside", func(p *plan.Plan) { p.Outputs[0].Offset = 1 << 40 }},
			{"input outside", func(p *plan.Plan) { p.Inputs[0].Size = 1<<63 - 1 }},
			{"segments end early", func(p *plan.Plan) { p.Segments[0] = 1 }},
			{"segments end late", func(p *plan.Plan) { p.Segments[0] = 3 }},
			{"no segments", func(p *plan.Plan) { p.Segments = nil }},
			{"segments go back", func(p *plan.Plan) { p.Segments = []int{2, 1, 2} }},
		} {
			t.Run(tc.name, func(t *testing.T) {
				p := absPlan(1021, 1)
				tc.do(p)
				_, err := vulkan.NewExecutable(context.Background(), d, p, nil, vulkan.ExecutableOptions{})
				require.Error(t, err)
				used, _, _ := d.Memory()
				require.Zero(t, used)
			})
		}
		_, err := vulkan.NewExecutable(context.Background(), d, absPlan(4, 1), make([]byte, 1), vulkan.ExecutableOptions{})
		require.Error(t, err)
		require.Error(t, d.Prepare(context.Background(), []plan.Pipeline{{Kernel: shaders.Copy, Local: plan.Flat(1)}}))
	})
}

func TestMisuse(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		x := newExecutable(t, d, absPlan(5, 2), vulkan.ExecutableOptions{})
		ctx := context.Background()
		in, out := make([]byte, 20), make([]byte, 20)
		for _, io := range [][2][][]byte{{{}, {out}}, {{in}, {}}, {{in[:19]}, {out}}, {{in}, {out[:4]}}} {
			_, err := x.BeginRun(ctx, io[0], io[1])
			require.Error(t, err)
		}
		e, err := x.BeginRun(ctx, [][]byte{in}, [][]byte{nil})
		require.NoError(t, err)
		defer e.Release()
		for _, s := range [][2]int{{1, 2}, {0, 0}, {0, 3}, {-1, 1}} {
			_, err := e.Submit(s[0], s[1])
			require.Error(t, err, s)
		}
		require.Error(t, e.Finish())
		f, err := e.Submit(0, 2)
		require.NoError(t, err)
		require.NoError(t, f.Wait(ctx))
		require.NoError(t, e.Finish())
	})
}

// TestAbandon gives a device up while work is queued.
func TestAbandon(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			t.Setenv("NNGPU_VALIDATION", "0") // what is left behind would be reported
			d := vktest.Open(t, selector, vulkan.Options{})
			x, err := vulkan.NewExecutable(context.Background(), d, absPlan(1<<20, 2), nil, vulkan.ExecutableOptions{})
			require.NoError(t, err)
			e, err := x.BeginRun(context.Background(), [][]byte{nil}, [][]byte{nil})
			require.NoError(t, err)
			f, err := e.Submit(0, 1)
			require.NoError(t, err)
			require.NoError(t, f.Wait(context.Background()))
			d.Abandon()
			_, err = e.Submit(1, 2)
			require.ErrorIs(t, err, vk.ErrDeviceLost)
			require.Equal(t, nn.StatusDeviceUnavailable, nn.StatusOf(err))
			e.Release()
			_, err = x.BeginRun(context.Background(), [][]byte{nil}, [][]byte{nil})
			require.ErrorIs(t, err, vulkan.ErrAbandoned)
			_, err = vulkan.NewExecutable(context.Background(), d, absPlan(4, 1), nil, vulkan.ExecutableOptions{})
			require.ErrorIs(t, err, vulkan.ErrAbandoned)
			require.NoError(t, x.Close())
		})
	}
}

// TestGarbageCollection runs and builds executables while the garbage collector runs all the time.
func TestGarbageCollection(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		var stop atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			for !stop.Load() {
				runtime.GC()
			}
		}()
		defer func() { stop.Store(true); <-done }()
		for i := range 10 {
			n := int64(1000 + 17*i)
			x, err := vulkan.NewExecutable(context.Background(), d, absPlan(n, 7), nil, vulkan.ExecutableOptions{})
			require.NoError(t, err)
			for k := range 5 {
				in, out := floats(n, float32(k)), make([]byte, 4*n)
				require.NoError(t, runOnce(context.Background(), x, in, out))
				require.NoError(t, wantAbs(in, out))
			}
			require.NoError(t, x.Close())
		}
	})
}
