package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

func TestSliceRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		begin, size []int
		out         ir.Tensor
	}{
		"rank":       {[]int{1}, []int{2}, floatTensor(2, 3)},
		"output":     {[]int{1, 0}, []int{2, 3}, floatTensor(2, 2)},
		"before":     {[]int{-1, 0}, []int{2, 3}, floatTensor(2, 3)},
		"beyond":     {[]int{3, 0}, []int{2, 3}, floatTensor(2, 3)},
		"far beyond": {[]int{1 << 62, 0}, []int{1 << 62, 3}, floatTensor(2, 3)},
		"type":       {[]int{1, 0}, []int{2, 3}, ir.Tensor{Type: nn.TensorInt32, Shape: []int{2, 3}}},
		"scale":      {[]int{1, 0}, []int{2, 3}, ir.Tensor{Type: nn.TensorFloat32, Shape: []int{2, 3}, Scale: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			g := singleNode(ir.Node{Op: nn.OpSlice, Attrs: ops.Slice{Begin: tc.begin, Size: tc.size}}, tc.out, floatTensor(4, 3))
			require.Error(t, Check(&softwareFacts, g, &g.Nodes[0]))
		})
	}
	g := singleNode(ir.Node{Op: nn.OpSlice, Attrs: ops.Slice{Begin: []int{1, 1}, Size: []int{2, 2}}}, floatTensor(2, 2), floatTensor(4, 3))
	require.NoError(t, Check(&softwareFacts, g, &g.Nodes[0]))
}
