package tflite

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

func tile(c *call) error {
	x, multiples := c.data(0), c.ints(1, "multiples")
	if c.err == nil && len(multiples) == 0 && c.scalar(0) {
		multiples = []int32{1}
	}
	return c.repeat(c.result(), x, multiples)
}

// broadcastTo becomes TILE, with dimensions aligned at their last.
func broadcastTo(c *call) error {
	x, to := c.data(0), c.ints(1, "shape")
	if c.err != nil {
		return c.err
	}
	if len(to) == 0 && c.scalar(0) {
		to = []int32{1}
	}
	d := slices.Clone(c.operand(x).Dims)
	if len(to) > maxRank || len(to) < len(d) {
		return importer.Damaged("%v for shape %v", []uint32(d), to)
	}
	if more := len(to) - len(d); more > 0 {
		d = slices.Concat(slices.Repeat(nn.Dims{1}, more), d)
		x = c.reshape(x, d)
	}
	multiples := make([]int32, len(to))
	for i, n := range to {
		switch {
		case n < 1:
			return fmt.Errorf("shape %v", to)
		case d[i] == uint32(n):
			multiples[i] = 1
		case d[i] == 1:
			multiples[i] = n
		default:
			return importer.Damaged("%v for shape %v", []uint32(d), to)
		}
	}
	return c.repeat(c.result(), x, multiples)
}

// repeat emits TILE of x as the operator's result.
func (c *call) repeat(t spec, x uint32, multiples []int32) error {
	return c.bind(c.emit(nn.OpTile, t, x, multiples))
}

// reverse becomes a REVERSE for each axis.
func reverse(c *call) error {
	x, axes := c.data(0), c.ints(1, "axes")
	t := c.result()
	rank, seen := len(c.operand(x).Dims), map[int]bool{}
	for _, a := range axes {
		axis := c.axisOf(a, rank)
		if seen[axis] {
			return importer.Damaged("axis %d named twice", a)
		}
		seen[axis] = true
		x = c.emit(nn.OpReverse, t, x, []int32{int32(axis)})
	}
	if len(axes) == 0 {
		x = c.copy(x)
	}
	return c.bind(x)
}
