package compile

import (
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

var (
	toNHWC = []int{0, 2, 3, 1}
	toNCHW = []int{0, 3, 1, 2}
)

// normaliseLayout puts NCHW nodes into their NHWC form between two transpositions, and reshapes the input of
// FULLY_CONNECTED into the rows that it multiplies.
//
// Requires: ir.Inferred.   Numerics: bit-exact.
// Ensures: ir.Normal; the innermost dimension of a matrix input is that of the weights.
func normaliseLayout(g *ir.Graph) error {
	nodes := make([]ir.Node, 0, len(g.Nodes))
	for _, n := range g.Nodes {
		a, imaged := n.Attrs.(ops.Imaged)
		switch {
		case n.Op == nn.OpFullyConnected:
			nodes = flattenRows(g, nodes, n)
		case imaged && a.ChannelsFirst():
			before, n, after := channelsLast(g, n)
			nodes = append(nodes, before, n, after)
		default:
			nodes = append(nodes, n)
		}
	}
	g.Nodes = nodes
	return nil
}

// channelsLast is n, a node on NCHW images, in its NHWC form, and the transpositions before and after it.
func channelsLast(g *ir.Graph, n ir.Node) (before, nhwc, after ir.Node) {
	x := g.Add(permuted(g.T(n.In[0]), toNHWC))
	y := g.Add(permuted(g.T(n.Out[0]), toNHWC))
	before = transposition(n.In[0], x, toNHWC, n.Source)
	after = transposition(y, n.Out[0], toNCHW, n.Source)
	n.Attrs = n.Attrs.(ops.Imaged).ChannelsLast()
	n.In = append([]ir.ID{x}, n.In[1:]...)
	n.Out = []ir.ID{y}
	return before, n, after
}

// flattenRows appends matrix product n, after a reshape of its input if it needs one.
func flattenRows(g *ir.Graph, nodes []ir.Node, n ir.Node) []ir.Node {
	x, w := g.T(n.In[0]), g.T(n.In[1])
	if len(w.Shape) != 2 || x.Shape[len(x.Shape)-1] == w.Shape[1] || x.Elements()%w.Shape[1] != 0 {
		return append(nodes, n)
	}
	flat := *x
	flat.Const = nil
	flat.Shape = []int{x.Elements() / w.Shape[1], w.Shape[1]}
	id := g.Add(flat)
	reshape := ir.Node{Op: nn.OpReshape, In: []ir.ID{n.In[0]}, Out: []ir.ID{id}, Source: n.Source}
	n.In = append([]ir.ID{id}, n.In[1:]...)
	return append(nodes, reshape, n)
}

func transposition(from, to ir.ID, perm []int, source int) ir.Node {
	return ir.Node{Op: nn.OpTranspose, In: []ir.ID{from}, Out: []ir.ID{to}, Attrs: ops.Transpose{Perm: perm}, Source: source}
}

// permuted is a tensor like t with its dimensions in the order perm.
func permuted(t *ir.Tensor, perm []int) ir.Tensor {
	u := *t
	u.Const = nil
	u.Shape = make([]int, len(perm))
	for i, p := range perm {
		u.Shape[i] = t.Shape[p]
	}
	return u
}

// cancelTransposes removes a transposition that undoes the one before it, as neighbouring NCHW operations leave them.
// Graph outputs keep their tensor, so the node that writes one stays.
//
// Requires: normaliseLayout.   Numerics: bit-exact.
func cancelTransposes(g *ir.Graph) error {
	producers := g.Producers()
	instead := make([]ir.ID, len(g.Tensors)) // the tensor that this one is a copy of
	for i := range instead {
		instead[i] = ir.ID(i)
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		for k, id := range n.In {
			if id != ir.None {
				n.In[k] = instead[id]
			}
		}
		if n.Op != nn.OpTranspose {
			continue
		}
		p := producers[n.In[0]]
		if p < 0 || g.Nodes[p].Op != nn.OpTranspose || !inverse(permutation(&g.Nodes[p]), permutation(n)) {
			continue
		}
		instead[n.Out[0]] = g.Nodes[p].In[0]
	}
	return nil
}

func permutation(n *ir.Node) []int { return n.Attrs.(ops.Transpose).Perm }

// inverse reports whether q undoes p; permutations that are known only at run time (nil) are not compared.
func inverse(p, q []int) bool {
	if len(p) == 0 || len(p) != len(q) {
		return false
	}
	for i := range q {
		if p[q[i]] != i {
			return false
		}
	}
	return true
}
