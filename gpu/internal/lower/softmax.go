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
	"github.com/nngpu/nngpu/shaders/family"
)

func init() {
	register(rule{check: checkSoftmax, lower: lowerSoftmax, divide: divideSoftmax}, nn.OpSoftmax, nn.OpLogSoftmax)
}

// longRow is the number of quads of a row from which an iteration of the loops of softmax handles four instead of two:
// the kernel is then half as long again.
const longRow = 512

func checkSoftmax(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	in, out := g.T(n.In[0]), g.T(n.Out[0])
	axis := n.Attrs.(ops.Softmax).Axis
	l, err := checkLines(g, n, axis)
	if err != nil {
		return err
	}
	if !isFloatTensor(in.Type) && (!in.Type.IsQuant8() || n.Op != nn.OpSoftmax) {
		return fmt.Errorf("%v of %v", n.Op, in.Type)
	}
	if err := checkScales(in, out); err != nil {
		return err
	}
	limit, steps := emit.MaxLoop/3, l.Dims[axis]
	if axis == len(l.Dims)-1 {
		if steps = l.Quads; isFloatTensor(in.Type) {
			limit = 4 * emit.MaxLoop / 3
		}
	}
	if steps > limit {
		return fmt.Errorf("softmax over %d elements", l.Dims[axis])
	}
	return emit.CheckTensors(f, g, n)
}

// checkLines checks a node that computes lines along an axis from the same lines of its input, and returns the layout
// of both.
func checkLines(g *ir.Graph, n *ir.Node, axis int) (l pack.Layout, err error) {
	in, out := g.T(n.In[0]), g.T(n.Out[0])
	if err := checkSameType(in, out); err != nil {
		return l, err
	}
	l = pack.LayoutOf(in)
	if to := pack.LayoutOf(out); to.C != l.C || to.Rows != l.Rows {
		return l, fmt.Errorf("the input has shape %v, the output %v", in.Shape, out.Shape)
	}
	if axis < 0 || axis >= len(l.Dims) {
		return l, fmt.Errorf("axis %d of a tensor of rank %d", axis, len(in.Shape))
	}
	return l, nil
}

func lowerSoftmax(b *emit.Builder, n *ir.Node) {
	l := b.Layout(n.In[0])
	a := n.Attrs.(ops.Softmax)
	axis := a.Axis
	column := axis != len(l.Dims)-1
	inner := 1
	count, steps := l.Rows, l.Quads
	if column {
		inner = ir.Product(l.Dims[axis+1:len(l.Dims)-1]) * l.Quads
		steps = l.Dims[axis]
		count = ir.Product(l.Dims[:axis]) * inner
	}
	t := b.Graph.T(n.In[0])
	// An exponential is about 20 operations.
	cost := emit.Cost{FLOP: 40 * float64(l.Rows) * float64(l.C)}
	if t.Type.IsQuant8() {
		softmaxQ8(b, n, l, column, inner, steps, count, cost)
		return
	}
	want := family.Softmax{Log: n.Op == nn.OpLogSoftmax, Elem: elem(t.Type), Column: column}
	if column {
		push := emit.Ints(count).Divisors(inner).Ints(steps, l.Quads, l.C).Floats(a.Beta)
		b.Quads(shaders.Of(want), count, push, cost, b.In(n.In[0]), b.Out(n.Out[0]))
		return
	}
	w := &rowWork{teams: count, rows: 1, quads: steps}
	k, _ := emit.Choose(b, emit.QuadLocal, func(k family.Softmax) (float64, string) {
		want.Team, want.Access, want.Long = k.Team, k.Access, k.Team == family.Alone && steps > longRow
		if k != want {
			return 0, ""
		}
		speed, why := w.speed(b.Facts, k.Team)
		return speed * b.MoveSpeed(k.Access, b.Tensor(n.In[0]), plan.FormatRGBA32F), why
	})
	x := emit.ReadBy(k.Access, b.In(n.In[0]), plan.FormatRGBA32F)
	w.dispatch(b, shaders.Of(k), k.Team, emit.Ints(count, steps, l.C).Floats(a.Beta), cost, x, b.Out(n.Out[0]))
}

func softmaxQ8(b *emit.Builder, n *ir.Node, l pack.Layout, column bool, inner, steps, count int, cost emit.Cost) {
	in, out := b.Graph.T(n.In[0]), b.Graph.T(n.Out[0])
	w := &rowWork{teams: count, rows: 1, quads: steps}
	k, _ := emit.Choose(b, emit.QuadLocal, func(k family.Softmax) (float64, string) {
		switch {
		case k.Elem != family.Q8 || k.Column != column:
			return 0, ""
		case column:
			return 1, ""
		case !k.Wide:
			return w.speed(b.Facts, k.Team)
		case l.C%16 != 0:
			return 0, ""
		}
		return b.WideSpeed(count, k.Access, b.Tensor(n.In[0])), ""
	})
	if k.Wide {
		steps /= 4
	}
	rate := -float64(in.Scale) * n.Attrs.(ops.Softmax).Beta * math.Log2E
	push := emit.Ints(count).Divisors(inner).Ints(steps, l.C).Floats(rate).Words(pack.SignOffset(in.Type))
	// Results are unsigned numbers from 0 to 255 until their signs are flipped.
	off := pack.SignOffset(out.Type)
	zero := uint32(out.Zero) + off
	const each = 0x01010101 // of the bytes of a word
	push = push.Floats(1/float64(out.Scale), float64(255-zero)).Words(zero*each, off*each)
	x := emit.ReadBy(k.Access, b.In(n.In[0]), plan.FormatRGBA32U)
	w.dispatch(b, shaders.Of(k), k.Team, push, cost, x, b.Out(n.Out[0]))
}

func divideSoftmax(g *ir.Graph, n *ir.Node) []division {
	a := n.Attrs.(ops.Softmax)
	return divideLines(g, n, a.Axis, func(axis int) ops.Attrs { a.Axis = axis; return a })
}
