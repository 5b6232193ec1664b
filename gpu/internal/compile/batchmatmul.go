package compile

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/lower"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// A product is worth steps of its own from this many multiplications: where groups are not whole tiles, and where they
// are.
const (
	apartWork      = 1 << 15
	apartTiledWork = 1 << 20
)

// maxProducts bounds the steps that several products become.
const maxProducts = 1 << 10

// expandBatchMatmul: several products of floats become one BATCH_MATMUL of three dimensions with the right matrices
// transposed, where the device computes that at once. Elsewhere large ones by a constant, or of few rows, become a
// FULLY_CONNECTED each, with the transposed right matrix as weights. Other large ones are left to the kernels in the
// form that package lower has, and so is a single product on CPUs whose right matrix is not transposed; GPUs bind the
// transposed matrix as it is. Any other single product is a FULLY_CONNECTED, and several are groups of a convolution
// whose pixels are the rows of the left matrices. For int32, which no such kernel takes, the products are multiplied
// out and summed.
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
	right := n.In[1]
	if !a.Right {
		rightSizes, rightPerm = []int{batch, depth, units}, []int{0, 2, 1}
		if w := x.graph.T(right); w.Const != nil && x.takeConstants(w.Elements()) == nil {
			right, rightPerm = x.graph.Add(turnedMatrices(w, batch, depth, units)), []int{0, 1, 2}
		}
	}
	if out.Type == nn.TensorInt32 {
		left := x.reshaped(x.arranged(n.In[0], leftSizes, leftPerm), batch, m, 1, depth)
		right := x.reshaped(x.arranged(right, rightSizes, rightPerm), batch, 1, units, depth)
		products := x.into(x.shaped(n.Out[0], batch, m, units, depth), nn.OpMul, ops.Arithmetic{}, left, right)
		sums := x.into(x.shaped(n.Out[0], batch, m, units), nn.OpReduceSum, ops.Mean{Axes: []int{3}}, products)
		x.into(n.Out[0], nn.OpReshape, nil, sums)
		return nil
	}
	together := lower.Products{Type: out.Type, Relaxed: x.graph.Relaxed, Batch: batch, Rows: m, Units: units, Depth: depth}
	if batch > 1 && together.AtOnce(x.facts) == nil {
		left := x.reshaped(x.arranged(n.In[0], leftSizes, leftPerm), batch, m, depth)
		right := x.reshaped(x.arranged(right, rightSizes, rightPerm), batch, units, depth)
		product := x.into(x.shaped(n.Out[0], batch, m, units), nn.OpBatchMatmul, ops.BatchMatmul{Right: true}, left, right)
		x.into(n.Out[0], nn.OpReshape, nil, product)
		return nil
	}
	least := apartWork
	if tiledGroups(depth, units) {
		least = apartTiledWork
	}
	large, constant, rows := m*units*depth >= least, x.graph.T(right).Const != nil, rightPerm[1] == 1
	few := m < lower.PackedRows
	if large && (constant && rows || few) && 1 < batch && batch <= maxGroups {
		return x.productsApart(n, x.arranged(n.In[0], leftSizes, leftPerm), x.arranged(right, rightSizes, rightPerm), batch, m, units, depth)
	}
	if batch == 1 && !rows && !few && x.facts.Class == plan.ClassCPU || large && 1 < batch && batch <= maxProducts {
		if ok, err := x.products(n, [2][]int{leftSizes, leftPerm}, right, rightSizes, rows, m, units); ok || err != nil {
			return err
		}
	}
	bias, err := x.zeroBias(n, batch*units)
	if err != nil {
		return err
	}
	if batch == 1 {
		left := x.reshaped(x.arranged(n.In[0], leftSizes, leftPerm), m, depth)
		right := x.reshaped(x.arranged(right, rightSizes, rightPerm), units, depth)
		product := x.into(x.shaped(n.Out[0], m, units), nn.OpFullyConnected, ops.FullyConnected{}, left, right, bias)
		x.into(n.Out[0], nn.OpReshape, nil, product)
		return nil
	}
	// Batches become channels: leftPerm is of [batch, m, k], and the row comes first.
	leftPerm[0], leftPerm[1] = leftPerm[1], leftPerm[0]
	left := x.reshaped(x.arrange(n.In[0], leftSizes, leftPerm...), 1, m, 1, batch*depth)
	weights := x.reshaped(x.arranged(right, rightSizes, rightPerm), batch*units, 1, 1, depth)
	conv := ops.GroupedConv{Conv: ops.Conv{Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}, Groups: batch}
	product := x.into(x.shaped(n.Out[0], 1, m, 1, batch*units), nn.OpGroupedConv2D, conv, left, weights, bias)
	return x.rearrange(n.Out[0], product, []int{m, batch, units}, 1, 0, 2)
}

