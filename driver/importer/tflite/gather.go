package tflite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// Slots of GatherOptions.
const gatherAxis, gatherBatch = 0, 1

// made is a TENSOR_INT32 constant whose elements at gives. The size of the file bounds it.
func (c *call) made(d nn.Dims, at func(i int) int32) uint32 {
	if c.err != nil {
		return 0
	}
	n, err := d.Elements()
	if err != nil || n > 1<<28 {
		c.err = fmt.Errorf("%v indices", []uint32(d))
		return 0
	}
	loc, value, err := c.Reserve(4 * int(n))
	if c.fail(err); err != nil {
		return 0
	}
	for i := range int(n) {
		binary.LittleEndian.PutUint32(value[4*i:], uint32(at(i)))
	}
	return c.addReserved(intType, d, loc)
}

// gatherBy emits a GATHER by an operand of indices.
func (c *call) gatherBy(x uint32, t spec, axis int, indices uint32) uint32 {
	return c.emit(nn.OpGather, t, x, int32(axis), indices)
}

// axisOf turns an axis from -rank to rank-1 into one from 0 to rank-1.
func (c *call) axisOf(axis int32, rank int) int {
	n := int64(axis)
	if n < 0 {
		n += int64(rank)
	}
	if n < 0 || n >= int64(rank) {
		c.fail(importer.Damaged("axis %d of rank %d", axis, rank))
		return 0
	}
	return int(n)
}

// product is the number of elements of some dimensions, at most what 32 bits hold: those of a tensor without elements, which has
// a 0 elsewhere, may be of any size.
func product(d nn.Dims) uint32 {
	n := uint64(1)
	for _, m := range d {
		n = min(n*uint64(m), math.MaxUint32)
	}
	return uint32(n)
}

// indices returns the operands of a tensor and of indices into it.
func (c *call) indices() (x, indices uint32) {
	x, indices = c.two()
	if c.err == nil && c.operand(indices).Type != nn.TensorInt32 {
		c.err = fmt.Errorf("indices of type %v", c.tensor(1).typ)
	}
	return x, indices
}

// gather: with batches, the dimensions before the axis become one, and each batch's indices count from its first row.
func gather(c *call) error {
	x, indices := c.indices()
	t := c.result()
	d, by := slices.Clone(c.operand(x).Dims), slices.Clone(c.operand(indices).Dims)
	axis := c.axisOf(c.options.int32(gatherAxis, 0), len(d))
	if c.err != nil {
		return c.err
	}
	rank := len(by)
	if len(c.tensor(1).shape) == 0 && by.Equal(nn.Dims{1}) { // one place, whose dimension the result does not have
		rank = 0
	}
	batch := int64(c.options.int32(gatherBatch, 0))
	if batch < 0 {
		batch += int64(rank)
	}
	switch {
	case batch < 0 || batch > int64(rank) || batch > int64(axis):
		return importer.Damaged("%d batch dimensions, the axis is %d and the rank of the indices %d", batch, axis, rank)
	case batch > 0 && int(batch) != axis:
		return errors.New("batch dimensions and others before the axis")
	case batch > 0:
		return c.gatherBatches(x, indices, t, int(batch))
	}
	y := c.gatherBy(x, t, axis, indices)
	if rank > 0 {
		return c.bind(y)
	}
	if d = slices.Delete(d, axis, axis+1); len(d) == 0 {
		return c.bind(y)
	}
	return c.reshapeTo(y, d)
}

