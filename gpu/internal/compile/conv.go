package compile

import (
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// Groups of fewer channels, or more groups, are left to the kernel that computes all of them in one dispatch, as are
// groups of whole tiles, which the matrix products read where they are.
const (
	minGroupChannels = 16
	maxGroups        = 64
)

// tiledGroups reports whether groups with in channels of the input and out of the output are whole quads and whole
// tiles.
func tiledGroups(in, out int) bool { return in%4 == 0 && out%8 == 0 }

// expandGroupedConv makes a convolution of each group. Its filter is a part of the constant or, where the filter is
// computed, of that tensor.
func expandGroupedConv(x *expansion, n *ir.Node) error {
	a := n.Attrs.(ops.GroupedConv)
	w := x.graph.T(n.In[1])
	if a.Groups == 1 {
		x.into(n.Out[0], nn.OpConv2D, a.Conv, n.In...)
		return nil
	}
	if tiledGroups(w.Shape[3], w.Shape[0]/a.Groups) || w.Shape[3] < minGroupChannels || a.Groups > maxGroups || w.Const == nil && w.Channel != nil {
		x.nodes = append(x.nodes, *n)
		return nil
	}
	if err := x.checkRoom(len(x.nodes) + a.Groups + 4); err != nil {
		return err
	}
	filters, biases := x.split(n.In[1], a.Groups), x.split(n.In[2], a.Groups)
	ins, outs := x.parts(n.In[0], 3, a.Groups), x.parts(n.Out[0], 3, a.Groups)
	x.nodes = append(x.nodes, ir.Node{Op: nn.OpSplit, In: n.In[:1], Out: ins, Attrs: ops.Split{Axis: 3}, Source: x.source})
	for g := range a.Groups {
		x.into(outs[g], nn.OpConv2D, a.Conv, ins[g], filters[g], biases[g])
	}
	x.into(n.Out[0], nn.OpConcatenation, ops.Concatenation{Axis: 3}, outs...)
	return nil
}

// parts adds tensors for each of n equal parts of a along an axis.
func (x *expansion) parts(a ir.ID, axis, n int) []ir.ID {
	list := make([]ir.ID, n)
	for i := range list {
		part := *x.graph.T(a)
		part.Shape, part.Const = slices.Clone(part.Shape), nil
		part.Shape[axis] /= n
		list[i] = x.graph.Add(part)
	}
	return list
}

// split returns n equal parts of a along its first dimension.
func (x *expansion) split(a ir.ID, n int) []ir.ID {
	if x.graph.T(a).Const == nil {
		list := x.parts(a, 0, n)
		x.nodes = append(x.nodes, ir.Node{Op: nn.OpSplit, In: []ir.ID{a}, Out: list, Attrs: ops.Split{}, Source: x.source})
		return list
	}
	list := make([]ir.ID, n)
	for i := range list {
		list[i] = x.constantPart(a, n, i)
	}
	return list
}

// constantPart adds a tensor with part i of n equal parts of constant a along its first dimension, the one that scales
// by channel belong to.
func (x *expansion) constantPart(a ir.ID, n, i int) ir.ID {
	part := *x.graph.T(a)
	part.Shape = slices.Clone(part.Shape)
	part.Shape[0] /= n
	size, first := len(part.Const)/n, part.Shape[0]*i
	part.Const = part.Const[i*size : (i+1)*size]
	if c := part.Channel; c != nil {
		part.Channel = &nn.ChannelQuant{ChannelDim: c.ChannelDim, Scales: c.Scales[first : first+part.Shape[0]]}
	}
	return x.graph.Add(part)
}

// expandTransposeConv makes a convolution with the filter turned round where the stride is 1 and the filter a constant.
func expandTransposeConv(x *expansion, n *ir.Node) error {
	a := n.Attrs.(ops.TransposeConv)
	in, w, out := x.graph.T(n.In[0]), x.graph.T(n.In[1]), x.graph.T(n.Out[0])
	kh, kw := w.Shape[1], w.Shape[2]
	pad := ops.Pad{Top: kh - 1 - a.Pad.Top, Left: kw - 1 - a.Pad.Left}
	pad.Bottom, pad.Right = out.Shape[1]+kh-1-in.Shape[1]-pad.Top, out.Shape[2]+kw-1-in.Shape[2]-pad.Left
	if a.Stride != [2]int{1, 1} || w.Const == nil || min(pad.Top, pad.Left, pad.Bottom, pad.Right) < 0 || x.takeConstants(w.Elements()) != nil {
		x.nodes = append(x.nodes, *n)
		return nil
	}
	turned := *w
	turned.Const = turnedRound(w)
	conv := ops.Conv{Act: a.Act, Stride: a.Stride, Dilation: [2]int{1, 1}, Pad: pad}
	x.into(n.Out[0], nn.OpConv2D, conv, n.In[0], x.graph.Add(turned), n.In[2])
	return nil
}

// turnedRound is filter w, [Co, Kh, Kw, Ci], with the elements of each window in the opposite order.
func turnedRound(w *ir.Tensor) []byte {
	taps := w.Shape[1] * w.Shape[2]
	row := len(w.Const) / (w.Shape[0] * taps)
	turned := make([]byte, 0, len(w.Const))
	for o := range w.Shape[0] {
		for t := range taps {
			at := (o*taps + taps - 1 - t) * row
			turned = append(turned, w.Const[at:at+row]...)
		}
	}
	return turned
}
