package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

func init() {
	register(rule{check: checkSlice, lower: lowerSlice}, nn.OpSlice)
}

func checkSlice(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	in, out, a := g.T(n.In[0]), g.T(n.Out[0]), n.Attrs.(ops.Slice)
	if rank := len(in.Shape); len(out.Shape) != rank || len(a.Begin) != rank || len(a.Size) != rank {
		return fmt.Errorf("%v from %v of rank %d to %d", a.Size, a.Begin, rank, len(out.Shape))
	}
	for i, n := range in.Shape {
		if a.Begin[i] < 0 || a.Size[i] < 1 || a.Begin[i] > n-a.Size[i] || out.Shape[i] != a.Size[i] {
			return fmt.Errorf("%v from %v of %v to %v", a.Size, a.Begin, in.Shape, out.Shape)
		}
	}
	if !out.SameQuant(in) {
		return fmt.Errorf("the result has another scale or zero point")
	}
	return checkMoved(f, g, n)
}

// lowerSlice is a padding by negative numbers of elements: the kernels find the place of an output element in the input
// by subtracting the padding before it.
func lowerSlice(b *emit.Builder, n *ir.Node) {
	a := n.Attrs.(ops.Slice)
	pads := make([][2]int, len(a.Begin))
	for i, size := range b.Graph.T(n.In[0]).Shape {
		pads[i] = [2]int{-a.Begin[i], a.Begin[i] + a.Size[i] - size}
	}
	lowerPad(b, &ir.Node{Op: nn.OpPad, In: n.In, Out: n.Out, Attrs: ops.Padding{Pads: pads}, Source: n.Source})
}
