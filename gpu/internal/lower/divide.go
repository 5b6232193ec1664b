package lower

import (
	"slices"

	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// operands returns the tensors of n, nil for those left off.
func operands(g *ir.Graph, n *ir.Node) []*ir.Tensor {
	var list []*ir.Tensor
	for _, id := range slices.Concat(n.In, n.Out) {
		if id == ir.None {
			list = append(list, nil)
		} else {
			list = append(list, g.T(id))
		}
	}
	return list
}

// cut is a tensor that is divided along a dimension, outside of which all dimensions are 1.
type cut struct {
	t    *ir.Tensor
	axis int
}

// cuts are the cuts of all tensors of list along one dimension.
func cuts(list []*ir.Tensor, axis int) []cut {
	all := make([]cut, len(list))
	for i, t := range list {
		all[i] = cut{t, axis}
	}
	return all
}

// alike divides a node into pieces that have the same positions of each of its tensors.
func alike(attrs ops.Attrs, all ...cut) []division {
	return []division{{all[0].t.Shape[all[0].axis], func(from, to int) ([]extent, ops.Attrs) {
		extents := make([]extent, len(all))
		for i, c := range all {
			extents[i] = along(c.t, c.axis, from, to)
		}
		return extents, attrs
	}}}
}

// divideElementwise divides a node whose tensors have one layout, and each element of whose output depends only on
// those at its place: anywhere if nothing is padded, else between rows.
func divideElementwise(g *ir.Graph, n *ir.Node) []division {
	if l := pack.LayoutOf(g.T(n.In[0])); l.Dense() {
		return divideAs(g, n, elementsOf)
	}
	return divideRows(g, n)
}

// divideRows divides a node between rows, of which all of its tensors have the same number.
func divideRows(g *ir.Graph, n *ir.Node) []division { return divideAs(g, n, rowsOf) }

// divideAs divides a node along the outermost dimension that all of its tensors have in the given shape.
func divideAs(g *ir.Graph, n *ir.Node, shape func(*ir.Tensor) *ir.Tensor) []division {
	list := operands(g, n)
	for i := range list {
		list[i] = shape(list[i])
	}
	return alike(n.Attrs, cuts(list, 0)...)
}

// divideBinary divides a node that broadcasts its operands to the shape of its output.
func divideBinary(g *ir.Graph, n *ir.Node) []division {
	list := operands(g, n)
	z := list[2]
	l := pack.LayoutOf(z)
	sameAsOutput := func(t *ir.Tensor) bool { u := pack.LayoutOf(t); return u.Rows == l.Rows && u.C == l.C }
	switch {
	case sameAsOutput(list[0]) && sameAsOutput(list[1]):
		return divideElementwise(g, n)
	case l.Rows > 1 && slices.IndexFunc(list, func(t *ir.Tensor) bool { return !sameAsOutput(t) && pack.LayoutOf(t).Rows != 1 }) < 0:
		for i := range list {
			list[i] = rowsOf(list[i])
		}
		z = list[2]
	}
	axis := outer(z.Shape)
	if axis < 0 {
		return nil
	}
	return []division{{z.Shape[axis], func(from, to int) ([]extent, ops.Attrs) {
		extents := make([]extent, len(list))
		for i, t := range list {
			k := axis - (len(z.Shape) - len(t.Shape))
			if k < 0 || t.Shape[k] == 1 {
				extents[i] = extent{shape: t.Shape}
				continue
			}
			extents[i] = along(t, k, from, to)
		}
		return extents, n.Attrs
	}}}
}

// divideLines divides a node that computes lines along an axis: between rows if these are the lines, else outside of
// the axis. attrs are those of the node with another axis.
func divideLines(g *ir.Graph, n *ir.Node, axis int, attrs func(axis int) ops.Attrs) []division {
	x, y := g.T(n.In[0]), shaped(g.T(n.Out[0]), g.T(n.In[0]).Shape)
	at := outer(x.Shape)
	if axis == len(x.Shape)-1 {
		x, y = rowsOf(x), rowsOf(y)
		at, axis = 0, 1
	} else if at < 0 || at == axis {
		return nil
	}
	return alike(attrs(axis), cut{x, at}, cut{y, at})
}

// divideImages divides between images; parameters stay whole.
func divideImages(g *ir.Graph, n *ir.Node) []division {
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	return []division{{y.Shape[0], func(from, to int) ([]extent, ops.Attrs) {
		return firstAndOut(n, along(x, 0, from, to), along(y, 0, from, to)), n.Attrs
	}}}
}

// firstAndOut returns the extents of a node whose first input and only output are divided.
func firstAndOut(n *ir.Node, x, y extent) []extent {
	list := []extent{x}
	for range n.In[1:] {
		list = append(list, extent{whole: true})
	}
	return append(list, y)
}

// windows is where the windows of a row of the output lie, in rows of the input.
type windows struct {
	in, out              int // rows of both
	reach, stride, above int // rows that a window spans; rows of padding above the first
}

// divideWindows divides a node over images, [N, H, W, C], between images and between rows of an image. A part of the
// input begins where a binding may, at or above the first row that is needed: the padding is reduced accordingly, and
// may be negative.
func divideWindows(g *ir.Graph, n *ir.Node, w windows) []division {
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	if x.Shape[0] != 1 {
		return divideImages(g, n)
	}
	unit := alignedRows(x)
	return []division{{w.out, func(from, to int) ([]extent, ops.Attrs) {
		start := from*w.stride - w.above
		end := (to-1)*w.stride - w.above + w.reach
		first := min(max(start, 0), w.in-1) / unit * unit
		last := max(min(end, w.in), first+1)
		attrs := n.Attrs.(ops.Windowed)
		pad := attrs.Padding()
		pad.Top, pad.Bottom = first-start, max(end-last, 0)
		return firstAndOut(n, along(x, 1, first, last), along(y, 1, from, to)), attrs.WithPadding(pad)
	}}}
}

// alignedRows is the number of rows of image x between places where a binding may begin: a power of two, as plan.Align is.
func alignedRows(x *ir.Tensor) int {
	row, unit := along(x, 1, 1, 2).at, 1 // bytes
	for int64(unit)*row%plan.Align != 0 {
		unit *= 2
	}
	return unit
}

// divideTransposed is divideWindows for a node whose windows lie in the output.
func divideTransposed(g *ir.Graph, n *ir.Node, w windows) []division {
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	if x.Shape[0] != 1 {
		return divideImages(g, n)
	}
	unit := alignedRows(x)
	return []division{{w.out, func(from, to int) ([]extent, ops.Attrs) {
		first := min(max(from+w.above-w.reach+w.stride, 0)/w.stride, w.in-1) / unit * unit
		last := max(min((to-1+w.above)/w.stride+1, w.in), first+1)
		attrs := n.Attrs.(ops.TransposeConv)
		attrs.Pad.Top, attrs.Pad.Bottom = w.above+from-first*w.stride, 0
		return firstAndOut(n, along(x, 1, first, last), along(y, 1, from, to)), attrs
	}}}
}

// divideWithout divides a node along the first dimension of all of its tensors except those that stay whole, by
// position among n.In and n.Out.
func divideWithout(g *ir.Graph, n *ir.Node, whole func(i int) bool) []division {
	list := operands(g, n)
	return []division{{list[len(list)-1].Shape[0], func(from, to int) ([]extent, ops.Attrs) {
		extents := make([]extent, len(list))
		for i, t := range list {
			if t == nil || whole(i) {
				extents[i] = extent{whole: true}
			} else {
				extents[i] = along(t, 0, from, to)
			}
		}
		return extents, n.Attrs
	}}}
}
