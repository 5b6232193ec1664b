package lower

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// TestSplit: parts are the bytes that they are of, on every axis, with rows of whole and of broken quads; a part is read
// by another operation, and one by nobody.
func TestSplit(t *testing.T) {
	t.Setenv("NNGPU_POISON", "1")
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		rng := rand.New(rand.NewPCG(7, 8))
		for _, typ := range []nn.OperandType{nn.TensorFloat32, nn.TensorFloat16, nn.TensorInt32, nn.TensorQuant8Asymm} {
			for _, tc := range []struct {
				shape   []int
				axis, n int
			}{
				{[]int{6}, 0, 3}, {[]int{12}, 0, 3}, {[]int{7}, 0, 7}, {[]int{5, 6}, 0, 5}, {[]int{5, 6}, 1, 2}, {[]int{5, 8}, 1, 2},
				{[]int{3, 4, 7, 5}, 2, 7}, {[]int{3, 4, 7, 5}, 1, 2}, {[]int{3, 4, 7, 10}, 3, 2}, {[]int{2, 3, 4}, 1, 1},
				{[]int{41, 37, 30}, 2, 3}, {[]int{4, 16, 16}, 0, 2}, {[]int{1, 4, 16, 16}, 1, 4},
			} {
				g := &ir.Graph{}
				in := ir.Tensor{Type: typ, Shape: tc.shape, Scale: 0.5}
				x := g.Add(in)
				g.Inputs = []ir.ID{x}
				out := in
				out.Shape = append([]int(nil), tc.shape...)
				out.Shape[tc.axis] /= tc.n
				n := ir.Node{Op: nn.OpSplit, In: []ir.ID{x}, Attrs: ops.Split{Axis: tc.axis}}
				for range tc.n {
					n.Out = append(n.Out, g.Add(out))
				}
				g.Nodes = []ir.Node{n}
				g.Outputs = n.Out[:max(1, tc.n-1)]
				data := randomBytes(rng, &in)
				run := out.Shape[tc.axis] * ir.Product(tc.shape[tc.axis+1:]) * typ.Bytes()
				want := make([][]byte, tc.n)
				for i := 0; i < len(data); i += run {
					want[i/run%tc.n] = append(want[i/run%tc.n], data[i:i+run]...)
				}
				facts := d.Facts()
				require.NoError(t, Check(&facts, g, &g.Nodes[0]))
				got := runGraph(t, d, g, data)
				require.Equal(t, want[:len(got)], got, fmt.Sprintf("%v of %+v", typ, tc))
			}
		}
	})
}

// TestSplitWithoutSteps: parts that are whole runs of memory lie where they are, and nothing is computed over them there.
func TestSplitWithoutSteps(t *testing.T) {
	t.Setenv("NNGPU_POISON", "1")
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		g := &ir.Graph{}
		tensor := func(rows int) ir.ID { return g.Add(floatTensor(rows, 64)) }
		node := func(op nn.OperationType, a ops.Attrs, in ir.ID, out ...ir.ID) {
			g.Nodes = append(g.Nodes, ir.Node{Op: op, Attrs: a, In: []ir.ID{in}, Out: out})
		}
		x, all, first, second, less, more := tensor(6), tensor(6), tensor(3), tensor(3), tensor(3), tensor(6)
		node(nn.OpAbs, nil, x, all)
		node(nn.OpSplit, ops.Split{}, all, first, second)
		node(nn.OpNeg, nil, first, less)
		node(nn.OpExp, nil, all, more)
		g.Inputs, g.Outputs = []ir.ID{x}, []ir.ID{less, more, second}
		numbers := make([]float32, 6*64)
		var negated, exponentials, rest []float32
		for i := range numbers {
			v := float32(i%7) / 8
			numbers[i] = -v
			exponentials = append(exponentials, float32(math.Exp(float64(v))))
			if i < len(numbers)/2 {
				negated = append(negated, -v)
			} else {
				rest = append(rest, v)
			}
		}
		got := runGraph(t, d, g, pack.FloatBytes(numbers))
		require.Equal(t, pack.FloatBytes(negated), got[0])
		require.InDeltaSlice(t, exponentials, f32OfBytes(got[1]), 1e-6)
		require.Equal(t, pack.FloatBytes(rest), got[2])

		b := emit.NewBuilder(&softwareFacts, g)
		require.NoError(t, Node(b, &g.Nodes[0]))
		require.NoError(t, Node(b, &g.Nodes[1]))
		p, _, err := b.Finish()
		require.NoError(t, err)
		require.Len(t, p.Steps, 1)
	})
}

func TestSplitRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		axis int
		out  ir.Tensor
	}{
		"axis":  {2, floatTensor(2, 3)},
		"shape": {0, floatTensor(1, 6)},
		"parts": {0, floatTensor(3, 3)},
		"type":  {0, ir.Tensor{Type: nn.TensorInt32, Shape: []int{2, 3}}},
		"scale": {0, ir.Tensor{Type: nn.TensorFloat32, Shape: []int{2, 3}, Scale: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			g := &ir.Graph{}
			n := ir.Node{Op: nn.OpSplit, In: []ir.ID{g.Add(floatTensor(4, 3))}, Out: []ir.ID{g.Add(tc.out), g.Add(tc.out)}, Attrs: ops.Split{Axis: tc.axis}}
			require.Error(t, Check(&softwareFacts, g, &n))
		})
	}
}
