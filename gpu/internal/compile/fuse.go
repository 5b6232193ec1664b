package compile

import (
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/lower"
)

// fuseActivation folds a RELU-family node into its only producer.
//
// Ensures: no foldable activation is left.   Numerics: bit-exact; a quantised clamp moves into the
// producer's, which has the same scale and zero point.
func fuseActivation(g *ir.Graph) error {
	uses, producers := g.Uses(), g.Producers()
	for i := range g.Nodes {
		n := &g.Nodes[i]
		act, ok := lower.Relus[n.Op]
		if !ok || producers[n.In[0]] < 0 || uses[n.In[0]] != 1 || !g.T(n.In[0]).SameQuant(g.T(n.Out[0])) {
			continue
		}
		p := &g.Nodes[producers[n.In[0]]]
		a, activated := p.Attrs.(ops.Activated)
		if !activated || a.Activation() != nn.ActNone || g.T(n.In[0]).Type == nn.TensorInt32 {
			continue
		}
		p.Attrs = a.WithActivation(act)
		p.Fuse(n)
		old := p.Out[0]
		p.Out[0] = n.Out[0]
		n.Op, n.In, n.Out = nn.OpRelu, []ir.ID{n.Out[0]}, []ir.ID{old} // now dead: nobody reads old
		producers[p.Out[0]] = producers[old]
	}
	return nil
}

// fuseResidual lets a convolution add the other operand of the ADD that is the only reader of its result, where that is
// worth it (lower.Adds). Of two convolutions that are added the later one does it.
//
// Numerics: bit-exact; the sum is rounded to the type of the result before the addition, as it would be in memory.
func (u *unit) fuseResidual() error {
	g := u.graph
	uses, producers := g.Uses(), g.Producers()
	done := map[int]bool{} // convolutions that are a part of another node now
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Op != nn.OpAdd {
			continue
		}
		a, b := n.In[0], n.In[1]
		if producers[a] < producers[b] {
			a, b = b, a
		}
		for _, sum := range []ir.ID{a, b} {
			if producers[sum] < 0 || uses[sum] != 1 {
				continue
			}
			if both, ok := lower.Adds(u.facts, g, &g.Nodes[producers[sum]], n); ok {
				*n, done[producers[sum]] = both, true // here, since the other operand may be computed behind the convolution
				break
			}
		}
	}
	var rest []ir.Node
	for i := range g.Nodes {
		if !done[i] {
			rest = append(rest, g.Nodes[i])
		}
	}
	g.Nodes = rest
	return nil
}

// fusePad folds a PAD of height and width into the convolution that is its only reader.
//
// Ensures: the device runs the padded convolution: one that must be divided may be divisible only without the padding.
// Numerics: bit-exact: convolutions read zero (the zero point) outside of the image.
func (u *unit) fusePad() error {
	g := u.graph
	uses, producers := g.Uses(), g.Producers()
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Op != nn.OpConv2D && n.Op != nn.OpDepthwiseConv2D {
			continue
		}
		x := n.In[0]
		if producers[x] < 0 || uses[x] != 1 {
			continue
		}
		p := &g.Nodes[producers[x]]
		if (p.Op != nn.OpPad && p.Op != nn.OpPadV2) || !foldable(g, p) {
			continue
		}
		if padded := withPad(n, p); lower.Check(u.facts, g, &padded) == nil {
			*n = padded
		}
	}
	return nil
}

// withPad is convolution n on the input of PAD node p, padded by as much as p adds.
func withPad(n, p *ir.Node) ir.Node {
	a := n.Attrs.(ops.Windowed)
	padded, pad, pads := *n, a.Padding(), p.Attrs.(ops.Padding).Pads
	padded.Fuse(p)
	padded.In = slices.Clone(n.In)
	padded.In[0] = p.In[0]
	padded.Attrs = a.WithPadding(ops.Pad{
		Top: pad.Top + pads[1][0], Bottom: pad.Bottom + pads[1][1],
		Left: pad.Left + pads[2][0], Right: pad.Right + pads[2][1],
	})
	return padded
}

// foldable reports whether PAD node p fills height and width of an image with zero and nothing else.
func foldable(g *ir.Graph, p *ir.Node) bool {
	t, a := g.T(p.In[0]), p.Attrs.(ops.Padding)
	if len(t.Shape) != 4 || len(a.Pads) != 4 || !t.SameQuant(g.T(p.Out[0])) || a.Pads[0] != [2]int{} || a.Pads[3] != [2]int{} {
		return false
	}
	zero := 0.0
	if t.Type.IsQuant8() {
		zero = float64(t.Zero)
	}
	for _, pads := range a.Pads {
		if pads[0] < 0 || pads[1] < 0 {
			return false
		}
	}
	return a.Value == zero
}
