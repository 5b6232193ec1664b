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
		x, err := c.data(i)
		if err != nil {
			return err
		}
		parts = append(parts, x)
	}
	t, err := c.result()
	if err != nil {
		return err
	}
	rank := len(c.operand(parts[0]).Dims)
	scalars := c.scalar(0)
	if scalars {
		rank = 0
	}
	axis, err := axisOf(c.options.int32(packAxis, 0), rank+1)
	if err != nil {
		return err
	}
	inputs, err := c.Scalars(t.Of, nil, int32(axis))
	if err != nil {
		return err
	}
	y, err := c.Emit(nn.OpPack, t, append(inputs, parts...)...)
	if err != nil {
		return err
	}
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
	x, err := c.data(0)
	if err != nil {
		return err
	}
	d := slices.Clone(c.operand(x).Dims)
	axis, err := axisOf(c.options.int32(packAxis, 0), len(d))
	if err != nil {
		return err
	}
	if int64(d[axis]) != int64(len(c.out)) {
		return importer.Damaged("%d outputs of dimension %d of %v", len(c.out), axis, []uint32(d))
	}
	parts := []uint32{x}
	if len(c.out) > 1 {
		inputs, err := c.Scalars(nn.TensorFloat32, []uint32{x}, int32(axis), int32(len(c.out)))
		if err != nil {
			return err
		}
		types := slices.Repeat([]spec{importer.TypeOf(c.operand(x))}, len(c.out))
		if parts, err = c.EmitAll(nn.OpSplit, types, inputs...); err != nil {
			return err
		}
	}
	if d = slices.Delete(d, axis, axis+1); len(d) == 0 {
		d = nn.Dims{1}
	}
	for i, part := range parts {
		if err := c.reshapeInto(i, part, d); err != nil {
			return err
		}
	}
	return nil
}

// splitV becomes a SLICE for each part.
func splitV(c *call) error {
	if n := c.options.int32(splitParts, 0); int(n) != len(c.out) {
		return importer.Damaged("%d outputs for %d parts", len(c.out), n)
	}
	x, err := c.data(0)
	if err != nil {
		return err
	}
	parts, err := c.ints(1, "sizes")
	if err != nil {
		return err
	}
	a, err := c.ints(2, "axis")
	if err != nil {
		return err
	}
	d := slices.Clone(c.operand(x).Dims)
	if len(a) != 1 || len(parts) != len(c.out) {
		return importer.Damaged("%d sizes for %d outputs, %d axes", len(parts), len(c.out), len(a))
	}
	axis, err := axisOf(a[0], len(d))
	if err != nil {
		return err
	}
	if parts, err = completed(parts, d[axis]); err != nil {
		return err
	}
	begin, size := make([]int32, len(d)), slices.Repeat([]int32{-1}, len(d))
	for i, n := range parts {
		size[axis] = n
		t, err := c.resultOf(i)
		if err != nil {
			return err
		}
		y, err := c.withInts(nn.OpSlice, t, x, [][]int32{begin, size})
		if err != nil {
			return err
		}
		if err := c.bindTo(c.out[i], y); err != nil {
			return err
		}
		begin[axis] += n
	}
	return nil
}

// completed replaces a size of -1, which may be there once, by what the others leave of n.
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
