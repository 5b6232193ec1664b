package lower

import (
	"cmp"
	"fmt"
	"slices"

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
	register(rule{check: checkGather, lower: lowerGather, divide: divideGather}, nn.OpGather)
	register(rule{check: checkHashtable, lower: lowerHashtable, divide: divideHashtable}, nn.OpHashtableLookup)
}

func checkGather(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	x, index, y, axis := g.T(n.In[0]), g.T(n.In[1]), g.T(n.Out[0]), n.Attrs.(ops.Gather).Axis
	if axis < 0 || axis >= len(x.Shape) || len(index.Shape) == 0 || index.Type != nn.TensorInt32 {
		return fmt.Errorf("%v %v along axis %d of %v", index.Type, index.Shape, axis, x.Shape)
	}
	if want := slices.Concat(x.Shape[:axis], index.Shape, x.Shape[axis+1:]); !slices.Equal(y.Shape, want) {
		return fmt.Errorf("%v by indices %v along axis %d gives %v, not %v", x.Shape, index.Shape, axis, want, y.Shape)
	}
	if !y.SameQuant(x) {
		return fmt.Errorf("the result has another scale or zero point")
	}
	return cmp.Or(checkMoved(f, g, firstInputOnly(n)), emit.CheckTensors(f, g, n))
}

func lowerGather(b *emit.Builder, n *ir.Node) {
	x, index, axis := b.Graph.T(n.In[0]), b.Layout(n.In[1]), n.Attrs.(ops.Gather).Axis
	if axis < len(x.Shape)-1 {
		gatherRows(b, b.Out(n.Out[0]), b.In(n.In[0]), b.In(n.In[1]), x, index, axis, false)
		return
	}
	from := b.Layout(n.In[0])
	run := min(b.RunQuads(), from.Rows) // rows per lookup of a place
	count := (from.Rows + run - 1) / run * index.TotalQuads()
	push := emit.Ints(count, run, from.Rows).Divisors(index.TotalQuads(), index.Quads).Ints(index.C, from.Quads*from.Elem, from.C)
	k, _ := emit.Choose(b, emit.QuadLocal, func(k family.Move) (float64, string) {
		if k.Op != family.GatherLanes || k.Bytes != from.Elem {
			return 0, ""
		}
		// Texels of one word are slower than words where subgroups are narrow.
		if k.Access != family.Buffers && b.Facts.SubgroupSize < 8 {
			return 0, ""
		}
		return b.MoveSpeed(k.Access, b.Tensor(n.In[0]), plan.FormatR32U), ""
	})
	b.Quads(shaders.Of(k), count, push, emit.Cost{},
		emit.ReadBy(k.Access, b.In(n.In[0]), plan.FormatR32U), b.In(n.In[1]), b.Out(n.Out[0]))
}

// gatherRows takes positions along an axis of x before its innermost one, by indices in layout l; missing: those
// outside give zeros.
func gatherRows(b *emit.Builder, dst, src, indices emit.Binding, x *ir.Tensor, l pack.Layout, axis int, missing bool) {
	from, last := pack.LayoutOf(x), len(x.Shape)-1
	unit, inner := from.Elem, ir.Product(x.Shape[axis+1:last])*from.Quads
	for unit < 4 && inner%2 == 0 {
		unit, inner = 2*unit, inner/2
	}
	all, zero := l.Rows*l.C, 0
	if missing {
		zero = 1
	}
	run := b.PlaceQuads()
	runs := (inner + run - 1) / run
	count := ir.Product(x.Shape[:axis]) * all * runs
	push := emit.Ints(count, run).Divisors(runs, all, l.C).Ints(4*l.Quads, inner, x.Shape[axis], zero)
	moved := float64(ir.Product(x.Shape[:axis])*all*inner) * float64(4*unit)
	k, _ := emit.Choose(b, emit.QuadLocal, func(k family.GatherRows) (float64, string) {
		if k.Words != unit {
			return 0, ""
		}
		return b.MoveSpeed(k.Access, src.Value, plan.FormatRGBA32U), ""
	})
	src = emit.ReadBy(k.Access, src, plan.FormatRGBA32U)
	b.Quads(shaders.Of(k), count, push, emit.Cost{Bytes: 2 * moved}, src, indices, dst)
}

// divideGather divides along the outermost dimension: one before the axis, or that of the indices.
func divideGather(g *ir.Graph, n *ir.Node) []division {
	x, index, y, axis := g.T(n.In[0]), g.T(n.In[1]), g.T(n.Out[0]), n.Attrs.(ops.Gather).Axis
	at := outer(y.Shape)
	if at < 0 || at >= axis+len(index.Shape) {
		return nil
	}
	return []division{{y.Shape[at], func(from, to int) ([]extent, ops.Attrs) {
		extents := []extent{{whole: true}, {whole: true}, along(y, at, from, to)}
		if at < axis {
			extents[0] = along(x, at, from, to)
		} else {
			extents[1] = along(index, at-axis, from, to)
		}
		return extents, n.Attrs
	}}}
}

func checkHashtable(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	lookups, keys, values, y, hits := g.T(n.In[0]), g.T(n.In[1]), g.T(n.In[2]), g.T(n.Out[0]), g.T(n.Out[1])
	if lookups.Type != nn.TensorInt32 || keys.Type != nn.TensorInt32 || hits.Type.Bytes() != 1 {
		return fmt.Errorf("lookups of %v, keys of %v, hits of %v", lookups.Type, keys.Type, hits.Type)
	}
	if len(lookups.Shape) != 1 || !slices.Equal(hits.Shape, lookups.Shape) || len(values.Shape) < 2 ||
		!slices.Equal(keys.Shape, values.Shape[:1]) || !slices.Equal(y.Shape, slices.Concat(lookups.Shape, values.Shape[1:])) {
		return fmt.Errorf("lookups %v, keys %v, values %v, result %v, hits %v", lookups.Shape, keys.Shape, values.Shape, y.Shape, hits.Shape)
	}
	if values.Type != y.Type || !y.SameQuant(values) {
		return fmt.Errorf("the result has another type, scale or zero point")
	}
	if e := y.Type.Bytes(); e != 1 && e != 2 && e != 4 {
		return fmt.Errorf("elements of %v cannot be moved", y.Type)
	}
	return emit.CheckTensors(f, g, n)
}

// divideHashtable divides among lookups; keys and values stay whole.
func divideHashtable(g *ir.Graph, n *ir.Node) []division {
	return divideWithout(g, n, func(i int) bool { return i == 1 || i == 2 })
}

// lowerHashtable finds where the keys lie, then gathers.
func lowerHashtable(b *emit.Builder, n *ir.Node) {
	l := b.Layout(n.In[0])
	index := b.Temp(l.Bytes())
	b.Quads(shaders.DataHashtable, l.TotalQuads(), emit.Ints(l.TotalQuads(), b.Layout(n.In[1]).C), emit.Cost{},
		b.In(n.In[0]), b.In(n.In[1]), b.Write(index, plan.FormatNone), b.Out(n.Out[1]))
	gatherRows(b, b.Out(n.Out[0]), b.In(n.In[2]), b.Read(index, plan.FormatNone), b.Graph.T(n.In[2]), l, 0, true)
}
