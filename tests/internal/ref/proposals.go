package ref

import (
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(nn.OpGenerateProposals, kernel{inputs: []int{11}, runs: func(c *call) []*Tensor {
		p := ProposalParams{RatioH: c.real(4), RatioW: c.real(5), Before: c.int(6), Most: c.int(7), Overlap: c.real(8), Smallest: c.real(9), NCHW: c.flag(10)}
		return Proposals(c.in[0], c.in[1], c.in[2], c.in[3], p, c.out)
	}})
}

// ProposalParams are those of GENERATE_PROPOSALS.
type ProposalParams struct {
	RatioH, RatioW    float64 // of the image to the input
	Before, Most      int     // not positive: without a limit
	Overlap, Smallest float64
	NCHW              bool
}

// Proposals are the scores [K], boxes [K, 4] and images [K] of scores [N, H, W, A], deltas [N, H, W, 4*A] and anchors [A, 4] in
// images of sizes [N, 2], height and width. out is the format of the scores.
func Proposals(scores, deltas, anchors, sizes *Tensor, p ProposalParams, out Format) []*Tensor {
	x := toNHWC(scores, p.NCHW)
	d := toNHWC(deltas, p.NCHW)
	images, height, width, each := x.Shape[0], x.Shape[1], x.Shape[2], x.Shape[3]
	all := height * width * each
	if len(d.V) != 4*len(x.V) || len(anchors.V) != 4*each || len(sizes.V) != 2*images || !(min(p.RatioH, p.RatioW) > 0) {
		refuse("scores %v, deltas %v, anchors %v, sizes %v, %+v", x.Shape, d.Shape, anchors.Shape, sizes.Shape, p)
	}
	var kept []float64
	var at []Box
	var of []int
	for n := range images {
		imageH, imageW := sizes.real(2*n), sizes.real(2*n+1)
		score := func(i int) float64 { return x.real(n*all + i) }
		box := func(i int) Box {
			k := 4 * (n*all + i)
			dx, dy := float64(i/each%width)*p.RatioW, float64(i/each/width)*p.RatioH
			a := boxAt(anchors, i%each*4)
			return Box{a.X1 + dx, a.Y1 + dy, a.X2 + dx, a.Y2 + dy}.moved([4]float64{d.real(k), d.real(k + 1), d.real(k + 2), d.real(k + 3)}, imageH, imageW)
		}
		var candidates []int
		for i := range all {
			if !math.IsNaN(score(i)) {
				candidates = append(candidates, i)
			}
		}
		descending(candidates, score)
		if p.Before > 0 {
			candidates = candidates[:min(p.Before, len(candidates))]
		}
		var large []int
		for _, i := range candidates {
			b := box(i)
			if w, h := b.X2-b.X1, b.Y2-b.Y1; w > p.Smallest && h > p.Smallest && b.X1+w/2 < imageW && b.Y1+h/2 < imageH {
				large = append(large, i)
			}
		}
		most := p.Most
		if most <= 0 {
			most = len(large)
		}
		for _, i := range suppress(large, box, p.Overlap, most) {
			kept, at, of = append(kept, score(i)), append(at, box(i)), append(of, n)
		}
	}
	boxFormat := sizes.Format()
	var results []*Tensor
	for k, f := range []Format{out, boxFormat, {Type: nn.TensorInt32}} {
		shape := []int{len(kept)}
		if k == 1 {
			shape = append(shape, 4)
		}
		y := New(f, shape...)
		results = append(results, y)
	}
	for i, b := range at {
		results[0].V[i], results[2].V[i] = out.store(kept[i]), float64(of[i])
		for k, v := range []float64{b.X1, b.Y1, b.X2, b.Y2} {
			results[1].V[4*i+k] = boxFormat.store(v)
		}
	}
	return results
}
