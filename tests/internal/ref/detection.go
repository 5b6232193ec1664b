package ref

import (
	"math"
	"sort"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(nn.OpDetectionPostprocessing, kernel{inputs: []int{14}, runs: func(c *call) []*Tensor {
		p := DetectionParams{Regular: c.flag(7), Most: c.int(8), MostClasses: c.int(9), MostOfClass: c.int(10), Score: c.real(11),
			Overlap: c.real(12), Background: c.flag(13)}
		for i := range p.Scale {
			p.Scale[i] = c.real(3 + i)
		}
		return Detections(c.in[0], c.in[1], c.in[2], p, c.out)
	}})
}

// DetectionParams are those of DETECTION_POSTPROCESSING, in its order.
type DetectionParams struct {
	Scale                          [4]float64 // of dy, dx, dh, dw
	Regular                        bool
	Most, MostClasses, MostOfClass int
	Score, Overlap                 float64
	Background                     bool
}

// overlap reports whether the intersection of two boxes is least of their union or more; never where that has no area. What is
// chosen hangs on the quotient being a float32.
func overlap(a, b Box, least float64) bool {
	area := func(b Box) float64 { return (b.X2 - b.X1) * (b.Y2 - b.Y1) }
	w, h := min(a.X2, b.X2)-max(a.X1, b.X1), min(a.Y2, b.Y2)-max(a.Y1, b.Y1)
	both := max(w, 0) * max(h, 0)
	all := area(a) + area(b) - both
	return all > 0 && float64(float32(both/all)) >= least
}

// descending sorts candidates by score; equal ones stay in order, a NaN is below all others.
func descending(candidates []int, score func(int) float64) {
	sort.SliceStable(candidates, func(i, j int) bool {
		a, b := score(candidates[i]), score(candidates[j])
		return a > b || math.IsNaN(b) && !math.IsNaN(a)
	})
}

// suppress takes of candidates, in order, those that overlap with none taken before by least or more, most of them at most.
func suppress(candidates []int, box func(int) Box, least float64, most int) []int {
	var taken []int
next:
	for _, i := range candidates {
		if len(taken) == most {
			break
		}
		for _, j := range taken {
			if overlap(box(i), box(j), least) {
				continue next
			}
		}
		taken = append(taken, i)
	}
	return taken
}

// Detections are the scores [N, D], boxes [N, D, 4], classes [N, D] and counts [N] of scores [N, A, C], of which class 0 is the
// background, deltas [N, A, 4 or more] and anchors [A, 4]: y, x, height, width. Boxes are y1, x1, y2, x2.
func Detections(x, deltas, anchors *Tensor, p DetectionParams, out Format) []*Tensor {
	if len(x.Shape) != 3 || len(deltas.Shape) != 3 || len(anchors.Shape) != 2 || x.Shape[2] < 2 || deltas.Shape[2] < 4 || anchors.Shape[1] != 4 ||
		deltas.Shape[0] != x.Shape[0] || deltas.Shape[1] != x.Shape[1] || anchors.Shape[0] != x.Shape[1] {
		refuse("scores %v, deltas %v, anchors %v", x.Shape, deltas.Shape, anchors.Shape)
	}
	images, boxes, classes := x.Shape[0], x.Shape[1], x.Shape[2]
	each := 1
	if !p.Regular {
		each = p.MostClasses
	}
	if min(p.Most, each) < 1 || p.Regular && p.MostOfClass < 1 || !(min(p.Scale[0], p.Scale[1], p.Scale[2], p.Scale[3]) > 0) {
		refuse("parameters %+v", p)
	}
	room := p.Most * each
	label := Format{Type: nn.TensorInt32}
	var results []*Tensor
	for _, r := range []struct {
		f     Format
		shape []int
	}{{out, []int{images, room}}, {out, []int{images, room, 4}}, {label, []int{images, room}}, {label, []int{images}}} {
		results = append(results, New(r.f, r.shape...))
	}
	for n := range images {
		// score is that of an anchor with a class, by their common index.
		score := func(i int) float64 { return x.real(n*boxes*classes + i) }
		box := func(i int) Box {
			a := i / classes
			d := (n*boxes + a) * deltas.Shape[2]
			y, x := anchors.real(4*a)+anchors.real(4*a+2)*deltas.real(d)/p.Scale[0], anchors.real(4*a+1)+anchors.real(4*a+3)*deltas.real(d+1)/p.Scale[1]
			h, w := anchors.real(4*a+2)*math.Exp(deltas.real(d+2)/p.Scale[2])/2, anchors.real(4*a+3)*math.Exp(deltas.real(d+3)/p.Scale[3])/2
			return Box{y - h, x - w, y + h, x + w}
		}
		ranked := func(candidates []int) []int {
			var above []int
			for _, i := range candidates {
				if score(i) > p.Score {
					above = append(above, i)
				}
			}
			descending(above, score)
			return above
		}
		var found []int
		if p.Regular {
			for c := 1; c < classes; c++ {
				var all []int
				for a := range boxes {
					all = append(all, a*classes+c)
				}
				found = append(found, suppress(ranked(all), box, p.Overlap, p.MostOfClass)...)
			}
			descending(found, score)
			found = found[:min(len(found), p.Most)]
		} else {
			var best []int
			byAnchor := map[int][]int{}
			for a := range boxes {
				var all []int
				for c := 1; c < classes; c++ {
					all = append(all, a*classes+c)
				}
				descending(all, score)
				byAnchor[a], best = all, append(best, all[0])
			}
			for _, i := range suppress(ranked(best), box, p.Overlap, p.Most) {
				found = append(found, byAnchor[i/classes][:min(p.MostClasses, classes-1)]...)
			}
		}
		for k, i := range found {
			at, b := n*room+k, box(i)
			results[0].V[at] = out.store(score(i))
			for e, v := range []float64{b.X1, b.Y1, b.X2, b.Y2} {
				results[1].V[4*at+e] = out.store(v)
			}
			results[2].V[at] = float64(i % classes)
			if !p.Background {
				results[2].V[at]--
			}
		}
		results[3].V[n] = float64(len(found))
	}
	return results
}
