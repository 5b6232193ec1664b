package tflite

import (
	"slices"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// Slots of PackOptions and UnpackOptions.
const packCount, packAxis = 0, 1

// pack: tensors of rank 0, which are [1] here, become a vector.
func pack(c *call) error {
	if n := c.options.int32(packCount, 0); int(n) != len(c.in) {
		return importer.Damaged("%d inputs for %d values", len(c.in), n)
	}
	var parts []uint32
	for i := range c.in {
		parts = append(parts, c.data(i))
	}
	t := c.result()
	if c.err != nil {
		return c.err
	}
	rank := len(c.operand(parts[0]).Dims)
	scalars := c.scalar(0)
	if scalars {
		rank = 0
	}
	axis := c.axisOf(c.options.int32(packAxis, 0), rank+1)
	y := c.emit(nn.OpPack, t, int32(axis), parts)
	if scalars {
		return c.reshapeTo(y, nn.Dims{uint32(len(parts))})
	}
	return c.bind(y)
}

// scalar reports whether input i is of rank 0.
//
// Precondition: it has an operand.
func (c *call) scalar(i int) bool {
	return len(c.tensor(i).shape) == 0 && c.operand(uint32(c.values[c.in[i]].operand)).Dims.Equal(nn.Dims{1})
}

// unpack becomes SPLIT, and a RESHAPE of each part that drops the axis.
func unpack(c *call) error {
	if n := c.options.int32(packCount, 0); int(n) != len(c.out) {
		return importer.Damaged("%d outputs for %d values", len(c.out), n)
	}
	x := c.data(0)
	d := slices.Clone(c.operand(x).Dims)
	axis := c.axisOf(c.options.int32(packAxis, 0), len(d))
	if c.err != nil {
		return c.err
	}
	if int64(d[axis]) != int64(len(c.out)) {
		return importer.Damaged("%d outputs of dimension %d of %v", len(c.out), axis, []uint32(d))
	}
	parts := []uint32{x}
	if len(c.out) > 1 {
		types := slices.Repeat([]spec{importer.TypeOf(c.operand(x))}, len(c.out))
		parts = c.emitAll(nn.OpSplit, types, x, int32(axis), int32(len(c.out)))
	}
	if d = slices.Delete(d, axis, axis+1); len(d) == 0 {
		d = nn.Dims{1}
	}
	for i, part := range parts {
		if err := c.reshapeInto(i, part, d); err != nil {
			return err
		}
	}
	return c.err
}

// splitV becomes a SLICE for each part.
func splitV(c *call) error {
	if n := c.options.int32(splitParts, 0); int(n) != len(c.out) {
		return importer.Damaged("%d outputs for %d parts", len(c.out), n)
	}
	x, parts, a := c.data(0), c.ints(1, "sizes"), c.ints(2, "axis")
	d := slices.Clone(c.operand(x).Dims)
	if len(a) != 1 || len(parts) != len(c.out) {
		return importer.Damaged("%d sizes for %d outputs, %d axes", len(parts), len(c.out), len(a))
	}
	axis := c.axisOf(a[0], len(d))
	if c.err != nil {
		return c.err
	}
	parts, err := completed(parts, d[axis])
	if err != nil {
		return err
	}
	begin, size := make([]int32, len(d)), slices.Repeat([]int32{-1}, len(d))
	for i, n := range parts {
		size[axis] = n
		c.bindTo(c.out[i], c.emit(nn.OpSlice, c.resultOf(i), x, begin, size))
		begin[axis] += n
	}
	return c.err
}

// completed replaces a size of -1, which may occur once, by what the others leave of n.
func completed(sizes []int32, n uint32) ([]int32, error) {
	sizes = slices.Clone(sizes)
	rest, open := int64(n), -1
	for i, s := range sizes {
		switch {
		case s == -1 && open < 0:
			open = i
		case s < 1:
			return nil, importer.Damaged("parts of sizes %v", sizes)
		default:
			rest -= int64(s)
		}
	}
	if open >= 0 && rest > 0 {
		sizes[open] = int32(rest)
		rest = 0
	}
	if rest != 0 {
		return nil, importer.Damaged("parts of sizes %v of %d", sizes, n)
	}
	return sizes, nil
}
