package compile

import (
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
)

// Operations that only move elements are transpositions of a tensor with more dimensions. Attributes are those of NHWC.

// rearrange takes in apart into dimensions of the given sizes, reorders them by perm, and joins them to out.
func (x *expansion) rearrange(out, in ir.ID, sizes []int, perm ...int) error {
	if err := x.checkRoom(len(x.nodes) + 3); err != nil {
		return err
	}
	x.into(out, nn.OpReshape, nil, x.arrange(in, sizes, perm...))
	return nil
}

// arrange takes in apart into dimensions of the given sizes, in the order of perm.
func (x *expansion) arrange(in ir.ID, sizes []int, perm ...int) ir.ID {
	apart := *x.graph.T(in)
	apart.Shape, apart.Const = sizes, nil
	moved := permuted(&apart, perm)
	from, to := x.graph.Add(apart), x.graph.Add(moved)
	x.into(from, nn.OpReshape, nil, in)
	return x.into(to, nn.OpTranspose, ops.Transpose{Perm: perm}, from)
}

func expandSpaceToDepth(x *expansion, n *ir.Node) error {
	s, b := x.graph.T(n.In[0]).Shape, n.Attrs.(ops.SpaceDepth).Block
	return x.rearrange(n.Out[0], n.In[0], []int{s[0], s[1] / b, b, s[2] / b, b, s[3]}, 0, 1, 3, 2, 4, 5)
}

func expandDepthToSpace(x *expansion, n *ir.Node) error {
	s, b := x.graph.T(n.In[0]).Shape, n.Attrs.(ops.SpaceDepth).Block
	return x.rearrange(n.Out[0], n.In[0], []int{s[0], s[1], s[2], b, b, s[3] / (b * b)}, 0, 1, 3, 2, 4, 5)
}

func expandSpaceToBatch(x *expansion, n *ir.Node) error {
	a := n.Attrs.(ops.SpaceBatch)
	in, b := n.In[0], a.Block
	if a.Pad != (ops.Pad{}) {
		t := *x.graph.T(in)
		t.Shape, t.Const = slices.Clone(t.Shape), nil
		t.Shape[1] += a.Pad.Top + a.Pad.Bottom
		t.Shape[2] += a.Pad.Left + a.Pad.Right
		pads := [][2]int{{}, {a.Pad.Top, a.Pad.Bottom}, {a.Pad.Left, a.Pad.Right}, {}}
		in = x.into(x.graph.Add(t), nn.OpPad, ops.Padding{Pads: pads, Value: float64(t.Zero)}, in)
	}
	s := x.graph.T(in).Shape
	if s[0] == 1 && pack.LayoutOf(x.graph.T(in)).Bytes() > x.facts.MaxStorageRange {
		return x.images(n.Out[0], in, b)
	}
	return x.rearrange(n.Out[0], in, []int{s[0], s[1] / b[0], b[0], s[2] / b[1], b[1], s[3]}, 2, 4, 0, 1, 3, 5)
}

// images takes every b[0]th row and b[1]th column of an image, starting at each of the first ones, as images of a
// batch: unlike a transposition it can be divided between rows.
func (x *expansion) images(out, in ir.ID, b [2]int) error {
	if err := x.checkRoom(len(x.nodes) + b[0]*b[1] + 1); err != nil {
		return err
	}
	s := x.graph.T(in).Shape
	size := []int{1, s[1] / b[0], s[2] / b[1], s[3]}
	var parts []ir.ID
	for row := range b[0] {
		for column := range b[1] {
			a := ops.StridedSlice{Begin: []int{0, row, column, 0}, Stride: []int{1, b[0], b[1], 1}, Size: size}
			parts = append(parts, x.into(x.shaped(in, slices.Clone(size)...), nn.OpStridedSlice, a, in))
		}
	}
	x.into(out, nn.OpConcatenation, ops.Concatenation{}, parts...)
	return nil
}

func expandBatchToSpace(x *expansion, n *ir.Node) error {
	s, b := x.graph.T(n.In[0]).Shape, n.Attrs.(ops.SpaceBatch).Block
	return x.rearrange(n.Out[0], n.In[0], []int{b[0], b[1], s[0] / (b[0] * b[1]), s[1], s[2], s[3]}, 2, 3, 0, 4, 1, 5)
}

func expandChannelShuffle(x *expansion, n *ir.Node) error {
	a, s := n.Attrs.(ops.ChannelShuffle), x.graph.T(n.In[0]).Shape
	sizes := slices.Concat(s[:a.Axis], []int{a.Groups, s[a.Axis] / a.Groups}, s[a.Axis+1:])
	perm := make([]int, len(sizes))
	for i := range perm {
		perm[i] = i
	}
	perm[a.Axis], perm[a.Axis+1] = a.Axis+1, a.Axis
	return x.rearrange(n.Out[0], n.In[0], sizes, perm...)
}
