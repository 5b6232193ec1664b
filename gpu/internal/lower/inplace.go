package lower

import (
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// part returns size bytes of v from offset on, a multiple of plan.Align, as a value of its own: what is written to
// it is written to v.
func (b *Builder) part(v Value, offset, size int64) Value {
	p := b.newValue(b.values[v.id].buffer, size, offset)
	b.values[p.id].parent = v.id
	b.shared[v.id] = true
	return p
}

// root returns the value whose memory v is in, and where in it v begins.
func (b *Builder) root(v Value) (id int, offset int64) {
	id = v.id
	for b.values[id].parent != 0 {
		offset += b.values[id].offset
		id = b.values[id].parent
	}
	return id, offset
}

// PlaceConcats lets the producers of a concatenation's inputs write to their places in its output, where these are
// whole runs of memory: behind dimensions of 1, before the innermost. It comes between PlaceIO and the nodes; what it
// cannot place lowerConcat copies.
func (b *Builder) PlaceConcats() {
	g := b.Graph
	made := map[ir.ID]bool{} // by a node
	for i := range g.Nodes {
		for _, id := range g.Nodes[i].Out {
			made[id] = true
		}
	}
	for i := len(g.Nodes) - 1; i >= 0; i-- { // outer ones first, so that their parts can have parts
		n := &g.Nodes[i]
		if n.Op != nn.OpConcatenation {
			continue
		}
		out, l := g.T(n.Out[0]), b.Layout(n.Out[0])
		axis := n.Attrs.(ops.Concatenation).Axis
		if axis == len(out.Shape)-1 || product(out.Shape[:axis]) != 1 {
			continue
		}
		position := int64(product(out.Shape[axis+1:len(out.Shape)-1])) * int64(l.Quads) * int64(4*l.Elem) // bytes
		at := int64(0)
		for k, id := range n.In {
			in, size := g.T(id), b.Layout(id).Bytes()
			free := made[id] && b.tensors[id].id == 0 && !slices.Contains(g.Outputs, id) && !slices.Contains(n.In[:k], id)
			if free && at%plan.Align == 0 && in.SameQuant(out) && size == int64(in.Shape[axis])*position {
				b.tensors[id] = b.part(b.Tensor(n.Out[0]), at, size)
			}
			at += int64(in.Shape[axis]) * position
		}
	}
}

// isPart reports whether tensor in already lies at offset of tensor out.
func (b *Builder) isPart(in, out ir.ID, offset int64) bool {
	v, w := b.tensors[in], b.tensors[out]
	if v.id == 0 || w.id == 0 {
		return false
	}
	id, at := b.root(v)
	of, from := b.root(w)
	return id == of && at == from+offset
}

// inPlace gives out the memory of in, which the node that is being lowered reads for the last time, where that is
// legal: nobody else has a name for it, and it is the model's own. Then every invocation must have read the quad that
// it writes, and no other. Precondition: both have the same layout.
func (b *Builder) inPlace(out, in ir.ID) {
	v := b.tensors[in]
	if v.id == 0 || !b.CanAlias(out) || b.shared[v.id] || b.uses()[in] != 1 {
		return
	}
	if x := &b.values[v.id]; x.buffer == plan.Arena && x.of == 0 && x.parent == 0 {
		b.tensors[out] = v
	}
}

// uses is ir.Graph.Uses of the whole graph.
func (b *Builder) uses() []int {
	if b.readers == nil {
		b.readers = b.Graph.Uses()
	}
	return b.readers
}
