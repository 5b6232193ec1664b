package lower

import (
	"fmt"
	"math"
	"slices"

	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// A node with a tensor that is larger than the device can bind is lowered in pieces: the same operation on parts of its
// tensors, each a run of memory, by the same kernels. The divide of an operation's rule says what the parts are, and
// its check whether a piece can be lowered.

// division is a way to divide a node.
type division struct {
	size int // positions, which are shared out among the pieces
	// part returns what a piece with the positions from to to has of the node's tensors, n.In before n.Out, and its
	// attributes.
	part func(from, to int) ([]extent, ops.Attrs)
}

// extent is the part of a tensor that a piece has: all of it, nothing, or a part of its memory.
type extent struct {
	whole bool
	omit  bool // the piece does not have this input
	shape []int
	at    int64 // bytes from the beginning
}

// piece is a part of the work of a node.
type piece struct {
	graph *ir.Graph // with the tensors of node only
	node  ir.Node
	from  []source // by tensor of graph
}

// source is where a tensor of a piece lies.
type source struct {
	id    ir.ID // of the divided node's graph
	at    int64 // bytes from its beginning
	whole bool
}

// oversized reports whether n binds more than the device can, in a tensor or in scratch of its own.
func oversized(f *plan.Facts, g *ir.Graph, n *ir.Node) bool {
	scratch := rules[n.Op].scratch
	return emit.Oversized(f, g, n) || scratch != nil && scratch(g, n) > f.MaxStorageRange
}

// divide returns the pieces of n, which the device cannot run as a whole because of tooLarge.
func divide(f *plan.Facts, g *ir.Graph, n *ir.Node, tooLarge error) ([]piece, error) {
	r := rules[n.Op]
	if r.divide == nil || !oversized(f, g, n) {
		return nil, tooLarge
	}
	for _, id := range slices.Concat(n.In, n.Out) { // what can only fail may fail early
		if id != ir.None && g.T(id).Const == nil && pack.LayoutOf(g.T(id)).Bytes()/emit.MaxRanges > f.MaxStorageRange {
			return nil, fmt.Errorf("%w, and the operation cannot be divided into %d parts that fit", tooLarge, emit.MaxRanges)
		}
	}
	unlimited := *f
	unlimited.MaxStorageRange = math.MaxInt64
	if err := r.check(&unlimited, g, n); err != nil {
		return nil, err
	}
	whole := piece{graph: &ir.Graph{}, node: *n}
	ids := map[ir.ID]ir.ID{}
	rename := func(list []ir.ID) []ir.ID {
		list = slices.Clone(list)
		for i, id := range list {
			if id == ir.None {
				continue
			}
			if _, ok := ids[id]; !ok {
				ids[id] = whole.graph.Add(*g.T(id))
				whole.from = append(whole.from, source{id: id, whole: true})
			}
			list[i] = ids[id]
		}
		return list
	}
	whole.node.In, whole.node.Out = rename(n.In), rename(n.Out)
	pieces, ok := whole.divide(f, nil)
	if !ok {
		return nil, fmt.Errorf("%w, and the operation cannot be divided into parts that fit", tooLarge)
	}
	return pieces, nil
}

// divide appends to list pieces that the device can run, and that do the work of p together.
func (p *piece) divide(f *plan.Facts, list []piece) ([]piece, bool) {
	r := rules[p.node.Op]
	for _, d := range r.divide(p.graph, &p.node) {
		if d.size < 2 {
			continue
		}
		fits := func(from, to int) bool {
			q := p.part(&d, from, to)
			return r.check(f, q.graph, &q.node) == nil
		}
		start := func(at int) bool {
			extents, _ := d.part(at, at+1)
			return !slices.ContainsFunc(extents, func(x extent) bool { return x.at%plan.Align != 0 })
		}
		all, ok := list, true
		runs := emit.Ranges(d.size, fits, start)
		for _, run := range runs {
			q := p.part(&d, run[0], run[1])
			if r.check(f, q.graph, &q.node) == nil {
				all = append(all, q)
			} else if run[1]-run[0] > 1 {
				ok = false
			} else if all, ok = q.divide(f, all); !ok {
				break
			}
			if ok = ok && len(all) <= emit.MaxRanges; !ok {
				break
			}
		}
		if ok && len(runs) > 0 {
			return all, true
		}
	}
	return nil, false
}

// part returns the piece of p that has the positions from to to of d.
func (p *piece) part(d *division, from, to int) piece {
	extents, attrs := d.part(from, to)
	q := piece{graph: &ir.Graph{}, node: p.node}
	q.node.Attrs = attrs
	k := 0
	take := func(list []ir.ID) (kept []ir.ID) {
		for _, id := range list {
			x := extents[k]
			k++
			if x.omit {
				continue
			}
			if id == ir.None {
				kept = append(kept, id)
				continue
			}
			t, s := *p.graph.T(id), p.from[id]
			if !x.whole {
				t.Shape, t.Const = x.shape, nil
				s = source{id: s.id, at: s.at + x.at}
			}
			kept = append(kept, q.graph.Add(t))
			q.from = append(q.from, s)
		}
		return kept
	}
	q.node.In, q.node.Out = take(p.node.In), take(p.node.Out)
	return q
}

// inPieces lowers n, which is too large as a whole.
func inPieces(b *emit.Builder, n *ir.Node, tooLarge error) error {
	pieces, err := divide(b.Facts, b.Graph, n, tooLarge)
	if err != nil {
		return err
	}
	if rules[n.Op].inPlace && b.Layout(n.In[0]).Bytes() == b.Layout(n.Out[0]).Bytes() {
		b.InPlace(n.Out[0], n.In[0])
	}
	for i := range pieces {
		p := &pieces[i]
		views := make([]emit.Value, len(p.graph.Tensors))
		for k, s := range p.from {
			switch {
			case !s.whole:
				views[k] = b.View(b.Tensor(s.id), s.at, pack.LayoutOf(p.graph.T(ir.ID(k))).Bytes())
			case b.Graph.T(s.id).Const == nil || b.Placed(s.id):
				views[k] = b.Tensor(s.id)
			} // other constants are placed, or packed, where the lowering asks for them
		}
		b.On(p.graph, views, func() { rules[n.Op].lower(b, &p.node) })
	}
	return nil
}

// along returns the positions from to to of dimension axis of t, outside of which all dimensions must be 1.
func along(t *ir.Tensor, axis, from, to int) extent {
	x := extent{shape: slices.Clone(t.Shape), at: int64(from) * int64(t.Type.Bytes())}
	x.shape[axis] = to - from
	if last := len(t.Shape) - 1; axis < last {
		x.at *= int64(ir.Product(t.Shape[axis+1:last])) * int64(pack.LayoutOf(t).Quads) * 4
	}
	return x
}

// outer returns the outermost dimension of shape that is larger than 1, or -1.
func outer(shape []int) int { return slices.IndexFunc(shape, func(d int) bool { return d > 1 }) }

// shaped is t with another shape, of the same form in memory.
func shaped(t *ir.Tensor, shape []int) *ir.Tensor {
	u := *t
	u.Shape = shape
	return &u
}

// rowsOf is t as rows, one below the other.
func rowsOf(t *ir.Tensor) *ir.Tensor {
	l := pack.LayoutOf(t)
	return shaped(t, []int{l.Rows, l.C})
}

// elementsOf is t as one row. Precondition: its layout is dense.
func elementsOf(t *ir.Tensor) *ir.Tensor { return shaped(t, []int{t.Elements()}) }
