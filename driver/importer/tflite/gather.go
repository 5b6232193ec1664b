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

// made is a TENSOR_INT32 constant of which at gives the elements. The size of the file bounds it.
func (c *call) made(d nn.Dims, at func(i int) int32) (uint32, error) {
	n, err := d.Elements()
	if err != nil || n > 1<<28 {
		return 0, fmt.Errorf("%v indices", []uint32(d))
	}
	o := spec{Of: nn.TensorInt32}.Operand(d, nn.ConstantCopy)
	var value []byte
	if o.Location, value, err = c.Reserve(4 * int(n)); err != nil {
		return 0, err
	}
	for i := range int(n) {
		binary.LittleEndian.PutUint32(value[4*i:], uint32(at(i)))
	}
	return c.Add(o), nil
}

// gatherBy emits a GATHER by an operand of indices.
func (c *call) gatherBy(x uint32, t spec, axis int, indices uint32) (uint32, error) {
	inputs, err := c.Scalars(t.Of, []uint32{x}, int32(axis))
	if err != nil {
		return 0, err
	}
	return c.Emit(nn.OpGather, t, append(inputs, indices)...)
}

// axisOf brings an axis of -rank to rank-1 to 0 to rank-1.
func axisOf(axis int32, rank int) (int, error) {
	n := int64(axis)
	if n < 0 {
		n += int64(rank)
	}
	if n < 0 || n >= int64(rank) {
		return 0, importer.Damaged("axis %d of rank %d", axis, rank)
	}
	return int(n), nil
}

// product is the number of elements of some dimensions of a tensor, which has no more in all.
func product(d nn.Dims) uint32 {
	n := uint32(1)
	for _, m := range d {
		n *= m
	}
	return n
}

// indices returns the operands of a tensor and of indices into it.
func (c *call) indices() (x, indices uint32, err error) {
	if x, indices, err = c.two(); err != nil {
		return 0, 0, err
	}
	if t := c.operand(indices).Type; t != nn.TensorInt32 {
		return 0, 0, fmt.Errorf("indices of type %v", c.tensor(1).typ)
	}
	return x, indices, nil
}

// gather: in batches, the dimensions before the axis and of the indices are one, and each batch's indices count from its first row.
func gather(c *call) error {
	x, indices, err := c.indices()
	if err != nil {
		return err
	}
	t, err := c.result()
	if err != nil {
		return err
	}
	d, by := slices.Clone(c.operand(x).Dims), slices.Clone(c.operand(indices).Dims)
	axis, err := axisOf(c.options.int32(gatherAxis, 0), len(d))
	if err != nil {
		return err
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
	y, err := c.gatherBy(x, t, axis, indices)
	if err != nil {
		return err
	}
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
	x, err := c.reshape(x, append(nn.Dims{batches * n}, d[batch+1:]...))
	if err != nil {
		return err
	}
	ones := slices.Repeat(nn.Dims{1}, len(by)-batch)
	list, err := c.made(append(slices.Clone(by[:batch]), ones...), func(i int) int32 { return int32(uint32(i) * n) })
	if err != nil {
		return err
	}
	if indices, err = c.ofInts(nn.OpAdd, indices, list); err != nil {
		return err
	}
	y, err := c.gatherBy(x, t, 0, indices)
	if err != nil {
		return err
	}
	return c.bind(y)
}

// ofInts emits an arithmetic operation on two TENSOR_INT32.
func (c *call) ofInts(op nn.OperationType, x, y uint32) (uint32, error) {
	inputs, err := c.Scalars(nn.TensorInt32, []uint32{x, y}, nn.ActNone)
	if err != nil {
		return 0, err
	}
	return c.Emit(op, spec{Of: nn.TensorInt32}, inputs...)
}

// gatherND: each row of the indices names the first dimensions of x, which become one; its numbers become one, too.
func gatherND(c *call) error {
	x, indices, err := c.indices()
	if err != nil {
		return err
	}
	t, err := c.result()
	if err != nil {
		return err
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
		if x, err = c.reshape(x, rows); err != nil {
			return err
		}
	}
	if indices, err = c.flatIndices(indices, d[:k]); err != nil {
		return err
	}
	y, err := c.gatherBy(x, t, 0, indices)
	if err != nil {
		return err
	}
	want := slices.Concat(by[:len(by)-1], d[k:])
	if len(want) == 0 || want.Equal(c.operand(y).Dims) {
		return c.bind(y)
	}
	return c.reshapeTo(y, want)
}

// flatIndices makes a number of each row of indices into dimensions d.
func (c *call) flatIndices(indices uint32, d nn.Dims) (uint32, error) {
	by := slices.Clone(c.operand(indices).Dims)
	rows := product(by[:len(by)-1])
	var sum uint32
	for i := range d {
		part := indices
		var err error
		if len(d) > 1 { // the numbers of one dimension
			begin, size := make([]int32, len(by)), slices.Repeat([]int32{-1}, len(by))
			begin[len(by)-1], size[len(by)-1] = int32(i), 1
			if part, err = c.withInts(nn.OpSlice, spec{Of: nn.TensorInt32}, part, [][]int32{begin, size}); err != nil {
				return 0, err
			}
		}
		if part, err = c.reshape(part, nn.Dims{rows}); err != nil {
			return 0, err
		}
		if step := product(d[i+1:]); step != 1 {
			by, err := c.Int32s(nn.Dims{1}, []int32{int32(step)})
			if err != nil {
				return 0, err
			}
			if part, err = c.ofInts(nn.OpMul, part, by); err != nil {
				return 0, err
			}
		}
		if i > 0 {
			if part, err = c.ofInts(nn.OpAdd, sum, part); err != nil {
				return 0, err
			}
		}
		sum = part
	}
	return sum, nil
}

// embeddingLookup: TensorFlow Lite also looks up quantised rows for a float result, symmetric ones.
func embeddingLookup(c *call) error {
	lookups, values, err := c.two()
	if err != nil {
		return err
	}
	t, err := c.result()
	if err != nil {
		return err
	}
	of := importer.TypeOf(c.operand(values))
	if !of.Of.IsQuant8() || t.Of.IsQuant8() {
		return c.finish(nn.OpEmbeddingLookup, lookups, values)
	}
	if of.Zero != 0 {
		return fmt.Errorf("values with zero point %d for a result of type %v", of.Zero, t.Of)
	}
	x, err := c.Emit(nn.OpEmbeddingLookup, of, lookups, values)
	if err != nil {
		return err
	}
	return c.finish(nn.OpDequantize, x)
}

// hashtableLookup: values of one number have no second dimension in the file.
func hashtableLookup(c *call) error {
	lookups, keys, err := c.two()
	if err != nil {
		return err
	}
	values, err := c.data(2)
	if err != nil {
		return err
	}
	d := slices.Clone(c.operand(values).Dims)
	if len(d) > 1 {
		return c.finishAll(nn.OpHashtableLookup, lookups, keys, values)
	}
	if values, err = c.reshape(values, nn.Dims{d[0], 1}); err != nil {
		return err
	}
	var types []spec
	for i := range c.out {
		t, err := c.resultOf(i)
		if err != nil {
			return err
		}
		types = append(types, t)
	}
	y, err := c.EmitAll(nn.OpHashtableLookup, types, lookups, keys, values)
	if err != nil {
		return err
	}
	if err := c.bindTo(c.out[1], y[1]); err != nil {
		return err
	}
	return c.reshapeTo(y[0], c.operand(lookups).Dims)
}
