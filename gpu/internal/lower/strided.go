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
	register(rule{check: checkStrided, lower: lowerStrided, divide: divideStrided}, nn.OpStridedSlice, nn.OpTile)
}

// walk says where along a dimension of the input the positions of the output lie: position p at first + p%size*step.
type walk struct{ times, size, first, step int }

// still is the walk along all n positions of a dimension.
func still(n int) walk { return walk{times: 1, size: n, step: 1} }

// walks are those of a STRIDED_SLICE or TILE, nil if the rank of the attributes is not that of the input.
func walks(g *ir.Graph, n *ir.Node) []walk {
	shape := g.T(n.In[0]).Shape
	list := make([]walk, len(shape))
	switch a := n.Attrs.(type) {
	case ops.StridedSlice:
		if len(a.Begin) != len(shape) || len(a.Stride) != len(shape) || len(a.Size) != len(shape) {
			return nil
		}
		for i := range list {
			list[i] = walk{1, a.Size[i], a.Begin[i], a.Stride[i]}
		}
	case ops.Tile:
		if len(a.Multiples) != len(shape) {
			return nil
		}
		for i := range list {
			list[i] = still(shape[i])
			list[i].times = a.Multiples[i]
		}
	}
	return list
}

func checkStrided(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	in, out, list := g.T(n.In[0]), g.T(n.Out[0]), walks(g, n)
	if len(in.Shape) == 0 || len(list) != len(in.Shape) {
		return fmt.Errorf("%+v of %v", n.Attrs, in.Shape)
	}
	elements := out.Elements() // that are left for the dimensions that follow
	for i, w := range list {
		size := in.Shape[i]
		inside := w.size >= 1 && w.times >= 1 && w.size <= elements && w.times <= elements/w.size && w.first >= 0 && w.first < size
		if room := size - 1 - w.first; inside && w.size > 1 {
			if w.step < 0 {
				room = w.first
			}
			inside = w.step != 0 && room/(w.size-1) >= max(w.step, -w.step)
		}
		if !inside {
			return fmt.Errorf("%+v of %v to %v", n.Attrs, in.Shape, out.Shape)
		}
		elements /= w.size * w.times
	}
	full := walked(in, list)
	if dropped := len(out.Shape) < len(in.Shape) && n.Op == nn.OpStridedSlice; full.Elements() != out.Elements() ||
		!dropped && !slices.Equal(full.Shape, out.Shape) {
		return fmt.Errorf("%+v of %v to %v", n.Attrs, in.Shape, out.Shape)
	}
	if l := pack.LayoutOf(full); !emit.Bindable(f, l) {
		return fmt.Errorf("%d bytes before dimensions are dropped, more than the device binds", l.Bytes())
	}
	if !out.SameQuant(in) {
		return fmt.Errorf("the result has another scale or zero point")
	}
	return checkMoved(f, g, n)
}

// walked is a tensor like t, of the shape that the walks take of it.
func walked(t *ir.Tensor, list []walk) *ir.Tensor {
	shape := make([]int, len(list))
	for i, w := range list {
		shape[i] = w.times * w.size
	}
	return shaped(t, shape)
}

// maxWalked is the number of dimensions before the innermost that the kernels handle at once.
const maxWalked = 4

// walkedRows are the rows of a tensor that a walk takes, as a walk over fewer dimensions: the positions of each, and
// the distance of neighbours in rows of the input; first is the first of the rows.
func walkedRows(shape []int, list []walk) (dims, steps []int, first int) {
	pitch := ir.Product(shape)
	for i, w := range list[:len(list)-1] {
		pitch /= shape[i]
		inner := pitch / shape[len(shape)-1]
		first += w.first * inner
		for _, d := range [2][2]int{{w.times, 0}, {w.size, w.step * inner}} {
			k := len(dims) - 1
			switch {
			case d[0] == 1:
			case k >= 0 && steps[k] == d[0]*d[1]:
				dims[k], steps[k] = dims[k]*d[0], d[1]
			default:
				dims, steps = append(dims, d[0]), append(steps, d[1])
			}
		}
	}
	return dims, steps, first
}

// lowerStrided walks along as many dimensions at once as a kernel can: they do not depend on each other. Where a slice
// drops the innermost dimension, a last step turns rows of one element into others.
func lowerStrided(b *emit.Builder, n *ir.Node) {
	t, left := b.Graph.T(n.In[0]), walks(b.Graph, n)
	full, to := pack.LayoutOf(walked(t, left)), b.Layout(n.Out[0])
	if slices.Equal(left, stills(t.Shape)) {
		reshapeTensor(b, n.Out[0], n.In[0])
		return
	}
	if movesNothing(to, full) {
		walkAll(b, b.Tensor(n.Out[0]), b.In(n.In[0]), t, left)
		return
	}
	v := b.Temp(full.Bytes())
	walkAll(b, v, b.In(n.In[0]), t, left)
	b.Reshape(b.Tensor(n.Out[0]), v, to, full)
}

