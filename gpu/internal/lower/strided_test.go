package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

func TestStridedRefusals(t *testing.T) {
	slice := func(begin, stride, size []int) ops.StridedSlice {
		return ops.StridedSlice{Begin: begin, Stride: stride, Size: size}
	}
	list := func(n ...int) []int { return n }
	for name, tc := range map[string]struct {
		attrs   ops.Attrs
		out     ir.Tensor
		allowed bool
	}{
		"slice":             {slice(list(3, 0), list(-3, 2), list(2, 2)), floatTensor(2, 2), true},
		"dropped":           {slice(list(3, 0), list(1, 1), list(1, 3)), floatTensor(3), true},
		"any single step":   {slice(list(0, 0), list(1<<40, -1<<40), list(1, 1)), floatTensor(1, 1), true},
		"rank":              {slice(list(0), list(1), list(3)), floatTensor(3, 3), false},
		"stride 0":          {slice(list(0, 0), list(0, 1), list(2, 3)), floatTensor(2, 3), false},
		"before":            {slice(list(2, 0), list(-2, 1), list(3, 3)), floatTensor(3, 3), false},
		"negative begin":    {slice(list(-1, 0), list(1, 1), list(2, 3)), floatTensor(2, 3), false},
		"beyond":            {slice(list(1, 0), list(2, 1), list(3, 3)), floatTensor(3, 3), false},
		"far beyond":        {slice(list(0, 0), list(1<<62, 1), list(2, 3)), floatTensor(2, 3), false},
		"nothing":           {slice(list(0, 0), list(1, 1), list(0, 3)), floatTensor(1, 3), false},
		"output":            {slice(list(0, 0), list(1, 1), list(2, 3)), floatTensor(3, 2), false},
		"larger output":     {slice(list(0, 0), list(1, 1), list(2, 2)), floatTensor(2, 3), false},
		"type":              {slice(list(0, 0), list(1, 1), list(2, 3)), ir.Tensor{Type: nn.TensorInt32, Shape: list(2, 3)}, false},
		"scale":             {slice(list(0, 0), list(1, 1), list(2, 3)), ir.Tensor{Type: nn.TensorFloat32, Shape: list(2, 3), Scale: 1}, false},
		"tile":              {ops.Tile{Multiples: list(2, 1)}, floatTensor(8, 3), true},
		"multiples of rank": {ops.Tile{Multiples: list(2)}, floatTensor(8, 3), false},
		"multiple 0":        {ops.Tile{Multiples: list(0, 1)}, floatTensor(4, 3), false},
		"too many":          {ops.Tile{Multiples: list(1<<62, 4)}, floatTensor(4, 3), false},
		"tile of rank 1":    {ops.Tile{Multiples: list(2, 1)}, floatTensor(24), false},
	} {
		t.Run(name, func(t *testing.T) {
			op := nn.OpStridedSlice
			if _, tile := tc.attrs.(ops.Tile); tile {
				op = nn.OpTile
			}
			g := singleNode(ir.Node{Op: op, Attrs: tc.attrs}, tc.out, floatTensor(4, 3))
			require.Equal(t, tc.allowed, Check(&softwareFacts, g, &g.Nodes[0]) == nil)
		})
	}
}

// TestStridedKernels: whole quads are copied, and what no kernel does at once takes two steps.
func TestStridedKernels(t *testing.T) {
	for name, tc := range map[string]struct {
		attrs ops.Attrs
		in    []int
		want  []string
	}{
		"rows":                {ops.Tile{Multiples: []int{3, 1}}, []int{4, 5}, []string{"data_copy_w4_d3_texel"}},
		"quads":               {ops.Tile{Multiples: []int{1, 3}}, []int{4, 8}, []string{"data_copy_w4_d3_texel"}},
		"elements":            {ops.Tile{Multiples: []int{1, 3}}, []int{4, 5}, []string{"data_strided_e4"}},
		"all of 3 dimensions": {ops.Tile{Multiples: []int{2, 2, 2, 2}}, []int{3, 3, 3, 5}, []string{"data_strided_e4", "data_copy_w4_d3_texel"}},
	} {
		t.Run(name, func(t *testing.T) {
			out := make([]int, len(tc.in))
			for i, n := range tc.in {
				out[i] = n * tc.attrs.(ops.Tile).Multiples[i]
			}
			g := singleNode(ir.Node{Op: nn.OpTile, Attrs: tc.attrs}, floatTensor(out...), floatTensor(tc.in...))
			p, _ := lowerFor(t, softwareFacts, g)
			var got []string
			for i := range p.Steps {
				if p.Steps[i].Transfers == 0 {
					got = append(got, p.Steps[i].Kernel.String())
				}
			}
			require.Equal(t, tc.want, got)
		})
	}
}
