package compile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

func TestCancelTransposes(t *testing.T) {
	testPass(t, inOrder(cancelTransposes, removeDead), []passCase{
		{"between two NCHW operations", `
			input %0 TENSOR_FLOAT32 [1,3,5,7]
			%1 TENSOR_FLOAT32 [1,5,7,3] = TRANSPOSE %0 {"perm":[0,2,3,1]}
			%2 TENSOR_FLOAT32 [1,5,7,3] = ABS %1
			%3 TENSOR_FLOAT32 [1,3,5,7] = TRANSPOSE %2 {"perm":[0,3,1,2]}
			%4 TENSOR_FLOAT32 [1,5,7,3] = TRANSPOSE %3 {"perm":[0,2,3,1]}
			%5 TENSOR_FLOAT32 [1,5,7,3] = TANH %4
			%6 TENSOR_FLOAT32 [1,3,5,7] = TRANSPOSE %5 {"perm":[0,3,1,2]}
			output %6`, `
			input %0 TENSOR_FLOAT32 [1,3,5,7]
			%1 TENSOR_FLOAT32 [1,5,7,3] = TRANSPOSE %0 {"perm":[0,2,3,1]}
			%2 TENSOR_FLOAT32 [1,5,7,3] = ABS %1
			%5 TENSOR_FLOAT32 [1,5,7,3] = TANH %2
			%6 TENSOR_FLOAT32 [1,3,5,7] = TRANSPOSE %5 {"perm":[0,3,1,2]}
			output %6`},
		{"the middle is an output too", `
			input %0 TENSOR_FLOAT32 [1,5,7,3]
			%1 TENSOR_FLOAT32 [1,3,5,7] = TRANSPOSE %0 {"perm":[0,3,1,2]}
			%2 TENSOR_FLOAT32 [1,5,7,3] = TRANSPOSE %1 {"perm":[0,2,3,1]}
			%3 TENSOR_FLOAT32 [1,5,7,3] = ABS %2
			output %1
			output %3`, `
			input %0 TENSOR_FLOAT32 [1,5,7,3]
			%1 TENSOR_FLOAT32 [1,3,5,7] = TRANSPOSE %0 {"perm":[0,3,1,2]}
			%3 TENSOR_FLOAT32 [1,5,7,3] = ABS %0
			output %1
			output %3`},
		{"the end is an output and read: it stays, the reader takes the start", `
			input %0 TENSOR_FLOAT32 [1,5,7,3]
			%1 TENSOR_FLOAT32 [1,3,5,7] = TRANSPOSE %0 {"perm":[0,3,1,2]}
			%2 TENSOR_FLOAT32 [1,5,7,3] = TRANSPOSE %1 {"perm":[0,2,3,1]}
			%3 TENSOR_FLOAT32 [1,5,7,3] = ABS %2
			output %2
			output %3`, `
			input %0 TENSOR_FLOAT32 [1,5,7,3]
			%1 TENSOR_FLOAT32 [1,3,5,7] = TRANSPOSE %0 {"perm":[0,3,1,2]}
			%2 TENSOR_FLOAT32 [1,5,7,3] = TRANSPOSE %1 {"perm":[0,2,3,1]}
			%3 TENSOR_FLOAT32 [1,5,7,3] = ABS %0
			output %2
			output %3`},
		{"four in a row", `
			input %0 TENSOR_FLOAT32 [2,3]
			%1 TENSOR_FLOAT32 [3,2] = TRANSPOSE %0 {"perm":[1,0]}
			%2 TENSOR_FLOAT32 [2,3] = TRANSPOSE %1 {"perm":[1,0]}
			%3 TENSOR_FLOAT32 [3,2] = TRANSPOSE %2 {"perm":[1,0]}
			%4 TENSOR_FLOAT32 [2,3] = TRANSPOSE %3 {"perm":[1,0]}
			%5 TENSOR_FLOAT32 [2,3] = ADD %4 %2
			output %5`, `
			input %0 TENSOR_FLOAT32 [2,3]
			%5 TENSOR_FLOAT32 [2,3] = ADD %0 %0
			output %5`},
		{"two readers of the first, one undoes it", `
			input %0 TENSOR_FLOAT32 [2,3]
			%1 TENSOR_FLOAT32 [3,2] = TRANSPOSE %0 {"perm":[1,0]}
			%2 TENSOR_FLOAT32 [2,3] = TRANSPOSE %1 {"perm":[1,0]}
			%3 TENSOR_FLOAT32 [3,2] = ABS %1
			%4 TENSOR_FLOAT32 [2,3] = TANH %2
			output %3
			output %4`, `
			input %0 TENSOR_FLOAT32 [2,3]
			%1 TENSOR_FLOAT32 [3,2] = TRANSPOSE %0 {"perm":[1,0]}
			%3 TENSOR_FLOAT32 [3,2] = ABS %1
			%4 TENSOR_FLOAT32 [2,3] = TANH %0
			output %3
			output %4`},
		{name: "twice the same rotation is no inverse", before: `
			input %0 TENSOR_FLOAT32 [2,2,2]
			%1 TENSOR_FLOAT32 [2,2,2] = TRANSPOSE %0 {"perm":[1,2,0]}
			%2 TENSOR_FLOAT32 [2,2,2] = TRANSPOSE %1 {"perm":[1,2,0]}
			%3 TENSOR_FLOAT32 [2,2,2] = ABS %2
			output %3`},
		{name: "orders known only at run time", before: `
			input %0 TENSOR_FLOAT32 [2,2]
			input %1 TENSOR_INT32 [2]
			%2 TENSOR_FLOAT32 [2,2] = TRANSPOSE %0 %1
			%3 TENSOR_FLOAT32 [2,2] = TRANSPOSE %2 %1
			%4 TENSOR_FLOAT32 [2,2] = ABS %3
			output %4`},
		{name: "something between", before: `
			input %0 TENSOR_FLOAT32 [2,3]
			%1 TENSOR_FLOAT32 [3,2] = TRANSPOSE %0 {"perm":[1,0]}
			%2 TENSOR_FLOAT32 [3,2] = ABS %1
			%3 TENSOR_FLOAT32 [2,3] = TRANSPOSE %2 {"perm":[1,0]}
			%4 TENSOR_FLOAT32 [2,3] = ABS %3
			output %4`},
		{name: "two that end in an output", before: `
			input %0 TENSOR_FLOAT32 [2,3]
			%1 TENSOR_FLOAT32 [3,2] = TRANSPOSE %0 {"perm":[1,0]}
			%2 TENSOR_FLOAT32 [2,3] = TRANSPOSE %1 {"perm":[1,0]}
			output %2`},
	})
}

