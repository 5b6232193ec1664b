package lower

import (
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
	register(rule{check: checkPad, lower: lowerPad, divide: dividePad}, nn.OpPad, nn.OpPadV2, nn.OpMirrorPad)
}

func checkPad(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	if hasRuntimeParam(n) {
		return checkPadRuntime(f, g, n)
	}
	in, out := g.T(n.In[0]), g.T(n.Out[0])
	pads, symmetric := paddings(n)
	if len(pads) != len(in.Shape) || len(out.Shape) != len(in.Shape) {
		return fmt.Errorf("paddings of %d dimensions for a tensor of rank %d", len(pads), len(in.Shape))
	}
	for i, p := range pads {
		if p[0] < 0 || p[1] < 0 || in.Shape[i]+p[0]+p[1] != out.Shape[i] {
			return fmt.Errorf("padding %v of %v to %v", pads, in.Shape, out.Shape)
		}
		if room := in.Shape[i]; n.Op == nn.OpMirrorPad {
			if !symmetric {
				room--
			}
			if p[0] > room || p[1] > room {
				return fmt.Errorf("%d mirrored elements of a dimension of %d", max(p[0], p[1]), in.Shape[i])
			}
		}
	}
	return checkMoved(f, g, firstInputOnly(n))
}

// paddings returns those of a PAD, PAD_V2 or MIRROR_PAD, and whether the latter repeats the edge.
func paddings(n *ir.Node) (pads [][2]int, symmetric bool) {
	if a, mirror := n.Attrs.(ops.MirrorPadding); mirror {
		return a.Pads, a.Symmetric
	}
	return n.Attrs.(ops.Padding).Pads, false
}

// number is the push constant of a flag.
func number(set bool) int {
	if set {
		return 1
	}
	return 0
}

// fillOf is the element with which node n fills tensors of type t; 0 if it mirrors.
func fillOf(n *ir.Node, t nn.OperandType) uint32 {
	if a, ok := n.Attrs.(ops.Padding); ok {
		return fillBits(t, a.Value)
	}
	return 0
}

// maxPadded is the number of dimensions that the kernels handle at once.
const maxPadded = 5

// padding is a PAD in its shortest form: neighbouring dimensions joined, the innermost kept apart because
// its rows are padded to whole quads.
type padding struct {
	shape []int // of the input
	pads  [][2]int
}

func newPadding(shape []int, pads [][2]int, mirror bool) padding {
	if len(shape) == 0 {
		return padding{[]int{1}, [][2]int{{}}}
	}
	var p padding
	last := len(shape) - 1
	for i := range shape {
		k := len(p.shape) - 1
		if i < last && k >= 0 && pads[i] == [2]int{} && (!mirror || p.pads[k] == [2]int{}) {
			// Positions of an unpadded dimension only repeat the dimensions before it.
			d := shape[i]
			p.shape[k] *= d
			p.pads[k][0] *= d
			p.pads[k][1] *= d
			continue
		}
		p.shape = append(p.shape, shape[i])
		p.pads = append(p.pads, pads[i])
	}
	return p
}

func lowerPad(b *emit.Builder, n *ir.Node) {
	if hasRuntimeParam(n) {
		lowerPadRuntime(b, n)
		return
	}
	in, out := n.In[0], n.Out[0]
	t := b.Graph.T(out)
	if b.Graph.T(in).Elements() == t.Elements() {
		b.Forward(out, in)
		return
	}
	pads, symmetric := paddings(n)
	s := padStage{mirror: n.Op == nn.OpMirrorPad, symmetric: symmetric, fill: fillOf(n, t.Type)}
	src := b.In(in)
	shape := b.Graph.T(in).Shape
	pads = slices.Clone(pads)
	// Dimensions are padded independently: what the kernel cannot do at once takes several steps.
	for {
		now := make([][2]int, len(pads))
		next := slices.Clone(shape)
		left := 0
		for i, p := range pads {
			now[i] = p
			if len(newPadding(shape, now, s.mirror).shape) > maxPadded {
				now[i] = [2]int{}
				left++
				continue
			}
			next[i] += p[0] + p[1]
			pads[i] = [2]int{}
		}
		s.padding = newPadding(shape, now, s.mirror)
		s.from, s.to = pack.LayoutOf(&ir.Tensor{Type: t.Type, Shape: shape}), pack.LayoutOf(&ir.Tensor{Type: t.Type, Shape: next})
		if left == 0 {
			padQuads(b, b.Out(out), src, &s)
			return
		}
		v := b.Temp(s.to.Bytes())
		padQuads(b, b.Write(v, plan.FormatNone), src, &s)
		src, shape = b.Read(v, plan.FormatNone), next
	}
}

