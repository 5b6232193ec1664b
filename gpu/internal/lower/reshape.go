package lower

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

func init() {
	register(rule{check: checkReshape, lower: lowerReshape}, nn.OpReshape, nn.OpSqueeze, nn.OpExpandDims)
}

func checkReshape(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	if in, out := g.T(n.In[0]).Elements(), g.T(n.Out[0]).Elements(); in != out {
		return fmt.Errorf("the input has %d elements, the output %d", in, out)
	}
	unlimited := *f
	unlimited.MaxStorageRange = math.MaxInt64
	if err := checkMoved(&unlimited, g, firstInputOnly(n)); err != nil {
		return err
	}
	from, to := pack.LayoutOf(g.T(n.In[0])), pack.LayoutOf(g.T(n.Out[0]))
	if movesNothing(to, from) {
		return nil
	}
	return emit.CheckReshape(f, to, from)
}

// movesNothing reports whether elements lie alike in both layouts.
func movesNothing(to, from pack.Layout) bool { return from.C == to.C || from.Dense() && to.Dense() }

// lowerReshape: another shape for the same elements in row-major order. Only a change of the innermost
// dimension moves anything.
func lowerReshape(b *emit.Builder, n *ir.Node) {
	reshapeTensor(b, n.Out[0], n.In[0])
}

func reshapeTensor(b *emit.Builder, out, in ir.ID) {
	from, to := b.Layout(in), b.Layout(out)
	if !movesNothing(to, from) {
		b.Reshape(b.Tensor(out), b.Tensor(in), to, from)
		return
	}
	b.Forward(out, in)
}
