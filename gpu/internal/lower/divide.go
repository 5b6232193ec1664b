package lower

import (
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
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

// divideElementwise divides a node whose tensors have one layout, each element of which has to do with those at
// its place only: anywhere where nothing is padded, else between rows.
func divideElementwise(g *ir.Graph, n *ir.Node) []division {
	list := operands(g, n)
	view, size := elementsOf, list[0].Elements()
	if l := pack.LayoutOf(list[0]); !l.Dense() {
		view, size = rowsOf, l.Rows
	}
	for i := range list {
		list[i] = view(list[i])
	}
	return []division{{size, func(from, to int) ([]extent, ops.Attrs) {
		extents := make([]extent, len(list))
		for i, t := range list {
			extents[i] = along(t, 0, from, to)
		}
		return extents, n.Attrs
	}}}
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

// divideSoftmax divides between rows, or outside of the axis.
func divideSoftmax(g *ir.Graph, n *ir.Node) []division {
	x, y := g.T(n.In[0]), shaped(g.T(n.Out[0]), g.T(n.In[0]).Shape)
	attrs := n.Attrs.(ops.Softmax)
	axis, at := attrs.Axis, outer(x.Shape)
	if axis == len(x.Shape)-1 {
		x, y = rowsOf(x), rowsOf(y)
		at, attrs.Axis = 0, 1
	} else if at < 0 || at == axis {
		return nil
	}
	return []division{{x.Shape[at], func(from, to int) ([]extent, ops.Attrs) {
		return []extent{along(x, at, from, to), along(y, at, from, to)}, attrs
	}}}
}

// divideMean divides outside of the axes.
func divideMean(g *ir.Graph, n *ir.Node) []division {
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	at, axes := outer(x.Shape), n.Attrs.(ops.Mean).Axes
	if fed(n) || at < 0 || slices.Contains(axes, at) {
		return nil
	}
	to := at
	if len(y.Shape) != len(x.Shape) {
		for _, a := range axes {
			if a < at {
				to--
			}
		}
	}
	if to >= len(y.Shape) || y.Shape[to] != x.Shape[at] || emit.Product(y.Shape[:to]) != 1 {
		return nil
	}
	return []division{{x.Shape[at], func(first, last int) ([]extent, ops.Attrs) {
		return []extent{along(x, at, first, last), along(y, to, first, last)}, n.Attrs
	}}}
}

// divideConcat divides outside of the axis, or along an axis that is outermost: between inputs, then within one.
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
	return []division{{out.Shape[at], func(from, to int) ([]extent, ops.Attrs) {
		extents := make([]extent, len(list))
		for i, t := range list {
			extents[i] = along(t, at, from, to)
		}
		return extents, n.Attrs
	}}}
}

// dividePad divides outside of what is padded, or between the rows of the input that are.
func dividePad(g *ir.Graph, n *ir.Node) []division {
	if fed(n) {
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

// divideTranspose divides along an outermost dimension that stays where it is.
func divideTranspose(g *ir.Graph, n *ir.Node) []division {
	if fed(n) {
		return nil
	}
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	at := outer(y.Shape)
	perm := n.Attrs.(ops.Transpose).Perm
	if at < 0 || outer(x.Shape) != perm[at] {
		return nil
	}
	return []division{{y.Shape[at], func(from, to int) ([]extent, ops.Attrs) {
		return []extent{along(x, perm[at], from, to), along(y, at, from, to)}, n.Attrs
	}}}
}

// divideImages divides between images; parameters stay whole.
func divideImages(g *ir.Graph, n *ir.Node) []division {
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	return []division{{y.Shape[0], func(from, to int) ([]extent, ops.Attrs) {
		return firstAndOut(n, along(x, 0, from, to), along(y, 0, from, to)), n.Attrs
	}}}
}

// divideResize divides between images and, where the nearest row does not depend on rounding, between rows of the
// input: one becomes 2^k rows of the output. Weights of a bilinear one count from the image's first row.
func divideResize(g *ir.Graph, n *ir.Node) []division {
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	scale := y.Shape[1] / x.Shape[1]
	if x.Shape[0] != 1 {
		return divideImages(g, n)
	}
	if n.Op != nn.OpResizeNearestNeighbor || n.Attrs.(ops.Resize).AlignCorners || scale*x.Shape[1] != y.Shape[1] || scale&(scale-1) != 0 {
		return nil
	}
	return []division{{x.Shape[1], func(from, to int) ([]extent, ops.Attrs) {
		return firstAndOut(n, along(x, 1, from, to), along(y, 1, from*scale, to*scale)), n.Attrs
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

// divideConv divides between images and, within one, between rows of the output; where the output's row needs
// nothing but that of the input, anywhere between pixels.
func divideConv(g *ir.Graph, n *ir.Node) []division {
	c := convOf(g, n)
	if c.Depthwise || c.window() {
		return divideWindows(g, n, windows{c.inH, c.outH, (c.kH-1)*c.dilH + 1, c.strideH, c.padTop})
	}
	x, y := rowsOf(c.X), rowsOf(c.Y)
	x.Shape = []int{c.pixels, c.In}
	at := 0
	if n.Op != nn.OpFullyConnected {
		x.Shape, y.Shape, at = []int{1, 1, c.pixels, c.In}, []int{1, 1, c.pixels, c.Out}, 2
	}
	return []division{{c.pixels, func(from, to int) ([]extent, ops.Attrs) {
		return firstAndOut(n, along(x, at, from, to), along(y, at, from, to)), n.Attrs
	}}}
}

func dividePool(g *ir.Graph, n *ir.Node) []division {
	a := n.Attrs.(ops.Pool)
	return divideWindows(g, n, windows{g.T(n.In[0]).Shape[1], g.T(n.Out[0]).Shape[1], a.Window[0], a.Stride[0], a.Pad.Top})
}

// windows is where the windows of a row of the output lie, in rows of the input.
type windows struct {
	in, out              int // rows of both
	reach, stride, above int // rows that a window spans; rows of padding above the first
}

// divideWindows divides a node over images, [N, H, W, C], between images and between rows of an image. A part of the
// input begins where a binding may, at or above the first row that is needed: the padding is less then, or negative.
func divideWindows(g *ir.Graph, n *ir.Node, w windows) []division {
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	if x.Shape[0] != 1 {
		return divideImages(g, n)
	}
	row := along(x, 1, 1, 2).at // bytes
	unit := 1                   // rows, a power of two as plan.Align is
	for int64(unit)*row%plan.Align != 0 {
		unit *= 2
	}
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

// divideDequantize divides anywhere where all elements have one scale, else outside of the channels.
func divideDequantize(g *ir.Graph, n *ir.Node) []division {
	x, y := g.T(n.In[0]), g.T(n.Out[0])
	if x.Channel == nil {
		return divideElementwise(g, n)
	}
	at := outer(y.Shape)
	if at < 0 || at == int(x.Channel.ChannelDim) || len(x.Shape) != len(y.Shape) || x.Shape[at] != y.Shape[at] {
		return nil
	}
	return []division{{y.Shape[at], func(from, to int) ([]extent, ops.Attrs) {
		return []extent{along(x, at, from, to), along(y, at, from, to)}, n.Attrs
	}}}
}
