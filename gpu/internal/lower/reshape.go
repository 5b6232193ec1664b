package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

func init() {
	register(rule{check: checkReshape, lower: (*Builder).lowerReshape}, nn.OpReshape, nn.OpSqueeze, nn.OpExpandDims)
}

func checkReshape(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	if in, out := g.T(n.In[0]).Elements(), g.T(n.Out[0]).Elements(); in != out {
		return fmt.Errorf("the input has %d elements, the output %d", in, out)
	}
	// The shape and the axes are decoded; their tensors may still be listed.
	m := *n
	m.In = n.In[:1]
	return checkMoved(f, g, &m)
}

// lowerReshape: another shape for the same elements in row-major order. Only a change of the innermost
// dimension moves anything.
func (b *Builder) lowerReshape(n *ir.Node) error {
	b.reshapeTensor(n.Out[0], n.In[0])
	return nil
}

func (b *Builder) reshapeTensor(out, in ir.ID) {
	from, to := b.Layout(in), b.Layout(out)
	if from.C != to.C && !(from.Dense() && to.Dense()) {
		b.reshape(b.Tensor(out), b.Tensor(in), to, from)
		return
	}
	b.aliasOrCopy(out, in)
}
