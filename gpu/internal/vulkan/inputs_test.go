package vulkan

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

func TestInputMemory(t *testing.T) {
	const L, H, C, K = vk.DeviceLocal, vk.HostVisible, vk.HostCoherent, vk.HostCached
	const host, device, window = 0, 1, 2 // heaps
	heaps := []int64{512 << 30, 140 << 30, 256 << 20}
	type types []struct {
		flags vk.MemoryFlags
		heap  int
	}
	for _, tc := range []struct {
		name    string
		types   types
		unified bool
		allowed uint32
		want    int
	}{
		{"H200", types{{0, host}, {L, device}, {H | C, host}, {H | C | K, host}, {L | H | C, device}}, false, ^uint32(0), 4},
		{"not for buffers", types{{0, host}, {L, device}, {H | C, host}, {L | H | C, device}}, false, 7, -1},
		{"a small window", types{{L, device}, {H | C, host}, {H | C | K, host}, {L | H | C, window}}, false, ^uint32(0), -1},
		{"a small window first", types{{L, device}, {L | H | C, window}, {H | C, host}, {L | H | C, device}}, false, ^uint32(0), 3},
		{"none", types{{L, device}, {H | C, host}}, false, ^uint32(0), -1},
		{"not coherent", types{{L, device}, {L | H, device}, {H | C, host}}, false, ^uint32(0), -1},
		{"unified", types{{L | H | C | K, device}}, true, ^uint32(0), -1},
		{"one type, treated as a GPU", types{{L | H | C | K, device}}, false, ^uint32(0), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &vk.Properties{Heaps: heaps}
			for _, x := range tc.types {
				p.MemoryTypes = append(p.MemoryTypes, vk.MemoryType{Flags: x.flags, Heap: x.heap})
			}
			require.Equal(t, tc.want, inputMemory(p, tc.unified, tc.allowed))
		})
	}
}

func TestInputsEnd(t *testing.T) {
	io := func(offset, size int64) plan.IO { return plan.IO{Offset: offset, Size: size, DeviceBytes: size} }
	type ios = []plan.IO
	for _, tc := range []struct {
		name            string
		inputs, outputs ios
		host            int64
		offset, size    int64 // of a binding
		want            int64
	}{
		{"inputs before outputs", ios{io(0, 300), io(512, 4)}, ios{io(768, 8)}, 1280, 512, 256, 768},
		{"an omitted input", ios{io(0, 0), io(0, 4)}, ios{io(256, 8)}, 512, 0, 256, 256},
		{"no input has bytes", ios{io(0, 0)}, ios{io(0, 8)}, 256, 0, 256, 0},
		{"no inputs", nil, ios{io(0, 8)}, 256, 0, 256, 0},
		{"no outputs", ios{io(0, 4)}, nil, 4, 0, 256, 256},
		{"an output before", ios{io(256, 4)}, ios{io(0, 8)}, 512, 0, 256, 0},
		{"an output between", ios{io(0, 4), io(512, 4)}, ios{io(256, 8)}, 768, 0, 256, 0},
		{"an output without bytes", ios{io(0, 4)}, ios{io(0, 0)}, 256, 0, 256, 256},
		{"a longer view of the last input", ios{io(0, 4)}, ios{io(256, 600)}, 1280, 0, 512, 256},
		{"a view of both", ios{io(0, 4)}, ios{io(256, 600)}, 1280, 0, 768, 0},
		{"a view of outputs", ios{io(0, 4)}, ios{io(256, 600)}, 1280, 256, 1024, 256},
		{"an input that leaves the memory", ios{{Size: 4, DeviceBytes: 1 << 62}}, nil, 256, 0, 256, 0},
		{"and wraps around", ios{{Offset: 1 << 62, DeviceBytes: math.MaxInt64}}, nil, 1 << 62, 0, 256, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &plan.Plan{
				HostBytes: tc.host, Inputs: tc.inputs, Outputs: tc.outputs,
				Steps: []plan.Step{{Bindings: []plan.Binding{{Buffer: plan.Host, Offset: tc.offset, Size: tc.size}}}},
			}
			require.Equal(t, tc.want, inputsEnd(p))
		})
	}
}

// TestInputsHaveTheirBlock runs a plan on software devices as on a GPU with memory of its own, and as they are.
func TestInputsHaveTheirBlock(t *testing.T) {
	for _, class := range []plan.Class{plan.ClassGPU, plan.ClassCPU} {
		t.Run(string(class), func(t *testing.T) {
			t.Setenv("NNGPU_CLASS", string(class))
			t.Setenv("NNGPU_POISON", "1")
			eachDevice(t, testInputs)
		})
	}
}

func testInputs(t *testing.T, d *Device) {
	const n = 64
	p := twoInputs(n)
	x, err := NewExecutable(t.Context(), d, p, nil, ExecutableOptions{MaxSlots: 1})
	require.NoError(t, err)
	s, err := x.slots[0].Take(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.cleared())
	if d.Facts().Unified {
		require.Nil(t, s.inputs)
		require.EqualValues(t, p.HostBytes, s.host.bytes)
	} else {
		require.EqualValues(t, 512+plan.Align, s.inputs.bytes)
		require.EqualValues(t, p.HostBytes-512, s.host.bytes)
	}
	x.slots[0].Give(s)

	a, b := make([]byte, 4*n), make([]byte, 4*n)
	outs := [2][]byte{make([]byte, 4*n), make([]byte, 4*n)}
	for i := range n {
		a[4*i], b[4*i] = byte(i), byte(3*i)
	}
	run := func(a, b []byte) {
		e, err := x.BeginRun(t.Context(), [][]byte{a, b}, [][]byte{outs[0], outs[1]})
		require.NoError(t, err)
		defer e.Release()
		f, err := e.Submit(0, 1)
		require.NoError(t, err)
		require.NoError(t, f.Wait(t.Context()))
		require.NoError(t, e.Finish())
	}
	run(a, b)
	require.Equal(t, [2][]byte{a, b}, outs)
	run(b, a)
	require.Equal(t, [2][]byte{b, a}, outs)
	run(nil, a)
	require.Equal(t, [2][]byte{make([]byte, 4*n), a}, outs, "nothing of the last execution")
	require.NoError(t, x.Close())
	used, _, _ := d.Memory()
	require.Zero(t, used)

	_, err = NewExecutable(t.Context(), d, p, nil, ExecutableOptions{MemoryBudget: p.HostBytes - 1})
	require.Error(t, err)
	used, _, _ = d.Memory()
	require.Zero(t, used)
}

// twoInputs copies n numbers of each input to an output.
func twoInputs(n int64) *plan.Plan {
	p := &plan.Plan{HostBytes: 1024 + plan.Align, Segments: []int{2}}
	for i := range int64(2) {
		in := plan.IO{Offset: 256 * i, Size: 4 * n, DeviceBytes: 4 * n}
		out := in
		out.Offset += 512
		p.Inputs, p.Outputs = append(p.Inputs, in), append(p.Outputs, out)
		p.Steps = append(p.Steps, plan.Step{
			Kernel: shaders.Copy, Transfers: plan.OutputRef(int(i)),
			Bindings: []plan.Binding{
				{Buffer: plan.Host, Offset: in.Offset, Size: 4 * n, Of: plan.InputRef(int(i))},
				{Buffer: plan.Host, Offset: out.Offset, Size: 4 * n, Of: plan.OutputRef(int(i)), Write: true},
			},
		})
	}
	return p
}
