package lower

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// topKGraph is a TOPK_V2 of a tensor of the given type and shape.
func topKGraph(typ nn.OperandType, k int, shape ...int) *ir.Graph {
	g := &ir.Graph{}
	in := ir.Tensor{Type: typ, Shape: shape}
	if typ.IsQuant8() {
		in.Scale, in.Zero = 0.5, 3
	}
	values := in
	values.Shape = append(append([]int(nil), shape[:len(shape)-1]...), k)
	indices := ir.Tensor{Type: nn.TensorInt32, Shape: values.Shape}
	n := ir.Node{Op: nn.OpTopkV2, In: []ir.ID{g.Add(in)}, Out: []ir.ID{g.Add(values), g.Add(indices)}, Attrs: ops.TopK{K: k}}
	g.Inputs, g.Outputs, g.Nodes = n.In, n.Out, []ir.Node{n}
	return g
}

// TestTopKInPieces: rows that are too large together, for the device or for what runs may take, give the same bytes.
func TestTopKInPieces(t *testing.T) {
	t.Setenv("NNGPU_POISON", "1")
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		for i, tc := range []struct {
			typ   nn.OperandType
			k     int
			shape []int
			limit int64
		}{
			{nn.TensorFloat32, 5, []int{301, 37}, 16384},               // tensors
			{nn.TensorQuant8Asymm, 3, []int{7, 64, 21}, 8192},          //
			{nn.TensorQuant8AsymmSigned, 200, []int{64, 257}, 1 << 16}, // runs of bytes
			{nn.TensorFloat16, 1024, []int{3, 1024}, 8192},             // of one row at a time
		} {
			t.Run(fmt.Sprint(tc.typ, tc.shape, tc.k), func(t *testing.T) {
				g := topKGraph(tc.typ, tc.k, tc.shape...)
				input := randomBytes(rand.New(rand.NewPCG(uint64(i), 2)), g.T(g.Inputs[0]))
				p, weights := lowerFor(t, d.Facts(), g)
				want, whole := runPlan(t, d, p, weights, [][]byte{input}), computing(p)
				f := d.Facts()
				f.MaxStorageRange = tc.limit
				p, weights = lowerFor(t, f, g)
				require.Greater(t, computing(p), whole)
				require.Equal(t, want, runPlan(t, d, p, weights, [][]byte{input}))
			})
		}
	})
}

func TestTopKRefusals(t *testing.T) {
	small := softwareFacts
	small.MaxStorageRange = 4096
	for name, tc := range map[string]struct {
		g      *ir.Graph
		change func(g *ir.Graph)
		want   string
	}{
		"k":                 {topKGraph(nn.TensorFloat32, 3, 5), func(g *ir.Graph) { g.Nodes[0].Attrs = ops.TopK{K: 6} }, "the 6 largest of 5"},
		"shape":             {topKGraph(nn.TensorFloat32, 3, 2, 5), func(g *ir.Graph) { g.Tensors[2].Shape = []int{3, 2} }, "in a tensor of shape [3 2]"},
		"indices":           {topKGraph(nn.TensorFloat32, 3, 5), func(g *ir.Graph) { g.Tensors[2].Type = nn.TensorFloat32 }, "of TENSOR_FLOAT32"},
		"scale":             {topKGraph(nn.TensorQuant8Asymm, 3, 5), func(g *ir.Graph) { g.Tensors[1].Scale = 7 }, "TENSOR_QUANT8_ASYMM and"},
		"type":              {topKGraph(nn.TensorBool8, 3, 5), func(*ir.Graph) {}, "no kernel for TENSOR_BOOL8"},
		"runs of a row":     {topKGraph(nn.TensorQuant8Asymm, 1000, 1000), func(*ir.Graph) {}, "a row needs 8192 bytes"},
		"a row of elements": {topKGraph(nn.TensorFloat32, 1, 2000), func(*ir.Graph) {}, "cannot be divided"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.change(tc.g)
			require.ErrorContains(t, Check(&small, tc.g, &tc.g.Nodes[0]), tc.want)
		})
	}
}

func TestTopKPasses(t *testing.T) {
	require.Equal(t, []topKRuns{{1, 64, 5}}, topKPasses(64, 5))
	require.Equal(t, []topKRuns{{2, 64, 1}, {1, 256, 1}}, topKPasses(65, 1))
	require.Equal(t, []topKRuns{{16, 64, 64}, {4, 256, 100}, {1, 1024, 100}}, topKPasses(1001, 100))
	require.Equal(t, int64(16*64*8), topKRowBytes(1001, 100))
	require.Equal(t, int64(2*256*8), topKRowBytes(257, 257), "runs keep room that the last does not need")
}
