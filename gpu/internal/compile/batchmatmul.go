package compile

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// Numbers of multiplications from which a product is worth steps of its own: where groups are not whole tiles, and where they are.
const (
	apartWork      = 1 << 15
	apartTiledWork = 1 << 20
)

// expandBatchMatmul: one matrix product is FULLY_CONNECTED with the right matrix transposed as weights. Several are one such
// product each, where they are large and not many, else the groups of a convolution whose pixels are the rows of the left
// matrices. Of int32, which no such kernel takes, it is the sum of products.
func expandBatchMatmul(x *expansion, n *ir.Node) error {
	if err := x.checkRoom(len(x.nodes) + 10); err != nil {
		return err
	}
	a, out := n.Attrs.(ops.BatchMatmul), x.graph.T(n.Out[0])
	rank := len(out.Shape)
	m, units, batch := out.Shape[rank-2], out.Shape[rank-1], ir.Product(out.Shape[:rank-2])
	depth := x.graph.T(n.In[0]).Elements() / (batch * m)
	leftSizes, rightSizes := []int{batch, m, depth}, []int{batch, units, depth}
	leftPerm, rightPerm := []int{0, 1, 2}, []int{0, 1, 2}
	if a.Left {
		leftSizes, leftPerm = []int{batch, depth, m}, []int{0, 2, 1}
	}
	if !a.Right {
		rightSizes, rightPerm = []int{batch, depth, units}, []int{0, 2, 1}
	}
	if out.Type == nn.TensorInt32 {
		left := x.reshaped(x.arranged(n.In[0], leftSizes, leftPerm), batch, m, 1, depth)
		right := x.reshaped(x.arranged(n.In[1], rightSizes, rightPerm), batch, 1, units, depth)
		products := x.into(x.shaped(n.Out[0], batch, m, units, depth), nn.OpMul, ops.Arithmetic{}, left, right)
		sums := x.into(x.shaped(n.Out[0], batch, m, units), nn.OpReduceSum, ops.Mean{Axes: []int{3}}, products)
		x.into(n.Out[0], nn.OpReshape, nil, sums)
		return nil
	}
	least := apartWork
	if tiledGroups(depth, units) {
		least = apartTiledWork
	}
	if batch > 1 && batch <= maxGroups && m*units*depth >= least {
		return x.productsApart(n, x.arranged(n.In[0], leftSizes, leftPerm), x.arranged(n.In[1], rightSizes, rightPerm), batch, m, units, depth)
	}
	bias, err := x.zeroBias(n, batch*units)
	if err != nil {
		return err
	}
	if batch == 1 {
		left := x.reshaped(x.arranged(n.In[0], leftSizes, leftPerm), m, depth)
		right := x.reshaped(x.arranged(n.In[1], rightSizes, rightPerm), units, depth)
		product := x.into(x.shaped(n.Out[0], m, units), nn.OpFullyConnected, ops.FullyConnected{}, left, right, bias)
		x.into(n.Out[0], nn.OpReshape, nil, product)
		return nil
	}
	// Batches become channels: leftPerm is of [batch, m, k], and the row comes first.
	leftPerm[0], leftPerm[1] = leftPerm[1], leftPerm[0]
	left := x.reshaped(x.arrange(n.In[0], leftSizes, leftPerm...), 1, m, 1, batch*depth)
	right := x.reshaped(x.arranged(n.In[1], rightSizes, rightPerm), batch*units, 1, 1, depth)
	conv := ops.GroupedConv{Conv: ops.Conv{Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}, Groups: batch}
	product := x.into(x.shaped(n.Out[0], 1, m, 1, batch*units), nn.OpGroupedConv2D, conv, left, right, bias)
	return x.rearrange(n.Out[0], product, []int{m, batch, units}, 1, 0, 2)
}

// productsApart makes of batch matrices in left, [m, depth], and right, [units, depth], one FULLY_CONNECTED each.
func (x *expansion) productsApart(n *ir.Node, left, right ir.ID, batch, m, units, depth int) error {
	if err := x.checkRoom(len(x.nodes) + batch + 6); err != nil {
		return err
	}
	bias, err := x.zeroBias(n, units)
	if err != nil {
		return err
	}
	lefts := x.split(x.reshaped(left, batch*m, depth), batch)
	rights := x.split(x.reshaped(right, batch*units, depth), batch)
	outs := make([]ir.ID, batch)
	for i := range outs {
		outs[i] = x.into(x.shaped(n.Out[0], m, units), nn.OpFullyConnected, ops.FullyConnected{}, lefts[i], rights[i], bias)
	}
	all := x.into(x.shaped(n.Out[0], batch*m, units), nn.OpConcatenation, ops.Concatenation{}, outs...)
	x.into(n.Out[0], nn.OpReshape, nil, all)
	return nil
}

// arranged is arrange, but for orders that change nothing.
func (x *expansion) arranged(in ir.ID, sizes, perm []int) ir.ID {
	for i, p := range perm {
		if i != p {
			return x.arrange(in, sizes, perm...)
		}
	}
	return in
}

// reshaped is a in another shape.
func (x *expansion) reshaped(a ir.ID, shape ...int) ir.ID {
	return x.into(x.shaped(a, shape...), nn.OpReshape, nil, a)
}

// zeroBias adds the bias of n zeros of the product of node p's inputs.
func (x *expansion) zeroBias(p *ir.Node, n int) (ir.ID, error) {
	if err := x.takeConstants(n); err != nil {
		return ir.None, fmt.Errorf("a bias: %w", err)
	}
	left, right := x.graph.T(p.In[0]), x.graph.T(p.In[1])
	bias := ir.Tensor{Type: left.Type, Shape: []int{n}}
	if left.Type.IsQuant8() {
		bias.Type, bias.Scale = nn.TensorInt32, left.Scale*right.Scale
	}
	bias.Const = make([]byte, n*bias.Type.Bytes())
	return x.graph.Add(bias), nil
}
