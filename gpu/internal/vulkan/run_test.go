package vulkan_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
	"github.com/nngpu/nngpu/shaders"
)

func align(n int64) int64 { return (n + plan.Align - 1) / plan.Align * plan.Align }

// absPlan computes y = abs(x) of n floats, over the arena and back, in `segments`
// segments of one step each, and with a copy to the host at the end.
func absPlan(n int64, segments int) *plan.Plan {
	bytes := (n + 3) / 4 * 16
	room := align(bytes)
	quads := uint32(bytes / 16)
	groups := (quads + 63) / 64
	grid := [3]uint32{min(groups, 32768), (groups + 32767) / 32768, 1}
	p := &plan.Plan{
		ArenaBytes: 2 * room, HostBytes: 2 * room,
		Inputs:  []plan.IO{{Name: "x", Offset: 0, Size: 4 * n, DeviceBytes: bytes}},
		Outputs: []plan.IO{{Name: "y", Offset: room, Size: 4 * n, DeviceBytes: bytes}},
	}
	push := make([]uint32, shaders.UnaryAbsF32.Info().PushWords)
	push[0] = quads // the kernel ignores the rest
	from := plan.Binding{Buffer: plan.Host, Offset: 0, Size: bytes, Of: plan.InputRef(0)}
	for i := range segments {
		to := plan.Binding{Buffer: plan.Arena, Offset: int64(i%2) * room, Size: bytes, Write: true}
		p.Steps = append(p.Steps, plan.Step{
			Kernel: shaders.UnaryAbsF32, Local: plan.Flat(64), Groups: grid, Push: push,
			Bindings: []plan.Binding{from, to}, Barrier: i > 0, Label: fmt.Sprint("abs ", i),
		})
		p.Segments = append(p.Segments, len(p.Steps))
		from = to
		from.Write = false
	}
	p.Steps = append(p.Steps, plan.Step{
		Kernel: shaders.Copy, Label: "copy", Barrier: true, Transfers: plan.OutputRef(0),
		Bindings: []plan.Binding{from, {Buffer: plan.Host, Offset: room, Size: bytes, Write: true, Of: plan.OutputRef(0)}},
	})
	p.Segments[segments-1]++
	return p
}

func floats(n int64, seed float32) []byte {
	b := make([]byte, 4*n)
	for i := range n {
		v := seed + float32(i)*0.5
		if i%3 == 0 {
			v = -v
		}
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(v))
	}
	return b
}

func at(b []byte, i int64) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])) }

// wantAbs compares without a call per element.
func wantAbs(x, y []byte) error {
	for i := range int64(len(x) / 4) {
		v := float32(math.Abs(float64(at(x, i))))
		if got := at(y, i); got != v {
			return fmt.Errorf("element %d: got %v, want %v", i, got, v)
		}
	}
	return nil
}

func newExecutable(t testing.TB, d *vulkan.Device, p *plan.Plan, o vulkan.ExecutableOptions) *vulkan.Executable {
	t.Helper()
	x, err := vulkan.NewExecutable(context.Background(), d, p, nil, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Close()) })
	return x
}

// runOnce executes x segment by segment.
func runOnce(ctx context.Context, x *vulkan.Executable, in, out []byte) error {
	e, err := x.BeginRun(ctx, [][]byte{in}, [][]byte{out})
	if err != nil {
		return err
	}
	defer e.Release()
	for i := range x.Stats().Segments {
		f, err := e.Submit(i, i+1)
		if err != nil {
			return err
		}
		if err := f.Wait(ctx); err != nil {
			return err
		}
	}
	return e.Finish()
}

func TestAbs(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		for _, n := range []int64{1, 2, 3, 4, 5, 63, 64, 65, 255, 257, 1021, 4099, 113 * 89 * 41} {
			for _, segments := range []int{1, 2, 5} {
				t.Run(fmt.Sprintf("%d floats, %d segments", n, segments), func(t *testing.T) {
					x := newExecutable(t, d, absPlan(n, segments), vulkan.ExecutableOptions{})
					for range 3 {
						in, out := floats(n, 0.25), make([]byte, 4*n)
						require.NoError(t, runOnce(context.Background(), x, in, out))
						require.NoError(t, wantAbs(in, out))
					}
				})
			}
		}
	})
}

func TestConcurrentRuns(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		const n = 1021
		x := newExecutable(t, d, absPlan(n, 3), vulkan.ExecutableOptions{MaxSlots: 3})
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for g := range errs {
			wg.Go(func() {
				for k := range 25 {
					in, out := floats(n, float32(g*1000+k)), make([]byte, 4*n)
					if err := runOnce(context.Background(), x, in, out); err != nil {
						errs[g] = err
						return
					}
					if err := wantAbs(in, out); err != nil {
						errs[g] = err
						return
					}
				}
			})
		}
		wg.Wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
	})
}

// TestConcurrentBuilds makes, runs and closes executables from several goroutines, on one device and on
// devices of their own.
func TestConcurrentBuilds(t *testing.T) {
	vktest.Each(t, func(t *testing.T, shared *vulkan.Device) {
		var wg sync.WaitGroup
		errs := make([]error, 6)
		for g := range errs {
			wg.Go(func() { errs[g] = buildAndRun(shared, g) })
		}
		wg.Wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
	})
}

func buildAndRun(d *vulkan.Device, g int) error {
	if g%3 == 2 {
		var err error
		if d, err = vulkan.Open(d.Info().Name, vulkan.Options{}); err != nil {
			return err
		}
		defer d.Close()
	}
	for k := range 8 {
		n := int64(100 + 37*g + k)
		x, err := vulkan.NewExecutable(context.Background(), d, absPlan(n, 1+k%3), nil, vulkan.ExecutableOptions{})
		if err != nil {
			return err
		}
		in, out := floats(n, float32(g)), make([]byte, 4*n)
		if err := runOnce(context.Background(), x, in, out); err != nil {
			return err
		}
		if err := wantAbs(in, out); err != nil {
			return err
		}
		if err := x.Close(); err != nil {
			return err
		}
	}
	return nil
}
