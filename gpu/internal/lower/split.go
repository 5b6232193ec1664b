package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

func init() {
	register(rule{check: checkSplit, lower: lowerSplit}, nn.OpSplit)
}

func checkSplit(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	in, axis := g.T(n.In[0]), n.Attrs.(ops.Split).Axis
	if axis < 0 || axis >= len(in.Shape) {
		return fmt.Errorf("axis %d of a tensor of rank %d", axis, len(in.Shape))
	}
	first := g.T(n.Out[0])
	for _, id := range n.Out {
		out := g.T(id)
		if out.Type != in.Type || !out.SameQuant(in) || len(out.Shape) != len(in.Shape) {
			return fmt.Errorf("%v of shape %v is no part of %v of shape %v", out.Type, out.Shape, in.Type, in.Shape)
		}
		for i, d := range out.Shape {
			if i != axis && d != in.Shape[i] || d != first.Shape[i] {
				return fmt.Errorf("a part of shape %v of %v", out.Shape, in.Shape)
			}
		}
	}
	if len(n.Out)*first.Shape[axis] != in.Shape[axis] {
		return fmt.Errorf("%d parts of %v of %v", len(n.Out), first.Shape, in.Shape)
	}
	if axis == len(in.Shape)-1 {
		rows := partRows(in, len(n.Out))
		if l := pack.LayoutOf(&rows); !emit.Bindable(f, l) {
			return fmt.Errorf("parts of rows in %d bytes, more than the device binds", l.Bytes())
		}
	}
	return checkMoved(f, g, n)
}

// partRows is t with each row cut into n, so that each part of a row is one.
func partRows(t *ir.Tensor, n int) ir.Tensor {
	last := len(t.Shape) - 1
	return ir.Tensor{Type: t.Type, Shape: []int{ir.Product(t.Shape[:last]) * n, t.Shape[last] / n}}
}

// lowerSplit lets parts lie where they are, if each is a run of memory that can be bound; otherwise it copies them, in
// runs of whole quads. Parts of rows become rows first, unless they are whole quads.
func lowerSplit(b *emit.Builder, n *ir.Node) {
	in, axis := b.Graph.T(n.In[0]), n.Attrs.(ops.Split).Axis
	if len(n.Out) == 1 {
		b.Forward(n.Out[0], n.In[0])
		return
	}
	l, src, last := b.Layout(n.In[0]), b.In(n.In[0]), len(in.Shape)-1
	count, run := ir.Product(in.Shape[:axis]), 0 // parts of one tensor, quads of each
	if axis == last {
		rows := partRows(in, len(n.Out))
		to := pack.LayoutOf(&rows)
		count, run = l.Rows, to.Quads
		if to.C%4 != 0 {
			v := b.Temp(to.Bytes())
			b.Reshape(v, b.Tensor(n.In[0]), to, l)
			src = b.Read(v, plan.FormatNone)
		}
	} else {
		run = b.Graph.T(n.Out[0]).Shape[axis] * ir.Product(in.Shape[axis+1:last]) * l.Quads
	}
	size := int64(run * 4 * l.Elem)
	for i, id := range n.Out {
		if count == 1 && axis < last && size%plan.Align == 0 && !b.Placed(id) {
			b.PlaceIn(id, n.In[0], int64(i)*size)
			continue
		}
		b.CopyQuads(b.Out(id), src, emit.Strided{
			Dims: []int{count, run}, From: []int{len(n.Out) * run, 1}, To: []int{run, 1}, FromBase: i * run, Elem: l.Elem,
		})
	}
}
