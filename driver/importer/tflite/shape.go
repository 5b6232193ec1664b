package tflite

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// reshape takes the new shape from the second input, else from the options, else from the output.
func reshape(c *call) error {
	x := c.data(0)
	var sizes []int32
	switch {
	case c.has(1):
		sizes = c.ints(1, "shape")
	case c.options.has(0):
		sizes = c.options.int32s(0)
		if len(sizes) == 1 && sizes[0] == 0 { // how old converters write rank 0
			sizes = nil
		}
	case c.output().dynamic():
		return fmt.Errorf("shape is not a constant")
	default:
		sizes = c.output().shape
	}
	if c.err != nil {
		return c.err
	}
	d, err := resolve(sizes, c.operand(x).Dims)
	if err != nil {
		return err
	}
	return c.reshapeTo(x, d)
}

// reshapeTo emits the RESHAPE that computes the output, which must be quantised like the input: TensorFlow
// Lite moves stored integers.
func (c *call) reshapeTo(x uint32, d nn.Dims) error { return c.reshapeInto(0, x, d) }

// reshapeInto is reshapeTo for output i.
func (c *call) reshapeInto(i int, x uint32, d nn.Dims) error {
	c.bindTo(c.out[i], c.emit(nn.OpReshape, c.resultOf(i), x, dims32(d)))
	return c.err
}

// resolve completes a shape with at most one -1 for the elements of x.
func resolve(sizes []int32, x nn.Dims) (nn.Dims, error) {
	if len(sizes) > maxRank {
		return nil, fmt.Errorf("shape of rank %d", len(sizes))
	}
	total, err := x.Elements()
	if err != nil {
		return nil, importer.Damaged("%w", err)
	}
	d, open := make(nn.Dims, len(sizes)), -1
	for i, n := range sizes {
		switch {
		case n > 0:
			d[i] = uint32(n)
		case n == -1 && open < 0:
			d[i], open = 1, i
		default:
			return nil, fmt.Errorf("shape %v", sizes)
		}
	}
	n, err := d.Elements()
	if err != nil {
		return nil, importer.Damaged("%w", err)
	}
	if open >= 0 {
		d[open] = total / n
		n *= d[open]
	}
	if n != total {
		return nil, importer.Damaged("shape %v for %d elements", sizes, total)
	}
	if len(d) == 0 {
		d = nn.Dims{1}
	}
	return d, nil
}

// squeeze drops the named dimensions, or every dimension of size 1 when none is named.
func squeeze(c *call) error {
	x := c.data(0)
	if c.err != nil {
		return c.err
	}
	d := slices.Clone(c.operand(x).Dims)
	axes := slices.Clone(c.options.int32s(0))
	if len(axes) > maxRank {
		return importer.Damaged("%d axes", len(axes))
	}
	if len(axes) == 0 {
		for i, n := range d {
			if n == 1 {
				axes = append(axes, int32(i))
			}
		}
	}
	if len(axes) == 0 || len(c.tensor(0).shape) == 0 {
		return c.reshapeTo(x, d)
	}
	if c.operand(x).Type == nn.TensorInt32 {
		return c.squeezeInts(x, axes)
	}
	return c.finish(nn.OpSqueeze, x, axes)
}

// expandDims: a tensor of rank 0 is [1] already.
func expandDims(c *call) error {
	x, axis := c.data(0), c.int(1, "axis")
	if c.err != nil {
		return c.err
	}
	if len(c.tensor(0).shape) == 0 && c.operand(x).Dims.Equal(nn.Dims{1}) && len(c.output().shape) == 1 {
		return c.reshapeTo(x, nn.Dims{1})
	}
	return c.finish(nn.OpExpandDims, x, axis)
}

func transpose(c *call) error {
	x, perm := c.data(0), c.ints(1, "permutation")
	if len(perm) == 0 {
		return fmt.Errorf("no permutation")
	}
	if c.operand(x).Type == nn.TensorInt32 {
		return c.transposeInts(x, perm)
	}
	return c.finish(nn.OpTranspose, x, perm)
}

func slice(c *call) error {
	return c.finish(nn.OpSlice, c.data(0), c.ints(1, "begin"), c.ints(2, "size"))
}

// concatenation: the HAL's has no activation, so that a fused one becomes an operation.
func concatenation(c *call) error {
	var inputs []uint32
	for i := range c.in {
		inputs = append(inputs, c.data(i))
	}
	act, tanh := c.activation(1)
	axis, rank := c.options.int32(0, 0), len(c.operand(inputs[0]).Dims)
	if axis < 0 {
		axis += int32(rank)
	}
	if c.operand(inputs[0]).Type == nn.TensorInt32 {
		at := c.axisOf(axis, rank)
		if c.err != nil || act != nn.ActNone || tanh {
			return errors.New("an activation of INT32")
		}
		return c.concatenateInts(inputs, at)
	}
	if act == nn.ActNone {
		return c.finishFused(nn.OpConcatenation, tanh, inputs, axis)
	}
	return c.finish(map[nn.Activation]nn.OperationType{
		nn.ActRelu: nn.OpRelu, nn.ActRelu1: nn.OpRelu1, nn.ActRelu6: nn.OpRelu6,
	}[act], c.emit(nn.OpConcatenation, c.result(), inputs, axis))
}
