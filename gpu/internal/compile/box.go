package compile

import (
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// Operations on boxes are computed in float32, as in the reference implementation of the HAL: other types are converted
// at both ends.

// inReal appends a node like n on tensors of float32 and int32, and the conversions of its results to the types of out.
func (x *expansion) inReal(n *ir.Node, out ...ir.ID) error {
	if err := x.checkRoom(len(n.In) + 2*len(out) + 1); err != nil {
		return err
	}
	node := ir.Node{Op: n.Op, Attrs: n.Attrs, Source: n.Source}
	isInt := func(a ir.ID) bool { return x.graph.T(a).Type == nn.TensorInt32 }
	for _, a := range n.In {
		if !isInt(a) {
			a = x.float32(a)
		}
		node.In = append(node.In, a)
	}
	for _, y := range out {
		if t := x.graph.T(y); t.Type != nn.TensorFloat32 && !isInt(y) {
			y = x.tensor(t.Shape...)
		}
		node.Out = append(node.Out, y)
	}
	x.nodes = append(x.nodes, node)
	for k, y := range out {
		if node.Out[k] != y {
			x.finish(y, node.Out[k])
		}
	}
	return nil
}

func expandBoxes(x *expansion, n *ir.Node) error { return x.inReal(n, n.Out...) }

// channelsLast is tensor a, an image in NCHW, in NHWC.
func (x *expansion) channelsLast(a ir.ID) ir.ID {
	to := x.graph.Add(permuted(x.graph.T(a), toNHWC))
	x.nodes = append(x.nodes, transposition(a, to, toNHWC, x.source))
	return to
}

func expandKeypoint(x *expansion, n *ir.Node) error {
	if n.Attrs.(ops.Keypoint).NCHW {
		n.In = []ir.ID{x.channelsLast(n.In[0]), n.In[1]}
		n.Attrs = ops.Keypoint{}
	}
	return x.inReal(n, n.Out...)
}

func expandProposals(x *expansion, n *ir.Node) error {
	a := n.Attrs.(ops.Proposals)
	if a.NCHW {
		n.In = []ir.ID{x.channelsLast(n.In[0]), x.channelsLast(n.In[1]), n.In[2], n.In[3]}
		a.NCHW = false
		n.Attrs = a
	}
	return x.inReal(n, n.Out...)
}
