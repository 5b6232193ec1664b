package emit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/memory/planner"
	"github.com/nngpu/nngpu/shaders"
)

var softwareFacts = plan.Facts{
	Class: plan.ClassCPU, MaxStorageRange: 128 << 20, MaxTexelElements: 128 << 20, StorageAlign: 16, TexelAlign: 16,
	MaxInvocations: 1024, SubgroupSize: 8, Unified: true,
}

// emptyBuilder returns a builder whose graph is g, for steps made by hand.
func emptyBuilder(g *ir.Graph) *Builder {
	f := softwareFacts
	return NewBuilder(&f, g)
}

func TestLifetimesSpanFirstToLastUse(t *testing.T) {
	b := emptyBuilder(&ir.Graph{})
	v, u, dead := b.Temp(100), b.Temp(300), b.Temp(50)
	w := b.Weights(make([]byte, 16))
	b.Copy(v, w, 16) // 0
	b.Copy(u, v, 64) // 1
	b.Copy(v, u, 64) // 2
	b.Copy(u, w, 16) // 3
	items, index := b.lifetimes()
	require.Equal(t, []planner.Item{{Size: 100, First: 0, Last: 2}, {Size: 300, First: 1, Last: 3}}, items)
	require.Equal(t, map[int]int{v.id: 0, u.id: 1}, index)
	require.NotContains(t, index, dead.id, "a value that nobody binds takes no memory")
}

func TestAnAliasLivesAsLongAsBothNames(t *testing.T) {
	g := &ir.Graph{}
	for range 3 {
		g.Add(ir.Tensor{Type: nn.TensorFloat32, Shape: []int{1, 8}})
	}
	b := emptyBuilder(g)
	w := b.Weights(make([]byte, 32))
	b.Copy(b.Tensor(0), w, 32)
	require.False(t, b.Placed(1))
	b.Forward(1, 0)
	require.True(t, b.Placed(1))
	require.Equal(t, b.Tensor(0), b.Tensor(1))
	b.Copy(b.Tensor(2), w, 32)
	b.Copy(b.Tensor(2), b.Tensor(1), 32)
	items, _ := b.lifetimes()
	require.Equal(t, planner.Item{Size: 32, First: 0, Last: 2}, items[0])
	copies := len(b.steps)
	b.Forward(1, 2)
	require.Len(t, b.steps, copies+1, "what has a place is copied")
}

func TestWeightsAreAligned(t *testing.T) {
	b := emptyBuilder(&ir.Graph{})
	first, second := b.Weights([]byte{1, 2, 3}), b.WeightsU32([]uint32{0x04030201, 5})
	third := b.WeightsF32([]float32{1})
	require.EqualValues(t, 3, b.values[first.id].size)
	require.EqualValues(t, 8, b.values[second.id].size)
	require.EqualValues(t, 4, b.values[third.id].size)
	for i, v := range []Value{first, second, third} {
		require.Equal(t, int64(i*plan.Align), b.values[v.id].offset)
	}
	all, err := b.weights.Bytes()
	require.NoError(t, err)
	require.Equal(t, []byte{1, 2, 3, 4, 5, 0, 0, 0}, all[plan.Align:plan.Align+8])
	require.Equal(t, []byte{0, 0, 0x80, 0x3f}, all[2*plan.Align:2*plan.Align+4])
	require.Len(t, all, 4*plan.Align)
}

func TestDispatchCountsEveryInvocation(t *testing.T) {
	for _, tc := range []struct {
		count int
		want  [3]uint32
	}{
		{1, [3]uint32{1, 1, 1}},
		{64, [3]uint32{1, 1, 1}},
		{65, [3]uint32{2, 1, 1}},
		{64 * rowGroups, [3]uint32{rowGroups, 1, 1}},
		{64*rowGroups + 1, [3]uint32{rowGroups, 2, 1}},
		{MaxInvocations, [3]uint32{rowGroups, 512, 1}},
	} {
		b := emptyBuilder(&ir.Graph{})
		v := b.Temp(64)
		b.Dispatch(shaders.UnaryClampF32, 64, tc.count, make([]uint32, shaders.UnaryClampF32.Info().PushWords), Cost{},
			b.Read(v, plan.FormatNone), b.Write(v, plan.FormatNone))
		require.Equal(t, tc.want, b.steps[0].Groups, tc.count)
		require.Equal(t, 128.0, b.steps[0].Bytes)
	}
}