// padStage is one dispatch of a padding.
type padStage struct {
	padding
	mirror, symmetric bool
	fill              uint32 // raw bits of an element
	from, to          pack.Layout
}

func padQuads(b *emit.Builder, dst, src emit.Binding, s *padStage) {
	last := len(s.shape) - 1
	before := make([]int, last)
	yDims := make([]int, last)
	for i := range before {
		before[i] = s.pads[i][0]
		yDims[i] = s.shape[i] + s.pads[i][0] + s.pads[i][1]
	}
	yDims = emit.Outermost(yDims, maxPadded-1, 1)
	place := emit.Ints(emit.Outermost(s.shape[:last], maxPadded-1, 1)...).Ints(emit.Outermost(before, maxPadded-1, 0)...)
	from, to := s.from, s.to
	if inner := s.pads[last]; inner != [2]int{} {
		count := to.TotalQuads()
		push := emit.Ints(count).Divisors(to.Quads).Divisors(yDims[1:]...).Words(place...).Ints(from.C, to.C, inner[0], 4*from.Quads)
		k := shaders.Of(family.Move{Op: family.PadLanes, Bytes: to.Elem})
		if s.mirror {
			k = shaders.Of(family.Move{Op: family.MirrorLanes, Bytes: to.Elem})
			push = push.Ints(number(s.symmetric))
		} else {
			push = push.Words(s.fill)
		}
		b.Quads(k, count, push, emit.Cost{}, src, dst)
		return
	}
	line := yDims[maxPadded-2] * to.Quads
	runs := (line + b.RunQuads() - 1) / b.RunQuads()
	count := to.TotalQuads() / line * runs
	push := emit.Ints(count, b.RunQuads()).Divisors(runs).Divisors(yDims[1 : maxPadded-2]...).Divisors(to.Quads).Ints(line).Words(place...)
	k := shaders.Of(family.Move{Op: family.PadRows, Bytes: to.Elem})
	if s.mirror {
		k = shaders.Of(family.Move{Op: family.MirrorRows, Bytes: to.Elem})
		push = push.Ints(number(s.symmetric))
	} else {
		push = push.Words(s.fill).Ints(to.C - 4*(to.Quads-1))
	}
	b.Quads(k, count, push, emit.Cost{}, src, dst)
}

// fillBits is an element of type t with the value that PAD fills with.
func fillBits(t nn.OperandType, value float64) uint32 {
	switch t {
	case nn.TensorFloat32:
		return emit.F32(value)
	case nn.TensorFloat16:
		return uint32(nn.HalfOf(value))
	}
	return uint32(int32(value)) & uint32(uint64(1)<<(8*t.Bytes())-1)
}

// dividePad divides outside of the padded dimensions, or between the rows of the input that are padded.
func dividePad(g *ir.Graph, n *ir.Node) []division {
	if hasRuntimeParam(n) {
		return nil
	}
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	at := outer(y.Shape)
	if at < 0 {
		return nil
	}
	all, _ := paddings(n)
	pads := all[at]
	if n.Op == nn.OpMirrorPad && pads != [2]int{} {
		return nil
	}
	return []division{{x.Shape[at], func(from, to int) ([]extent, ops.Attrs) {
		attrs, piece := n.Attrs, [2]int{}
		first, last := from+pads[0], to+pads[0]
		if from == 0 {
			first, piece[0] = 0, pads[0]
		}
		if to == x.Shape[at] {
			last, piece[1] = last+pads[1], pads[1]
		}
		if a, ok := attrs.(ops.Padding); ok {
			a.Pads = slices.Clone(a.Pads)
			a.Pads[at] = piece
			attrs = a
		}
		return firstAndOut(n, along(x, at, from, to), along(y, at, first, last)), attrs
	}}}
}
