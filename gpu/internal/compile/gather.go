package compile

import (
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// expandEmbedding makes an EMBEDDING_LOOKUP a GATHER along the first dimension.
func expandEmbedding(x *expansion, n *ir.Node) error {
	if err := x.checkRoom(1); err != nil {
		return err
	}
	x.into(n.Out[0], nn.OpGather, ops.Gather{}, n.In[1], n.In[0])
	return nil
}

// expandPack makes a PACK a concatenation of inputs with one more dimension, of size 1; the reshape is free unless that
// is the innermost. In that case each input becomes a column.
func expandPack(x *expansion, n *ir.Node) error {
	if err := x.checkRoom(len(n.In) + 3); err != nil {
		return err
	}
	axis, first := n.Attrs.(ops.Pack).Axis, x.graph.T(n.In[0])
	shape := slices.Insert(slices.Clone(first.Shape), axis, 1)
	columns := axis == len(first.Shape)
	if columns {
		axis, shape = 0, []int{1, first.Elements()}
	}
	parts := make([]ir.ID, len(n.In))
	for i, in := range n.In {
		parts[i] = x.into(x.shaped(in, slices.Clone(shape)...), nn.OpReshape, nil, in)
	}
	if !columns {
		x.into(n.Out[0], nn.OpConcatenation, ops.Concatenation{Axis: axis}, parts...)
		return nil
	}
	all := x.into(x.shaped(n.In[0], len(parts), shape[1]), nn.OpConcatenation, ops.Concatenation{}, parts...)
	turned := x.into(x.shaped(n.In[0], shape[1], len(parts)), nn.OpTranspose, ops.Transpose{Perm: []int{1, 0}}, all)
	x.into(n.Out[0], nn.OpReshape, nil, turned)
	return nil
}