// walkAll copies what the walks in left take of a tensor like t.
func walkAll(b *emit.Builder, dst emit.Value, src emit.Binding, t *ir.Tensor, left []walk) {
	for {
		now, more := stills(t.Shape), false
		for i, w := range left {
			now[i] = w
			if rows, _, _ := walkedRows(t.Shape, now); len(rows) > maxWalked {
				now[i], more = still(t.Shape[i]), true
			} else {
				left[i] = still(w.times * w.size)
			}
		}
		if !more {
			walkQuads(b, b.Write(dst, plan.FormatNone), src, t, now)
			return
		}
		next := walked(t, now)
		v := b.Temp(pack.LayoutOf(next).Bytes())
		walkQuads(b, b.Write(v, plan.FormatNone), src, t, now)
		src, t = b.Read(v, plan.FormatNone), next
	}
}

// stills are the walks that leave a shape as it is.
func stills(shape []int) []walk {
	list := make([]walk, len(shape))
	for i, n := range shape {
		list[i] = still(n)
	}
	return list
}

// walkQuads copies what the walks take of a tensor like t, in whole quads if it can.
func walkQuads(b *emit.Builder, dst, src emit.Binding, t *ir.Tensor, list []walk) {
	from := pack.LayoutOf(t)
	dims, steps, first := walkedRows(t.Shape, list)
	w := list[len(list)-1]
	y := w.times * w.size
	quads := (y + 3) / 4
	if w.step == 1 && w.first%4 == 0 && (w.size%4 == 0 || w.times == 1 && w.first+w.size == from.C) {
		s := emit.Strided{FromBase: first*from.Quads + w.first/4, Elem: from.Elem}
		s.Dims = append(slices.Clone(dims), w.times, (w.size+3)/4)
		for _, step := range steps {
			s.From = append(s.From, step*from.Quads)
		}
		s.From = append(s.From, 0, 1)
		s.To = make([]int, len(s.Dims))
		for i, to := len(s.Dims)-1, 1; i >= 0; i-- {
			s.To[i] = to
			to *= s.Dims[i]
		}
		b.CopyQuads(dst, src, s)
		return
	}
	pitch := 4 * from.Quads
	for i := range steps {
		steps[i] *= pitch
	}
	count := ir.Product(dims) * quads
	push := emit.Ints(count).Divisors(quads).Divisors(emit.Outermost(dims, maxWalked, 1)[1:]...)
	push = push.Ints(emit.Outermost(steps, maxWalked, 0)...).Ints(first*pitch+w.first, y).Divisors(w.size).Ints(w.step)
	b.Quads(shaders.Of(family.Move{Op: family.Strided, Bytes: from.Elem}), count, push, emit.Cost{}, src, dst)
}

// divideStrided divides along the outermost dimension: between repetitions, or between positions, where each piece
// reads a run of the input.
func divideStrided(g *ir.Graph, n *ir.Node) []division {
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	at := outer(y.Shape)
	if at < 0 || len(y.Shape) != len(x.Shape) || outer(x.Shape) >= 0 && outer(x.Shape) < at {
		return nil
	}
	w := walks(g, n)[at]
	if a, ok := n.Attrs.(ops.Tile); ok && w.times > 1 {
		return []division{{w.times, func(from, to int) ([]extent, ops.Attrs) {
			a := ops.Tile{Multiples: slices.Clone(a.Multiples)}
			a.Multiples[at] = to - from
			return []extent{{whole: true}, along(y, at, from*w.size, to*w.size)}, a
		}}}
	}
	return []division{{w.size, func(from, to int) ([]extent, ops.Attrs) {
		low, high := w.first+from*w.step, w.first+(to-1)*w.step
		first := low
		low, high = min(low, high), max(low, high)
		for along(x, at, low, high).at%plan.Align != 0 {
			low--
		}
		attrs := n.Attrs
		if a, ok := attrs.(ops.StridedSlice); ok {
			a = ops.StridedSlice{Begin: slices.Clone(a.Begin), Stride: a.Stride, Size: slices.Clone(a.Size)}
			a.Begin[at], a.Size[at] = first-low, to-from
			attrs = a
		}
		return []extent{along(x, at, low, high+1), along(y, at, from, to)}, attrs
	}}}
}