func TestDispatchPanicsOnAnotherInterface(t *testing.T) {
	b := emptyBuilder(&ir.Graph{})
	v := b.Temp(64)
	push := make([]uint32, shaders.UnaryClampF32.Info().PushWords)
	buf := b.Read(v, plan.FormatNone)
	require.Panics(t, func() { b.Dispatch(shaders.UnaryClampF32, 64, 1, push[1:], Cost{}, buf, buf) })
	require.Panics(t, func() { b.Dispatch(shaders.UnaryClampF32, 64, 1, push, Cost{}, buf) })
	require.Panics(t, func() {
		b.Dispatch(shaders.UnaryClampF32, 64, 1, push, Cost{}, b.Read(v, plan.FormatRGBA32F), buf)
	})
}

func TestFinishRefusesWhatTheDeviceCannotBind(t *testing.T) {
	f := softwareFacts
	f.MaxStorageRange, f.MaxTexelElements = 1024, 16
	b := NewBuilder(&f, &ir.Graph{})
	b.Copy(b.Temp(2048), b.Temp(2048), 2048) // binds nothing
	dispatch := func(size int64) {
		b.Dispatch(shaders.UnaryClampF32, 64, 1, make([]uint32, 5), Cost{}, Binding{Value: b.Temp(2048), Size: size}, b.Out(b.Graph.Add(ir.Tensor{Type: nn.TensorFloat32, Shape: []int{4}})))
	}
	b = NewBuilder(&f, &ir.Graph{})
	b.tensors = make([]Value, 1)
	dispatch(1024)
	_, _, err := b.Finish()
	require.NoError(t, err)
	b = NewBuilder(&f, &ir.Graph{})
	b.tensors = make([]Value, 1)
	dispatch(1028)
	_, _, err = b.Finish()
	require.ErrorContains(t, err, "1028 bytes")
}

// TestBarriersSeeLongerViews: a texel view that steadyViews makes longer reaches into the next tensor of the
// arena, which an earlier step wrote; validation layers count that as a read.
func TestBarriersSeeLongerViews(t *testing.T) {
	facts := &plan.Facts{Class: plan.ClassCPU, MaxStorageRange: 1 << 27, MaxTexelElements: 1 << 16}
	b := NewBuilder(facts, &ir.Graph{})
	const size = 64
	weights := b.Weights(make([]byte, size))
	table, in, out := b.Temp(size), b.Temp(size), b.Temp(size)
	lut := func(dst, src Value) {
		b.Dispatch(shaders.Lut8, 64, 1, []uint32{1}, Cost{}, b.Read(src, plan.FormatNone), b.Read(table, plan.FormatR32U), b.Write(dst, plan.FormatNone))
	}
	b.Copy(table, weights, size)
	b.Copy(in, weights, size)
	lut(out, in)
	var others []Value // one of them lies behind the table
	for range 4 {
		v := b.Temp(size)
		b.Copy(v, weights, size)
		others = append(others, v)
	}
	lut(b.Temp(size), weights)
	for _, v := range others {
		lut(out, v)
	}
	p, _, err := b.Finish()
	require.NoError(t, err)
	var open []access
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Barrier {
			open = open[:0]
		}
		for _, bd := range s.Bindings {
			require.False(t, conflicts(open, access{bd, s, 0}), "step %d, %v", i, bd)
		}
		for _, bd := range s.Bindings {
			open = append(open, access{bd, s, 0})
		}
	}
}