// products leaves the products to one node, with matrices as package lower takes them, and reports whether it can do
// them. left has the sizes of the left matrices, and their order.
func (x *expansion) products(n *ir.Node, left [2][]int, right ir.ID, rightSizes []int, rows bool, m, units int) (bool, error) {
	batch := rightSizes[0]
	bias, err := x.zeroBias(n, units)
	if err != nil {
		return false, err
	}
	shapes := x.shaped(n.In[0], batch, m, ir.Product(left[0])/(batch*m))
	node := ir.Node{
		Op: nn.OpBatchMatmul, Attrs: ops.BatchMatmul{Right: rows}, Source: x.source,
		In: []ir.ID{shapes, x.shaped(right, rightSizes...), bias}, Out: []ir.ID{x.shaped(n.Out[0], batch, m, units)},
	}
	if lower.Check(x.facts, x.graph, &node) != nil {
		return false, nil
	}
	node.In[0] = x.reshaped(x.arranged(n.In[0], left[0], left[1]), x.graph.T(shapes).Shape...)
	node.In[1] = x.reshaped(right, rightSizes...)
	x.nodes = append(x.nodes, node)
	x.into(n.Out[0], nn.OpReshape, nil, node.Out[0])
	return true, nil
}

// productsApart makes a FULLY_CONNECTED of each of the batch products of left, [m, depth], and right, [units, depth].
func (x *expansion) productsApart(n *ir.Node, left, right ir.ID, batch, m, units, depth int) error {
	if err := x.checkRoom(len(x.nodes) + batch + 6); err != nil {
		return err
	}
	bias, err := x.zeroBias(n, units)
	if err != nil {
		return err
	}
	if w := *x.graph.T(right); w.Const != nil {
		w.Shape = []int{batch * units, depth}
		right = x.graph.Add(w)
	} else {
		right = x.reshaped(right, batch*units, depth)
	}
	lefts, rights := x.split(x.reshaped(left, batch*m, depth), batch), x.split(right, batch)
	outs := make([]ir.ID, batch)
	for i := range outs {
		outs[i] = x.into(x.shaped(n.Out[0], m, units), nn.OpFullyConnected, ops.FullyConnected{}, lefts[i], rights[i], bias)
	}
	all := x.into(x.shaped(n.Out[0], batch*m, units), nn.OpConcatenation, ops.Concatenation{}, outs...)
	x.into(n.Out[0], nn.OpReshape, nil, all)
	return nil
}

// turnedMatrices is constant w, count matrices [rows, columns], with each transposed to [columns, rows].
func turnedMatrices(w *ir.Tensor, count, rows, columns int) ir.Tensor {
	t, size := *w, w.Type.Bytes()
	t.Shape, t.Const = []int{count, columns, rows}, make([]byte, 0, len(w.Const))
	for m := range count {
		for c := range columns {
			for r := range rows {
				at := ((m*rows+r)*columns + c) * size
				t.Const = append(t.Const, w.Const[at:at+size]...)
			}
		}
	}
	return t
}

// arranged is arrange, but does nothing for orders that change nothing.
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

// zeroBias adds a bias of n zeros for the product of the inputs of node p.
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