func TestNormaliseLayout(t *testing.T) {
	g := &ir.Graph{}
	shape := func(dims ...int) ir.ID {
		return g.Add(ir.Tensor{Type: nn.TensorQuant8Asymm, Scale: 0.5, Zero: 3, Shape: dims})
	}
	normalised := func(n ir.Node) []ir.Node {
		g.Nodes = []ir.Node{n}
		require.NoError(t, normaliseLayout(g))
		return g.Nodes
	}
	t.Run("NCHW pool", func(t *testing.T) {
		n := ir.Node{Op: nn.OpMaxPool2D, In: []ir.ID{shape(1, 3, 10, 14)}, Out: []ir.ID{shape(1, 3, 5, 7)}, Source: 4}
		n.Attrs = ops.Pool{NCHW: true}
		parts := normalised(n)
		require.Len(t, parts, 3)
		require.Equal(t, toNHWC, permutation(&parts[0]))
		require.Equal(t, toNCHW, permutation(&parts[2]))
		require.Equal(t, ops.Pool{}, parts[1].Attrs)
		require.Equal(t, n.In[0], parts[0].In[0])
		require.Equal(t, parts[0].Out, parts[1].In)
		require.Equal(t, parts[1].Out, parts[2].In)
		require.Equal(t, n.Out, parts[2].Out)
		x, y := g.T(parts[1].In[0]), g.T(parts[1].Out[0])
		require.Equal(t, []int{1, 10, 14, 3}, x.Shape)
		require.Equal(t, []int{1, 5, 7, 3}, y.Shape)
		require.True(t, x.SameQuant(y) && x.Scale == 0.5 && x.Zero == 3)
		for _, p := range parts {
			require.Equal(t, 4, p.Source)
		}
	})
	t.Run("NHWC stays", func(t *testing.T) {
		n := ir.Node{Op: nn.OpMaxPool2D, In: []ir.ID{shape(1, 10, 14, 3)}, Out: []ir.ID{shape(1, 5, 7, 3)}}
		require.Equal(t, []ir.Node{n}, normalised(n))
	})
	t.Run("rows of FULLY_CONNECTED", func(t *testing.T) {
		for _, tc := range []struct {
			in, rows []int // rows is nil where the input stays
		}{
			{[]int{2, 12}, nil},
			{[]int{1, 1, 3, 12}, nil},
			{[]int{1, 2, 3, 4}, []int{2, 12}},
			{[]int{24, 1}, []int{2, 12}},
			{[]int{5, 5}, nil}, // not whole rows: refused by the check
		} {
			n := ir.Node{Op: nn.OpFullyConnected, In: []ir.ID{shape(tc.in...), shape(7, 12), shape(7)}, Out: []ir.ID{shape(2, 7)}}
			parts := normalised(n)
			if tc.rows == nil {
				require.Equal(t, []ir.Node{n}, parts, tc.in)
				continue
			}
			require.Len(t, parts, 2, tc.in)
			require.Equal(t, nn.OpReshape, parts[0].Op)
			require.Equal(t, tc.rows, g.T(parts[1].In[0]).Shape)
			require.Equal(t, n.In[1:], parts[1].In[1:])
		}
	})
}
