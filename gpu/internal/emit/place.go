package emit

import (
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// Placed reports whether tensor id has memory already.
func (b *Builder) Placed(id ir.ID) bool { return b.tensors[id].id != 0 }

// Forward gives out the value of in, which has the same device layout: another name for the same memory, or a copy
// where out has its place already.
func (b *Builder) Forward(out, in ir.ID) {
	v := b.Tensor(in)
	if b.Placed(out) {
		b.Copy(b.Tensor(out), v, b.Layout(in).Bytes())
		return
	}
	b.tensors[out] = v
	b.shared[v.id] = true
}

// InPlace gives out the memory of in, which the node that is being lowered reads for the last time, if no other tensor
// shares that memory and it is neither an input nor an output. Every invocation must then write only the quad that it
// has read. Precondition: both have the same layout.
func (b *Builder) InPlace(out, in ir.ID) {
	v := b.tensors[in]
	if v.id == 0 || b.Placed(out) || b.shared[v.id] || b.uses()[in] != 1 {
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

// View returns size bytes of v from offset on, a multiple of plan.Align, as a value of its own: what is written to
// it is written to v.
func (b *Builder) View(v Value, offset, size int64) Value {
	p := b.newValue(b.values[v.id].buffer, size, offset)
	b.values[p.id].parent = v.id
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

// PlaceIn lets tensor id, which is not placed yet, lie in tensor of, from byte at on, a multiple of plan.Align.
func (b *Builder) PlaceIn(id, of ir.ID, at int64) {
	v := b.Tensor(of)
	b.tensors[id] = b.View(v, at, b.Layout(id).Bytes())
	b.shared[v.id] = true
}

// LiesIn reports whether tensor id already lies in tensor of, from byte at on.
func (b *Builder) LiesIn(id, of ir.ID, at int64) bool {
	if !b.Placed(id) || !b.Placed(of) {
		return false
	}
	part, offset := b.root(b.tensors[id])
	whole, from := b.root(b.tensors[of])
	return part == whole && offset == from+at
}

// On lets do append the steps of nodes of another graph, whose tensors have these values; a zero one is placed at first
// use.
func (b *Builder) On(g *ir.Graph, tensors []Value, do func()) {
	graph, own := b.Graph, b.tensors
	defer func() { b.Graph, b.tensors = graph, own }()
	b.Graph, b.tensors = g, tensors
	do()
}
