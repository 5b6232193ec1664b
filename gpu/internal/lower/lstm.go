package lower

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

// LSTM in the form that package compile gives it is the rest of a step behind its products: from [batch, gates * units]
// of the input, the same of the output state, and the cell state, [batch, units], it makes the output and the cell
// state. There are three or four gates.

func init() {
	register(rule{check: checkLSTM, lower: lowerLSTM, divide: divideLSTM}, nn.OpLstm)
}

func checkLSTM(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	if len(n.In) != 3 || len(n.Out) != 2 {
		return fmt.Errorf("%d tensors in a form that no kernel takes", len(n.In))
	}
	c := g.T(n.In[2])
	if len(c.Shape) != 2 || c.Shape[1]%4 != 0 {
		return fmt.Errorf("a cell state of shape %v", c.Shape)
	}
	for _, id := range []ir.ID{n.In[0], n.In[1], n.In[2], n.Out[0], n.Out[1]} {
		t := g.T(id)
		if t.Type != nn.TensorFloat32 || len(t.Shape) != 2 || t.Shape[0] != c.Shape[0] {
			return fmt.Errorf("%v %v for a cell state of %v", t.Type, t.Shape, c.Shape)
		}
	}
	units, sums := c.Shape[1], g.T(n.In[0]).Shape[1]
	if sums != 3*units && sums != 4*units || g.T(n.In[1]).Shape[1] != sums || g.T(n.Out[0]).Shape[1] != units || g.T(n.Out[1]).Shape[1] != units {
		return fmt.Errorf("gates of %d numbers for %d units", sums, units)
	}
	return emit.CheckTensors(f, g, n)
}

func lowerLSTM(b *emit.Builder, n *ir.Node) {
	a, l := n.Attrs.(ops.SequenceLSTM), b.Layout(n.In[2])
	clip := math.Inf(1)
	if a.CellClip != 0 {
		clip = a.CellClip
	}
	count := l.TotalQuads()
	push := emit.Ints(count).Divisors(l.Quads).Ints(b.Layout(n.In[0]).C/l.C, int(a.Act)).Floats(clip)
	b.Quads(shaders.CellLstm, count, push, emit.Cost{}, b.In(n.In[0]), b.In(n.In[1]), b.In(n.In[2]), b.Out(n.Out[0]), b.Out(n.Out[1]))
}

// divideLSTM divides among rows of the batch.
func divideLSTM(g *ir.Graph, n *ir.Node) []division {
	var cuts []cut
	for _, id := range append(append([]ir.ID(nil), n.In...), n.Out...) {
		cuts = append(cuts, cut{g.T(id), 0})
	}
	return alike(n.Attrs, cuts...)
}

// LSTMFits reports whether LSTM can be one node with so many units and gates, for this many rows of the input and of
// the output state, and these sizes of inputs and outputs.
func LSTMFits(f *plan.Facts, units, gates, rows int, sizes ...int) bool {
	fits := func(rows, columns int) bool {
		return rows <= emit.MaxElements/(columns+4) && emit.Bindable(f, pack.LayoutOf(&ir.Tensor{Type: nn.TensorFloat32, Shape: []int{rows, columns}}))
	}
	for _, size := range sizes {
		if !fits(gates*units, size) {
			return false
		}
	}
	return units%4 == 0 && fits(rows, gates*units)
}
