package lower

import (
	"fmt"
	"math"
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
	register(rule{check: checkConcat, lower: lowerConcat, divide: divideConcat}, nn.OpConcatenation)
}

func checkConcat(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	out := g.T(n.Out[0])
	axis, sum := n.Attrs.(ops.Concatenation).Axis, 0
	if axis < 0 || axis >= len(out.Shape) {
		return fmt.Errorf("axis %d of a tensor of rank %d", axis, len(out.Shape))
	}
	for _, id := range n.In {
		in := g.T(id)
		if len(in.Shape) != len(out.Shape) {
			return fmt.Errorf("inputs of rank %d and %d", len(in.Shape), len(out.Shape))
		}
		for i, d := range in.Shape {
			if i != axis && d != out.Shape[i] {
				return fmt.Errorf("an input of shape %v for an output of %v", in.Shape, out.Shape)
			}
		}
		sum += in.Shape[axis]
		if err := checkScales(in, out); err != nil {
			return err
		}
		if !out.Type.IsQuant8() && !in.SameQuant(out) {
			return fmt.Errorf("inputs of %v with different scales", out.Type)
		}
	}
	if sum != out.Shape[axis] {
		return fmt.Errorf("the inputs have %d positions along axis %d, the output %d", sum, axis, out.Shape[axis])
	}
	return checkMoved(f, g, n)
}

// rescale appends the 8-bit tensor in with the scale and zero point of out to dst, which has its layout. In
// float32, from TensorFlow Lite's reference_ops::ConcatenationWithScaling.
func rescale(b *emit.Builder, dst emit.Value, in ir.ID, out *ir.Tensor) {
	t := b.Graph.T(in)
	lo, hi := pack.TypeRange(out.Type)
	scale := t.Scale * (1 / out.Scale)
	bias := float32(-t.Zero) * scale
	lookUp(b, t.Type, b.Write(dst, plan.FormatNone), b.In(in), b.Layout(in).TotalQuads(), emit.Cost{}, func(q int32) int32 {
		product := float32(q) * scale // a variable of its own, so that it is not fused with the sum
		v := math.Round(float64(product+bias)) + float64(out.Zero)
		return int32(min(max(v, float64(lo)), float64(hi)))
	})
}

// PlaceConcats lets the producers of a concatenation's inputs write to their places in its output, where these are
// whole runs of memory: behind dimensions of 1, before the innermost. It comes between Builder.PlaceIO and the nodes;
// lowerConcat copies what it cannot place.
func PlaceConcats(b *emit.Builder) {
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
		if axis == len(out.Shape)-1 || ir.Product(out.Shape[:axis]) != 1 {
			continue
		}
		position := int64(ir.Product(out.Shape[axis+1:len(out.Shape)-1])) * int64(l.Quads) * int64(4*l.Elem) // bytes
		at := int64(0)
		for k, id := range n.In {
			in, size := g.T(id), b.Layout(id).Bytes()
			free := made[id] && !b.Placed(id) && !slices.Contains(g.Outputs, id) && !slices.Contains(n.In[:k], id)
			if free && at%plan.Align == 0 && in.SameQuant(out) && size == int64(in.Shape[axis])*position {
				b.PlaceIn(id, n.Out[0], at)
			}
			at += int64(in.Shape[axis]) * position
		}
	}
}

// lowerConcat copies the inputs that PlaceConcats left, one after the other, to their places. Along the innermost
// dimension a quad of the output can hold elements of several inputs: each step keeps what the steps before it wrote.
func lowerConcat(b *emit.Builder, n *ir.Node) {
	out := b.Graph.T(n.Out[0])
	l := b.Layout(n.Out[0])
	axis := n.Attrs.(ops.Concatenation).Axis
	inner := axis == len(out.Shape)-1
	to := b.Out(n.Out[0])
	if !inner || !slices.ContainsFunc(n.In, func(id ir.ID) bool { return b.Layout(id).C%4 != 0 }) {
		to.Apart = b.Apart()
	}
	at := 0 // positions along the axis
	for _, id := range n.In {
		in := b.Graph.T(id)
		if !inner && b.LiesIn(id, n.Out[0], int64(at*ir.Product(out.Shape[axis+1:len(out.Shape)-1])*l.Quads*4*l.Elem)) {
			at += in.Shape[axis]
			continue
		}
		src := b.In(id)
		if out.Type.IsQuant8() && !in.SameQuant(out) {
			v := b.Temp(b.Layout(id).Bytes())
			rescale(b, v, id, out)
			src = b.Read(v, plan.FormatNone)
		}
		from := b.Layout(id)
		switch {
		case inner && at%4 != 0:
			concatUnaligned(b, to, src, l, from, at)
		case inner:
			b.CopyQuads(to, src, emit.Strided{
				Dims: []int{l.Rows, from.Quads}, From: []int{from.Quads, 1}, To: []int{l.Quads, 1},
				ToBase: at / 4, Elem: l.Elem,
			})
		default:
			// Everything behind the axis is one run.
			tail := ir.Product(out.Shape[axis+1:len(out.Shape)-1]) * l.Quads
			run := in.Shape[axis] * tail
			b.CopyQuads(to, src, emit.Strided{
				Dims: []int{ir.Product(out.Shape[:axis]), run}, From: []int{run, 1}, To: []int{out.Shape[axis] * tail, 1},
				ToBase: at * tail, Elem: l.Elem,
			})
		}
		at += in.Shape[axis]
	}
}

// concatUnaligned places the rows of src at element `at` of the rows of dst.
func concatUnaligned(b *emit.Builder, dst, src emit.Binding, to, from pack.Layout, at int) {
	skip := at % 4
	touched := (skip + from.C + 3) / 4
	count := to.Rows * touched
	push := emit.Ints(count).Divisors(touched).Ints(from.C, from.Quads, to.Quads, at/4, skip)
	k := shaders.Of(family.Move{Op: family.Concat, Bytes: to.Elem})
	moved := float64(count) * float64(to.Elem) * 4
	b.Quads(k, count, push, emit.Cost{Bytes: 2 * moved}, src, dst)
}

// divideConcat divides outside of the axis, or along it if it is outermost: between inputs, then within one.
func divideConcat(g *ir.Graph, n *ir.Node) []division {
	list := operands(g, n)
	out := list[len(list)-1]
	at, axis := outer(out.Shape), n.Attrs.(ops.Concatenation).Axis
	switch {
	case at < 0:
		return nil
	case at == axis && len(n.In) > 1:
		return []division{{len(n.In), func(from, to int) ([]extent, ops.Attrs) {
			extents := make([]extent, len(list))
			first, last := 0, 0 // along the axis
			for i, t := range list[:len(n.In)] {
				if i < to {
					last += t.Shape[axis]
				}
				if i < from {
					first = last
				}
				extents[i] = extent{whole: true, omit: i < from || i >= to}
			}
			extents[len(n.In)] = along(out, axis, first, last)
			return extents, n.Attrs
		}}}
	}
	return alike(n.Attrs, cuts(list, at)...)
}
