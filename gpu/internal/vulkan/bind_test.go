package vulkan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

// TestImportable: imported memory takes the place of host memory only where no step sees more than it has, or
// writes behind the tensor, whatever a plan says.
func TestImportable(t *testing.T) {
	const kernel = shaders.UnaryClampF32
	in, out := plan.InputRef(0), plan.OutputRef(0)
	read := func(of plan.IORef, at, size int64) plan.Binding {
		return plan.Binding{Buffer: plan.Host, Of: of, At: at, Size: size}
	}
	write := func(of plan.IORef, at, size int64) plan.Binding {
		return plan.Binding{Buffer: plan.Host, Of: of, At: at, Size: size, Write: true}
	}
	step := func(k shaders.Kernel, serves plan.IORef, when plan.When, b ...plan.Binding) plan.Step {
		return plan.Step{Kernel: k, Transfers: serves, When: when, Bindings: b}
	}
	for _, tc := range []struct {
		name         string
		size, device int64
		step         plan.Step
		of           plan.IORef
		importable   bool
		reach        int64
	}{
		{"nobody reads it", 20, 32, step(kernel, 0, plan.Always), in, true, 20},
		{"the same form", 32, 32, step(kernel, 0, plan.Always, read(in, 0, 32)), in, true, 32},
		{"a longer view", 512, 512, step(kernel, 0, plan.Always, read(in, 256, 512)), in, true, 512},
		{"padding is read", 20, 32, step(kernel, 0, plan.Always, read(in, 0, 32)), in, false, 32},
		{"padding is copied", 20, 32, step(shaders.Copy, in, plan.WhenDense, read(in, 0, 32)), in, false, 32},
		{"converted", 20, 48, step(kernel, in, plan.WhenDense, read(in, 0, 32)), in, true, 32},
		{"another's conversion", 20, 48, step(kernel, out, plan.WhenDense, read(in, 0, 32)), in, false, 32},
		{"behind the tensor", 32, 32, step(kernel, 0, plan.Always, read(in, 256, 32)), in, false, 32},
		{"written in the same form", 32, 32, step(kernel, 0, plan.Always, write(out, 0, 32)), out, true, 32},
		{"padding is written", 20, 32, step(kernel, 0, plan.Always, write(out, 0, 32)), out, false, 32},
		{"converted to whole quads", 24, 32, step(kernel, out, plan.WhenDense, write(out, 0, 24)), out, true, 24},
		{"copied without its padding", 20, 32, step(shaders.Copy, out, plan.WhenDense, write(out, 0, 20)), out, true, 20},
		{"converted to more", 20, 32, step(kernel, out, plan.WhenDense, write(out, 0, 24)), out, false, 24},
		{"only when on the device", 24, 32, step(shaders.Copy, out, plan.WhenDevice, write(out, 0, 32)), out, true, 24},
		{"omitted", 0, 0, step(kernel, 0, plan.Always), in, false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			io := []plan.IO{{Size: tc.size, DeviceBytes: tc.device}}
			list := ioFactsOf(&plan.Plan{Inputs: io, Outputs: io, Steps: []plan.Step{tc.step}})
			f := list[0]
			if tc.of == out {
				f = list[1]
			}
			require.Equal(t, ioFacts{of: tc.of, bytes: tc.size, importable: tc.importable, reach: tc.reach}, f)
		})
	}
}

// TestASlotRemembersItsLastRecordings: maxRecordings of them, least recently used first to go, and none of
// memory that is closed.
func TestASlotRemembersItsLastRecordings(t *testing.T) {
	eachDevice(t, func(t *testing.T, d *Device) {
		const n = 64
		push := make([]uint32, shaders.UnaryAbsF32.Info().PushWords)
		push[0] = n / 4
		p := &plan.Plan{
			HostBytes: 512, Segments: []int{1},
			Inputs:  []plan.IO{{Size: 4 * n, DeviceBytes: 4 * n}},
			Outputs: []plan.IO{{Offset: 256, Size: 4 * n, DeviceBytes: 4 * n}},
			Steps: []plan.Step{{
				Kernel: shaders.UnaryAbsF32, Local: plan.Flat(64), Groups: [3]uint32{1, 1, 1}, Push: push,
				Bindings: []plan.Binding{
					{Buffer: plan.Host, Size: 4 * n, Of: plan.InputRef(0)},
					{Buffer: plan.Host, Offset: 256, Size: 4 * n, Of: plan.OutputRef(0), Write: true},
				},
			}},
		}
		x, err := NewExecutable(t.Context(), d, p, nil, ExecutableOptions{MaxSlots: 1})
		require.NoError(t, err)
		var list []*Memory
		for range maxRecordings + 1 {
			m, err := d.Allocate(Form{DenseBytes: 4 * n, DeviceBytes: 4 * n}, 0)
			require.NoError(t, err)
			list = append(list, m)
		}
		s, err := x.slots[0].Take(t.Context())
		require.NoError(t, err)
		ask := func(m *Memory) int64 {
			before := d.Counters().Recordings
			s.at[0] = place{memory: m}
			_, err := s.recording()
			require.NoError(t, err)
			return d.Counters().Recordings - before
		}
		require.Zero(t, ask(nil))
		for _, m := range list[:maxRecordings] {
			require.EqualValues(t, 1, ask(m))
		}
		require.Zero(t, ask(list[0]))
		require.EqualValues(t, 1, ask(list[maxRecordings]), "takes the place of the second")
		require.Zero(t, ask(list[0]))
		require.EqualValues(t, 1, ask(list[1]))
		require.Len(t, s.others, maxRecordings)
		require.Zero(t, ask(nil))
		for _, m := range list[:4] {
			require.NoError(t, m.Close())
		}
		x.slots[0].Give(s)
		require.NoError(t, x.Close())
		for _, m := range list {
			require.NoError(t, m.Close())
		}
	})
}
