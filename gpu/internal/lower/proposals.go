package lower

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

func init() {
	register(rule{check: checkProposals, lower: lowerProposals}, ops.Counted(nn.OpGenerateProposals))
}

// proposals is GENERATE_PROPOSALS with the sizes of its tensors.
type proposals struct {
	ops.Proposals
	images, height, width, each int // each: anchors of a position
	suppression
}

func proposalsOf(g *ir.Graph, n *ir.Node) proposals {
	x := g.T(n.In[0]).Shape
	p := proposals{Proposals: n.Attrs.(ops.Proposals), images: x[0], height: x[1], width: x[2], each: x[3]}
	all := p.height * p.width * p.each
	p.suppression = suppression{groups: p.images, perImage: 1, candidates: p.Candidates(all), scores: all, boxes: all,
		room: p.Room(all), least: p.Overlap}
	return p
}

func checkProposals(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	if err := checkReal(g, n, n.Out[2], n.Out[3]); err != nil {
		return err
	}
	x, deltas := g.T(n.In[0]), g.T(n.In[1])
	if len(x.Shape) != 4 || len(deltas.Shape) != 4 || [3]int(x.Shape) != [3]int(deltas.Shape) || deltas.Shape[3] != 4*x.Shape[3] ||
		g.T(n.In[2]).Elements() != 4*x.Shape[3] || g.T(n.In[3]).Elements() != 2*x.Shape[0] {
		return fmt.Errorf("proposals by scores %v and deltas %v", x.Shape, deltas.Shape)
	}
	if err := emit.CheckTensors(f, g, n); err != nil {
		return err
	}
	p := proposalsOf(g, n)
	if p.NCHW || p.room < 1 {
		return fmt.Errorf("proposals of %+v", p.Proposals)
	}
	if p.images > emit.MaxLoop {
		return fmt.Errorf("proposals of %d images", p.images)
	}
	if err := checkScratch(f, p.images, p.scores, 16); err != nil {
		return err
	}
	for i, size := range []int{1, 4, 1} {
		if g.T(n.Out[i]).Elements() != p.images*p.room*size {
			return fmt.Errorf("%d proposals of each image in a tensor of shape %v", p.room, g.T(n.Out[i]).Shape)
		}
	}
	if g.T(n.Out[3]).Elements() != 1 {
		return fmt.Errorf("a count of shape %v", g.T(n.Out[3]).Shape)
	}
	return p.suppression.check(f)
}

func lowerProposals(b *emit.Builder, n *ir.Node) {
	p := proposalsOf(b.Graph, n)
	in := func(v emit.Value) emit.Binding { return b.Read(v, plan.FormatNone) }
	out := func(v emit.Value) emit.Binding { return b.Write(v, plan.FormatNone) }
	quads := b.Layout(n.In[0]).Quads

	count := p.images * p.scores
	boxes, keys := b.Temp(int64(count)*16), b.Temp(int64(p.images)*int64(p.pitch())*4)
	push := emit.Ints(count).Divisors(p.each, p.width, p.height).Ints(quads, p.pitch()).Floats(float64(p.Ratio[1]), float64(p.Ratio[0]))
	b.Quads(shaders.ProposalsDecode, count, push, emit.Cost{FLOP: 80 * float64(count)},
		b.In(n.In[0]), b.In(n.In[1]), b.In(n.In[2]), b.In(n.In[3]), out(boxes), out(keys))

	run := sortKeys(b, keys, p.images, p.scores, p.candidates)
	count = p.images * p.candidates
	push = emit.Ints(count).Divisors(p.candidates).Ints(p.scores).Floats(float64(p.Smallest))
	b.Quads(shaders.ProposalsFilter, count, push, emit.Cost{FLOP: 8 * float64(count)}, in(boxes), b.In(n.In[3]), out(run))
	to := suppress(b, &p.suppression, run, boxes)

	rows := p.images * p.room
	count = b.Layout(n.Out[0]).TotalQuads() * 4
	push = emit.Ints(count, rows, p.images, p.room, p.scores).Divisors(p.each).Ints(quads)
	b.Quads(shaders.ProposalsTake, count, push, emit.Cost{FLOP: 4 * float64(count) * float64(p.images), Bytes: 64 * float64(count)},
		b.In(n.In[0]), in(boxes), in(to.pairs), in(to.counts), b.Out(n.Out[0]), b.Out(n.Out[1]), b.Out(n.Out[2]), b.Out(n.Out[3]))
}
