package ref

import "github.com/nngpu/nngpu/driver/nn"

func init() {
	register(nn.OpStridedSlice, kernel{inputs: []int{7}, run: func(c *call) *Tensor {
		return StridedSlice(c.in[0], c.ints(1), c.ints(2), c.ints(3), c.int(4), c.int(5), c.int(6))
	}})
	register(nn.OpReverse, kernel{inputs: []int{2}, run: func(c *call) *Tensor { return Reverse(c.in[0], c.ints(1)) }})
	register(nn.OpTile, kernel{inputs: []int{2}, run: func(c *call) *Tensor { return Tile(c.in[0], c.ints(1)) }})
}

// StridedSlice takes every strides[i]th position of dimension i, from begin[i] until end[i] is reached or passed. Bit i of a
// mask stands for dimension i: of begin and end, that the bound is the dimension's own; of shrink, that the dimension is dropped.
func StridedSlice(x *Tensor, begin, end, strides []int, beginMask, endMask, shrink int) *Tensor {
	rank := len(x.Shape)
	if len(begin) != rank || len(end) != rank || len(strides) != rank {
		refuse("slice from %v to %v by %v of %v", begin, end, strides, x.Shape)
	}
	taken := make([][]int, rank) // positions, by dimension
	counts, shape := make([]int, rank), []int{}
	for i, n := range x.Shape {
		s := strides[i]
		if s == 0 {
			refuse("stride 0")
		}
		from, to := begin[i], end[i]
		if from < 0 {
			from += n
		}
		if to < 0 {
			to += n
		}
		if beginMask>>i&1 != 0 {
			from = map[bool]int{true: 0, false: n - 1}[s > 0]
		}
		if endMask>>i&1 != 0 {
			to = map[bool]int{true: n, false: -1}[s > 0]
		}
		// The first position of a slice that begins outside is the nearest one inside.
		if s > 0 {
			for p := max(from, 0); p < min(to, n); p += s {
				taken[i] = append(taken[i], p)
			}
		} else {
			for p := min(from, n-1); p > max(to, -1); p += s {
				taken[i] = append(taken[i], p)
			}
		}
		counts[i] = len(taken[i])
		switch {
		case counts[i] == 0:
			refuse("nothing of dimension %d", i)
		case shrink>>i&1 == 0:
			shape = append(shape, counts[i])
		case counts[i] != 1 || s < 0:
			refuse("%d positions of dimension %d, which is dropped, by %d", counts[i], i, s)
		}
	}
	if len(shape) == 0 {
		shape = []int{1}
	}
	y := x.like(shape, nil)
	forEach(counts, func(_ int, at []int) {
		from := 0
		for d, n := range x.Shape {
			from = from*n + taken[d][at[d]]
		}
		y.V = append(y.V, x.V[from])
	})
	return y
}

// Reverse turns one dimension of x round.
func Reverse(x *Tensor, axis []int) *Tensor {
	if len(axis) != 1 || axis[0] < 0 || axis[0] >= len(x.Shape) {
		refuse("axis %v of %v", axis, x.Shape)
	}
	a, v := axis[0], make([]float64, len(x.V))
	forEach(x.Shape, func(i int, at []int) {
		v[i+(x.Shape[a]-1-2*at[a])*stride(x.Shape, a)] = x.V[i]
	})
	return x.like(x.Shape, v)
}

// Tile repeats dimension i of x multiples[i] times.
func Tile(x *Tensor, multiples []int) *Tensor {
	if len(multiples) != len(x.Shape) {
		refuse("%v times %v", multiples, x.Shape)
	}
	shape := make([]int, len(multiples))
	for i, m := range multiples {
		if m < 1 {
			refuse("%v times %v", multiples, x.Shape)
		}
		shape[i] = m * x.Shape[i]
	}
	y := New(x.Format(), shape...)
	forEach(shape, func(i int, at []int) {
		from := 0
		for d, n := range x.Shape {
			from = from*n + at[d]%n
		}
		y.V[i] = x.V[from]
	})
	return y
}
