package tflite

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

func tile(c *call) error {
	x, err := c.data(0)
	if err != nil {
		return err
	}
	multiples, err := c.ints(1, "multiples")
	if err != nil {
		return err
	}
	if len(multiples) == 0 && c.scalar(0) {
		multiples = []int32{1}
	}
	t, err := c.result()
	if err != nil {
		return err
	}
	return c.repeat(t, x, multiples)
}

// broadcastTo becomes TILE, of dimensions that are aligned at their last.
func broadcastTo(c *call) error {
	x, err := c.data(0)
	if err != nil {
		return err
	}
	to, err := c.ints(1, "shape")
	if err != nil {
		return err
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
		if x, err = c.reshape(x, d); err != nil {
			return err
		}
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
	t, err := c.result()
	if err != nil {
		return err
	}
	return c.repeat(t, x, multiples)
}

// repeat emits TILE of x as the operator's result.
func (c *call) repeat(t spec, x uint32, multiples []int32) error {
	y, err := c.withInts(nn.OpTile, t, x, [][]int32{multiples})
	if err != nil {
		return err
	}
	return c.bind(y)
}

// reverse becomes a REVERSE for each axis.
func reverse(c *call) error {
	x, err := c.data(0)
	if err != nil {
		return err
	}
	axes, err := c.ints(1, "axes")
	if err != nil {
		return err
	}
	t, err := c.result()
	if err != nil {
		return err
	}
	rank, seen := len(c.operand(x).Dims), map[int]bool{}
	for _, a := range axes {
		axis, err := axisOf(a, rank)
		if err != nil {
			return err
		}
		if seen[axis] {
			return importer.Damaged("axis %d named twice", a)
		}
		seen[axis] = true
		if x, err = c.withInts(nn.OpReverse, t, x, [][]int32{{int32(axis)}}); err != nil {
			return err
		}
	}
	if len(axes) == 0 {
		if x, err = c.copy(x); err != nil {
			return err
		}
	}
	return c.bind(x)
}
