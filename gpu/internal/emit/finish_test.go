package emit

import (
	"math/rand/v2"
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

func TestPlaceBarriers(t *testing.T) {
	read := func(b plan.Buffer, at, n int64) plan.Binding { return plan.Binding{Buffer: b, Offset: at, Size: n} }
	write := func(b plan.Buffer, at, n int64) plan.Binding {
		return plan.Binding{Buffer: b, Offset: at, Size: n, Write: true}
	}
	step := func(bindings ...plan.Binding) plan.Step { return plan.Step{Bindings: bindings} }
	a, w, h := plan.Arena, plan.Weights, plan.Host
	for _, tc := range []struct {
		name  string
		steps []plan.Step
		want  []bool
	}{
		{"none", nil, nil},
		{"the first never", []plan.Step{step(read(h, 0, 4), write(a, 0, 4))}, []bool{false}},
		{"read after write", []plan.Step{step(write(a, 0, 4)), step(read(a, 0, 4))}, []bool{false, true}},
		{"write after read", []plan.Step{step(read(a, 0, 4)), step(write(a, 0, 4))}, []bool{false, true}},
		{"write after write", []plan.Step{step(write(a, 0, 4)), step(write(a, 0, 4))}, []bool{false, true}},
		{"read after read", []plan.Step{step(read(a, 0, 4)), step(read(a, 0, 4))}, []bool{false, false}},
		{"in host memory", []plan.Step{step(write(h, 0, 4)), step(read(h, 0, 4))}, []bool{false, true}},
		{"same range of another memory", []plan.Step{step(write(a, 0, 4)), step(read(h, 0, 4))}, []bool{false, false}},
		{"neighbours", []plan.Step{step(write(a, 0, 4)), step(read(a, 4, 4)), step(write(a, 8, 4))}, []bool{false, false, false}},
		{"the last byte", []plan.Step{step(write(a, 0, 5)), step(read(a, 4, 4))}, []bool{false, true}},
		{"one within the other", []plan.Step{step(write(a, 0, 64)), step(read(a, 16, 4))}, []bool{false, true}},
		{"one around the other", []plan.Step{step(write(a, 16, 4)), step(read(a, 0, 64))}, []bool{false, true}},
		{"weights are never written", []plan.Step{step(read(w, 0, 4), write(a, 0, 4)), step(read(w, 0, 4), write(a, 4, 4))}, []bool{false, false}},
		{"a chain", []plan.Step{step(write(a, 0, 4)), step(read(a, 0, 4), write(a, 4, 4)), step(read(a, 4, 4), write(a, 0, 4))}, []bool{false, true, true}},
		{"a barrier covers all before it", []plan.Step{
			step(write(a, 0, 4)), step(write(a, 4, 4)), step(read(a, 0, 4), write(a, 8, 4)), step(read(a, 4, 4), write(a, 12, 4)),
		}, []bool{false, false, true, false}},
		{"what the step after a barrier writes is new", []plan.Step{
			step(write(a, 0, 4)), step(read(a, 0, 4), write(a, 4, 4)), step(read(a, 4, 4), write(a, 8, 4)),
		}, []bool{false, true, true}},
		{"what it reads is, too", []plan.Step{
			step(write(a, 0, 4)), step(read(a, 0, 4), write(a, 4, 4)), step(write(a, 0, 4)),
		}, []bool{false, true, true}},
		{"two slabs of one result", []plan.Step{
			step(read(w, 0, 4), write(a, 0, 8)), step(read(w, 4, 4), write(a, 0, 8)),
		}, []bool{false, true}},
		{"in place", []plan.Step{step(read(a, 0, 4), write(a, 0, 4)), step(read(a, 0, 4), write(a, 0, 4))}, []bool{false, true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			placeBarriers(tc.steps)
			var got []bool
			for _, s := range tc.steps {
				got = append(got, s.Barrier)
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// TestAlternativesNeedNoBarrier between them, because no execution runs both.
func TestAlternativesNeedNoBarrier(t *testing.T) {
	at := plan.Binding{Buffer: plan.Host, Size: 64, Write: true}
	for _, tc := range []struct {
		name    string
		a, b    plan.Step
		barrier bool
	}{
		{"dense or device", plan.Step{Serves: 1, When: plan.WhenDense}, plan.Step{Serves: 1, When: plan.WhenDevice}, false},
		{"of different inputs", plan.Step{Serves: 1, When: plan.WhenDense}, plan.Step{Serves: 2, When: plan.WhenDevice}, true},
		{"one always runs", plan.Step{Serves: 1, When: plan.WhenDense}, plan.Step{Serves: 1}, true},
		{"both or none", plan.Step{Serves: 1, When: plan.WhenDevice}, plan.Step{Serves: 1, When: plan.WhenDevice}, true},
	} {
		tc.a.Bindings, tc.b.Bindings = []plan.Binding{at}, []plan.Binding{at}
		steps := []plan.Step{tc.a, tc.b}
		placeBarriers(steps)
		require.Equal(t, tc.barrier, steps[1].Barrier, tc.name)
	}
}

// TestBarriersOrderEveryHazard: between any two steps that conflict there is a barrier.
func TestBarriersOrderEveryHazard(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		steps := make([]plan.Step, 30)
		for i := range steps {
			for range 1 + r.IntN(3) {
				steps[i].Bindings = append(steps[i].Bindings, plan.Binding{
					Buffer: plan.Buffer(r.IntN(3)), Offset: int64(r.IntN(40)), Size: int64(1 + r.IntN(5)),
				})
			}
			last := &steps[i].Bindings[len(steps[i].Bindings)-1]
			last.Write = last.Buffer != plan.Weights
		}
		placeBarriers(steps)
		epoch := make([]int, len(steps))
		for i := range steps {
			if i > 0 {
				epoch[i] = epoch[i-1]
			}
			if steps[i].Barrier {
				require.NotZero(t, i)
				epoch[i]++
			}
			for k := range i {
				for _, p := range steps[k].Bindings {
					for _, q := range steps[i].Bindings {
						if p.Buffer == q.Buffer && (p.Write || q.Write) && p.Offset < q.Offset+q.Size && q.Offset < p.Offset+p.Size {
							require.Less(t, epoch[k], epoch[i], "steps %d and %d", k, i)
						}
					}
				}
			}
		}
	}
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
	require.Equal(t, []byte{1, 2, 3, 4, 5, 0, 0, 0}, b.weights.Bytes()[plan.Align:plan.Align+8])
	require.Equal(t, []byte{0, 0, 0x80, 0x3f}, b.weights.Bytes()[2*plan.Align:2*plan.Align+4])
	require.Len(t, b.weights.Bytes(), 4*plan.Align)
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

// TestPlaceIO: dense tensors live in host memory where the device reads it, each output in its own place.
func TestPlaceIO(t *testing.T) {
	graph := func() *ir.Graph {
		g, err := ir.Parse(`
			input %0 TENSOR_FLOAT32 [1,3,8]
			input _
			input %1 TENSOR_FLOAT32 [2,3]
			const %2 TENSOR_FLOAT32 [4] zeroes
			%3 TENSOR_FLOAT32 [1,3,8] = RELU %0
			output %3
			output %3
			output %0
			output %1
			output %2`)
		require.NoError(t, err)
		return g
	}
	for _, tc := range []struct {
		name    string
		unified bool
		steps   int // to load and store
		inPlace []bool
	}{
		{"unified", true, 1 + 5, []bool{true, false, false, true}},
		{"staged", false, 2 + 6, []bool{false, false, false, false}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := softwareFacts
			f.Unified = tc.unified
			b := NewBuilder(&f, graph())
			inputs, outputs, size := b.PlaceIO()
			require.Equal(t, []plan.IO{{Offset: 0, Size: 96, DeviceBytes: 96}, {}, {Offset: 256, Size: 24, DeviceBytes: 32}}, inputs)
			require.Equal(t, []plan.IO{
				{Offset: 512, Size: 96, DeviceBytes: 96}, {Offset: 768, Size: 96, DeviceBytes: 96}, {Offset: 1024, Size: 96, DeviceBytes: 96},
				{Offset: 1280, Size: 24, DeviceBytes: 32}, {Offset: 1536, Size: 16, DeviceBytes: 16},
			}, outputs)
			require.EqualValues(t, 1792, size)
			for id, want := range tc.inPlace {
				v := b.tensors[id]
				require.Equal(t, want, v.id != 0 && b.values[v.id].buffer == plan.Host, "tensor %d", id)
			}
			b.LoadInputs()
			loads := len(b.steps)
			relu := &b.Graph.Nodes[0]
			b.Quads(shaders.UnaryClampF32, 6, make([]uint32, shaders.UnaryClampF32.Info().PushWords), Cost{}, b.In(relu.In[0]), b.Out(relu.Out[0]))
			b.StoreOutputs()
			require.Equal(t, tc.steps, len(b.steps)-1, "%d of them loads", loads)
			p, _, err := b.Finish()
			require.NoError(t, err)
			// R11: no step writes where an input lies.
			for _, s := range p.Steps {
				for _, bd := range s.Bindings {
					require.False(t, bd.Write && bd.Buffer == plan.Host && bd.Offset < 512, s.Label)
				}
			}
		})
	}
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
			require.False(t, conflicts(open, s, bd), "step %d, %v", i, bd)
		}
		for _, bd := range s.Bindings {
			open = append(open, access{bd, s})
		}
	}
}
