package tflite

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// The HAL's operations that move elements know no TENSOR_BOOL8, and some no TENSOR_INT32. Booleans are moved as the
// numbers 1 and 0, and become booleans again afterwards; integers are moved by operations that know them.

// lifts reports whether the operator moves booleans: all its outputs are, and some input.
func (c *call) lifts() (bool, error) {
	is := func(t int32) bool { return t >= 0 && c.file.tensors[t].typ == typeBool }
	if !slices.ContainsFunc(c.in, is) {
		return false, nil
	}
	for _, t := range c.out {
		if !is(t) {
			return false, fmt.Errorf("BOOL becomes %v", c.file.tensors[t].typ)
		}
	}
	return true, nil
}

// lift returns the numbers of an operand of booleans.
func (c *call) lift(x uint32) uint32 {
	switch t := c.operand(x).Type; {
	case t.IsFloat():
		c.fail(fmt.Errorf("booleans and %v", t))
		return 0
	case t != nn.TensorBool8:
		return x
	}
	if y, ok := c.lifted[x]; ok {
		return y
	}
	y := c.numbersOf(x, floatType)
	if c.err == nil {
		c.lifted[x] = y
	}
	return y
}

// lower makes booleans of the outputs, which are numbers.
func (c *call) lower() {
	for _, t := range c.out {
		v := &c.values[t]
		if v.operand < 0 {
			continue
		}
		y := c.emit(nn.OpNotEqual, boolType, uint32(v.operand), c.zeros(floatType, nn.Dims{1}))
		if c.err != nil {
			return
		}
		c.lifted[y] = uint32(v.operand)
		v.operand = int(y)
	}
}

// numbersOf makes 1 and 0 of the elements of a TENSOR_BOOL8.
func (c *call) numbersOf(mask uint32, s spec) uint32 {
	list := c.int32s(nn.Dims{uint32(len(c.operand(mask).Dims))}, dims32(c.operand(mask).Dims))
	inputs := []uint32{mask}
	for n := range 2 {
		var value any = float32(1 - n)
		if s.Of == nn.TensorInt32 {
			value = int32(1 - n)
		}
		inputs = append(inputs, c.emit(nn.OpFill, s, list, value))
	}
	return c.emit(nn.OpSelect, s, inputs)
}

// squeezeInts drops dimensions of size 1 by RESHAPE.
func (c *call) squeezeInts(x uint32, axes []int32) error {
	d := slices.Clone(c.operand(x).Dims)
	drop := make([]bool, len(d))
	for _, a := range axes {
		axis := c.axisOf(a, len(d))
		if c.err != nil {
			return c.err
		}
		if d[axis] != 1 {
			return importer.Damaged("axis %d of %v is not 1", axis, []uint32(d))
		}
		drop[axis] = true
	}
	var out nn.Dims
	for i, n := range d {
		if !drop[i] {
			out = append(out, n)
		}
	}
	if len(out) == 0 {
		out = nn.Dims{1}
	}
	return c.reshapeTo(x, out)
}

// transposeInts gathers the elements in the order that they get.
func (c *call) transposeInts(x uint32, perm []int32) error {
	d := slices.Clone(c.operand(x).Dims)
	total := product(d)
	seen := make([]bool, len(d))
	if len(perm) != len(d) {
		return importer.Damaged("a permutation of %d for rank %d", len(perm), len(d))
	}
	out, step := make(nn.Dims, len(d)), make([]uint32, len(d))
	for i, p := range perm {
		axis := c.axisOf(p, len(d))
		if c.err != nil {
			return c.err
		}
		if seen[axis] {
			return importer.Damaged("permutation %v", perm)
		}
		seen[axis] = true
		out[i], step[i] = d[axis], product(d[axis+1:])
	}
	at := make([]uint32, len(d)) // in the result
	places := c.made(nn.Dims{total}, func(int) (place int32) {
		for i := range at {
			place += int32(at[i] * step[i])
		}
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < out[i] {
				break
			}
			at[i] = 0
		}
		return place
	})
	c.sized = true
	t := c.result()
	x = c.gatherBy(c.reshape(x, nn.Dims{total}), t, 0, places)
	return c.reshapeTo(x, out)
}

// maxJoined bounds the parts of integers of different sizes that are joined.
const maxJoined = 64

// concatenateInts packs parts of one size along the axis: the tensors themselves, or one position each.
func (c *call) concatenateInts(list []uint32, axis int) error {
	first := slices.Clone(c.operand(list[0]).Dims)
	same := true
	total := uint64(0)
	for i, x := range list {
		d := c.operand(x).Dims
		if len(d) != len(first) || !d[:axis].Equal(first[:axis]) || !d[axis+1:].Equal(first[axis+1:]) {
			return importer.Damaged("input %d has shape %v, the first %v", i, []uint32(d), []uint32(first))
		}
		same, total = same && d[axis] == first[axis], total+uint64(d[axis])
	}
	t := c.result()
	if !same {
		if total > maxJoined {
			return fmt.Errorf("%d positions of INT32 in parts of different sizes", total)
		}
		list = c.positions(list, axis)
	}
	y := c.emit(nn.OpPack, t, int32(axis), list)
	first[axis] = uint32(min(total, 1<<31-1))
	return c.reshapeTo(y, first)
}

// positions splits tensors along an axis, so that each part has one position of it.
func (c *call) positions(list []uint32, axis int) []uint32 {
	var parts []uint32
	for _, x := range list {
		if c.err != nil {
			return nil
		}
		n := int(c.operand(x).Dims[axis])
		if n == 1 {
			parts = append(parts, x)
			continue
		}
		parts = append(parts, c.emitAll(nn.OpSplit, slices.Repeat([]spec{intType}, n), x, int32(axis), int32(n))...)
	}
	return parts
}
