package emit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

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

// TestOutputWithinAnotherTensor: what is written as a part of another tensor is copied to the client's memory whatever
// form that has, since nothing writes the part by itself.
func TestOutputWithinAnotherTensor(t *testing.T) {
	g, err := ir.Parse(`
		input %0 TENSOR_FLOAT32 [1,3,64]
		%1 TENSOR_FLOAT32 [1,3,64] = RELU %0
		%2 TENSOR_FLOAT32 [1,1,64] = RELU %0
		output %2`)
	require.NoError(t, err)
	f := softwareFacts
	f.Unified = false
	b := NewBuilder(&f, g)
	b.PlaceIO()
	b.LoadInputs()
	for _, n := range g.Nodes[:1] {
		b.Quads(shaders.UnaryClampF32, 48, make([]uint32, shaders.UnaryClampF32.Info().PushWords), Cost{}, b.In(n.In[0]), b.Out(n.Out[0]))
	}
	b.PlaceIn(g.Outputs[0], g.Nodes[0].Out[0], 256)
	b.StoreOutputs()
	p, _, err := b.Finish()
	require.NoError(t, err)
	store := p.Steps[len(p.Steps)-1]
	require.Equal(t, plan.OutputRef(0), store.Transfers)
	require.Equal(t, plan.Always, store.When)
	for _, bd := range store.Bindings {
		require.Equal(t, bd.Write, bd.Of == plan.OutputRef(0), "only the copy is the client's")
	}
}

// TestTails: a row that ends within a quad leaves for a client's memory without its padding, which may be somebody
// else's there, and for memory of the driver with it.
func TestTails(t *testing.T) {
	for name, source := range map[string]string{
		"a result":             "input %0 TENSOR_FLOAT32 [1001]\n%1 TENSOR_FLOAT32 [1001] = RELU %0\noutput %1",
		"a result and another": "input %0 TENSOR_FLOAT32 [1001]\n%1 TENSOR_FLOAT32 [1001] = RELU %0\noutput %1\noutput %1",
	} {
		t.Run(name, func(t *testing.T) {
			g, err := ir.Parse(source)
			require.NoError(t, err)
			f := softwareFacts
			f.Unified = false
			b := NewBuilder(&f, g)
			b.PlaceIO()
			b.LoadInputs()
			relu := &b.Graph.Nodes[0]
			b.Quads(shaders.UnaryClampF32, 251, make([]uint32, shaders.UnaryClampF32.Info().PushWords), Cost{}, b.In(relu.In[0]), b.Out(relu.Out[0]))
			b.StoreOutputs()
			p, _, err := b.Finish()
			require.NoError(t, err)
			for i := range p.Steps {
				s := &p.Steps[i]
				_, output := s.Transfers.Output()
				switch {
				case s.Kernel != shaders.Copy:
				case output && s.When == plan.WhenDense:
					require.EqualValues(t, 4004, s.Bindings[1].Size)
				default:
					require.EqualValues(t, 4016, s.Bindings[1].Size)
				}
			}
			require.Len(t, p.Steps, map[int]int{1: 3, 2: 5}[len(g.Outputs)])
		})
	}
}
