package compile

import (
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// expandReverse makes a REVERSE a slice with a stride of -1.
func expandReverse(x *expansion, n *ir.Node) error {
	if err := x.checkRoom(1); err != nil {
		return err
	}
	shape, axis := x.graph.T(n.In[0]).Shape, n.Attrs.(ops.Reverse).Axis
	a := ops.StridedSlice{Begin: make([]int, len(shape)), Stride: slices.Repeat([]int{1}, len(shape)), Size: slices.Clone(shape)}
	a.Begin[axis], a.Stride[axis] = shape[axis]-1, -1
	x.into(n.Out[0], nn.OpStridedSlice, a, n.In[0])
	return nil
}