// gatherBatches takes rows of x [batch, n, ...] by indices [batch, ...] that count within the batch.
func (c *call) gatherBatches(x, indices uint32, t spec, batch int) error {
	d, by := slices.Clone(c.operand(x).Dims), slices.Clone(c.operand(indices).Dims)
	if !d[:batch].Equal(by[:batch]) {
		return importer.Damaged("indices %v for batches of %v", []uint32(by), []uint32(d))
	}
	batches, n := product(d[:batch]), d[batch]
	if product(d[:batch+1]) > math.MaxInt32 {
		return fmt.Errorf("batches of %v", []uint32(d))
	}
	c.sized = true // the rows at which batches begin
	x = c.reshape(x, append(nn.Dims{batches * n}, d[batch+1:]...))
	ones := slices.Repeat(nn.Dims{1}, len(by)-batch)
	first := c.made(append(slices.Clone(by[:batch]), ones...), func(i int) int32 { return int32(uint32(i) * n) })
	return c.bind(c.gatherBy(x, t, 0, c.ofInts(nn.OpAdd, indices, first)))
}

// gatherND: each row of the indices names a position in the first dimensions of x; these become one, and so do its
// numbers.
func gatherND(c *call) error {
	x, indices := c.indices()
	t := c.result()
	if c.err != nil {
		return c.err
	}
	d, by := slices.Clone(c.operand(x).Dims), slices.Clone(c.operand(indices).Dims)
	depth := by[len(by)-1]
	if int64(depth) > int64(len(d)) {
		return importer.Damaged("indices of %d numbers for rank %d", depth, len(d))
	}
	k := int(depth)
	if product(d[:k]) > math.MaxInt32 {
		return fmt.Errorf("indices into %v", []uint32(d))
	}
	rows := append(nn.Dims{product(d[:k])}, d[k:]...)
	if !rows.Equal(d) {
		x = c.reshape(x, rows)
	}
	y := c.gatherBy(x, t, 0, c.flatIndices(indices, d[:k]))
	want := slices.Concat(by[:len(by)-1], d[k:])
	if len(want) == 0 || want.Equal(c.operand(y).Dims) {
		return c.bind(y)
	}
	return c.reshapeTo(y, want)
}

// flatIndices makes one number of each row of indices into dimensions d.
func (c *call) flatIndices(indices uint32, d nn.Dims) (sum uint32) {
	by := slices.Clone(c.operand(indices).Dims)
	if c.err != nil {
		return 0
	}
	rows := product(by[:len(by)-1])
	for i := range d {
		part := indices
		if len(d) > 1 { // the numbers of one dimension
			begin, size := make([]int32, len(by)), slices.Repeat([]int32{-1}, len(by))
			begin[len(by)-1], size[len(by)-1] = int32(i), 1
			part = c.emit(nn.OpSlice, intType, part, begin, size)
		}
		part = c.reshape(part, nn.Dims{rows})
		if step := product(d[i+1:]); step != 1 {
			part = c.ofInts(nn.OpMul, part, c.int32s(nn.Dims{1}, []int32{int32(step)}))
		}
		if i > 0 {
			part = c.ofInts(nn.OpAdd, sum, part)
		}
		sum = part
	}
	return sum
}

// embeddingLookup: TensorFlow Lite also looks up symmetrically quantised rows for a float result.
func embeddingLookup(c *call) error {
	lookups, values := c.two()
	t, of := c.result(), importer.TypeOf(c.operand(values))
	if !of.Of.IsQuant8() || t.Of.IsQuant8() {
		return c.finish(nn.OpEmbeddingLookup, lookups, values)
	}
	if of.Zero != 0 {
		return fmt.Errorf("values with zero point %d for a result of type %v", of.Zero, t.Of)
	}
	return c.finish(nn.OpDequantize, c.emit(nn.OpEmbeddingLookup, of, lookups, values))
}

// hashtableLookup: values of one number have no second dimension in the file.
func hashtableLookup(c *call) error {
	lookups, keys := c.two()
	values := c.data(2)
	if c.err != nil {
		return c.err
	}
	d := slices.Clone(c.operand(values).Dims)
	if len(d) > 1 {
		return c.finishAll(nn.OpHashtableLookup, lookups, keys, values)
	}
	values = c.reshape(values, nn.Dims{d[0], 1})
	y := c.emitAll(nn.OpHashtableLookup, c.results(), lookups, keys, values)
	c.bindTo(c.out[1], y[1])
	return c.reshapeTo(y[0], c.operand(lookups).Dims)
}
