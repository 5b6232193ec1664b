package ref

import (
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(nn.OpBoxWithNmsLimit, kernel{inputs: []int{9}, runs: func(c *call) []*Tensor {
		return SelectBoxes(c.in[0], c.in[1], c.ints(2), Suppression{
			Score: c.real(3), Limit: c.int(4), Kernel: c.int(5), Overlap: c.real(6), Sigma: c.real(7), Lowered: c.real(8),
		}, c.out)
	}})
}

// Suppression are the parameters of SelectBoxes.
type Suppression struct {
	Score   float64 // a box is considered above it
	Limit   int     // of boxes of an image; negative: none
	Kernel  int     // 0 hard, 1 linear, 2 gaussian
	Overlap float64 // of the hard and the linear one
	Sigma   float64 // of the gaussian one
	Lowered float64 // a box is dropped below it
}

// factor is by what a box that overlaps another by o has its score multiplied.
func (s *Suppression) factor(o float64) float64 {
	switch {
	case s.Kernel == 2:
		return math.Exp(-o * o / s.Sigma)
	case o < s.Overlap:
		return 1
	case s.Kernel == 1:
		return 1 - o
	}
	return 0
}

// overUnion is the intersection of two boxes over their union, 0 where that is no positive number.
func overUnion(a, b Box) float64 {
	area := func(b Box) float64 { return (b.X2 - b.X1) * (b.Y2 - b.Y1) }
	w, h := min(a.X2, b.X2)-max(a.X1, b.X1), min(a.Y2, b.Y2)-max(a.Y1, b.Y1)
	both := max(w, 0) * max(h, 0)
	either := area(a) + area(b) - both
	if either > 0 && !math.IsInf(either, 0) && !math.IsNaN(both) {
		return both / either
	}
	return 0
}

// selected is a box that stays.
type selected struct {
	row, class  int
	score, rank float64 // rank: the lowest score of those that were selected before it, and its own
}

// selectClass selects boxes of rows [from, to) for class c, one after the other.
func selectClass(scores, boxes *Tensor, from, to, c int, s *Suppression) (list []selected) {
	classes := scores.Shape[1]
	left := map[int]float64{}
	for r := from; r < to; r++ {
		if v := scores.real(r*classes + c); v > s.Score {
			left[r] = v
		}
	}
	for len(left) > 0 && (s.Limit < 0 || len(list) < s.Limit) {
		best := -1
		for r := from; r < to; r++ {
			if v, ok := left[r]; ok && (best < 0 || v > left[best]) {
				best = r
			}
		}
		x := selected{best, c, left[best], left[best]}
		if n := len(list); n > 0 {
			x.rank = min(x.rank, list[n-1].rank)
		}
		list = append(list, x)
		delete(left, best)
		for r, v := range left {
			o := overUnion(boxAt(boxes, 4*(best*classes+c)), boxAt(boxes, 4*(r*classes+c)))
			if v *= s.factor(o); v >= s.Lowered {
				left[r] = v
			} else {
				delete(left, r)
			}
		}
	}
	return list
}

// SelectBoxes selects, of the boxes [R, 4*C] of each image, whose rows follow one another, those with high scores [R, C] that
// overlap none of the same class with a higher one. Class 0 is the background. It returns the scores of what it selected, of
// format out, boxes [K, 4], classes and images.
func SelectBoxes(scores, boxes *Tensor, images []int, s Suppression, out Format) []*Tensor {
	if len(scores.Shape) != 2 || len(boxes.Shape) != 2 || scores.Shape[0] != boxes.Shape[0] || boxes.Shape[1] != 4*scores.Shape[1] ||
		len(images) != scores.Shape[0] || s.Kernel < 0 || s.Kernel > 2 || s.Kernel == 2 && !(s.Sigma > 0) {
		refuse("scores %v, boxes %v, %d images, %+v", scores.Shape, boxes.Shape, len(images), s)
	}
	var all []selected
	for from, to := 0, 0; from < len(images); from = to {
		for to = from; to < len(images) && images[to] == images[from]; {
			to++
		}
		lists := make([][]selected, scores.Shape[1])
		found := 0
		for c := 1; c < len(lists); c++ {
			lists[c] = selectClass(scores, boxes, from, to, c, &s)
			found += len(lists[c])
		}
		for s.Limit >= 0 && found > s.Limit { // of equal ones the last goes
			least := 0
			for c, list := range lists {
				if n := len(list); n > 0 && (len(lists[least]) == 0 || list[n-1].rank <= lists[least][len(lists[least])-1].rank) {
					least = c
				}
			}
			lists[least] = lists[least][:len(lists[least])-1]
			found--
		}
		for _, list := range lists {
			all = append(all, list...)
		}
	}
	var results []*Tensor
	for k, f := range []Format{out, boxes.Format(), {Type: nn.TensorInt32}, {Type: nn.TensorInt32}} {
		shape := []int{len(all)}
		if k == 1 {
			shape = append(shape, 4)
		}
		y := New(f, shape...)
		results = append(results, y)
	}
	for i, x := range all {
		results[0].V[i] = out.store(x.score)
		copy(results[1].V[4*i:], boxes.V[4*(x.row*scores.Shape[1]+x.class):][:4])
		results[2].V[i], results[3].V[i] = float64(x.class), float64(images[x.row])
	}
	return results
}
