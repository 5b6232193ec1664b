package tflite

import (
	"fmt"
	"math"
	"slices"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// blocks translates SPACE_TO_DEPTH and DEPTH_TO_SPACE.
func blocks(op nn.OperationType) func(*call) error {
	return func(c *call) error {
		x, err := c.data(0)
		if err != nil {
			return err
		}
		inputs, err := c.Scalars(nn.TensorFloat32, []uint32{x}, c.options.int32(0, 0))
		if err != nil {
			return err
		}
		return c.finish(op, inputs...)
	}
}

// spatial returns input 0 as images [N, H, W, C], the block, and the third input, pairs for height and width. TensorFlow Lite
// also has images of one dimension, [N, H, C], which become images of width 1.
func (c *call) spatial(what string) (x, block uint32, pairs []int32, err error) {
	if x, err = c.data(0); err != nil {
		return 0, 0, nil, err
	}
	sizes, err := c.ints(1, "block")
	if err != nil {
		return 0, 0, nil, err
	}
	if pairs, err = c.ints(2, what); err != nil {
		return 0, 0, nil, err
	}
	d := c.operand(x).Dims
	if n := len(d) - 2; n < 1 || n > 2 || len(sizes) != n || len(pairs) != 2*n {
		return 0, 0, nil, fmt.Errorf("a block of %d and %s of %d sizes for rank %d", len(sizes), what, len(pairs), len(d))
	}
	if len(d) == 3 {
		sizes, pairs = append(slices.Clone(sizes), 1), append(slices.Clone(pairs), 0, 0)
		if x, err = c.reshape(x, nn.Dims{d[0], d[1], 1, d[2]}); err != nil {
			return 0, 0, nil, err
		}
	}
	block, err = c.Int32s(nn.Dims{2}, sizes)
	return x, block, pairs, err
}

// finishSpatial emits the operation that computes the output, without the width that spatial added.
func (c *call) finishSpatial(op nn.OperationType, inputs ...uint32) error {
	x, err := c.data(0)
	if err != nil {
		return err
	}
	if len(c.operand(x).Dims) == 4 {
		return c.finish(op, inputs...)
	}
	s, err := c.result()
	if err != nil {
		return err
	}
	y, err := c.Emit(op, s, inputs...)
	if err != nil {
		return err
	}
	d := c.operand(y).Dims
	return c.reshapeTo(y, nn.Dims{d[0], d[1], d[3]})
}

func spaceToBatch(c *call) error {
	x, block, pads, err := c.spatial("paddings")
	if err != nil {
		return err
	}
	list, err := c.Int32s(nn.Dims{2, 2}, pads)
	if err != nil {
		return err
	}
	return c.finishSpatial(nn.OpSpaceToBatchNd, x, block, list)
}

// batchToSpace: the HAL's operation does not crop, so that a SLICE does.
func batchToSpace(c *call) error {
	x, block, crops, err := c.spatial("crops")
	if err != nil {
		return err
	}
	if slices.Max(crops) == 0 && slices.Min(crops) == 0 {
		return c.finishSpatial(nn.OpBatchToSpaceNd, x, block)
	}
	y, err := c.Emit(nn.OpBatchToSpaceNd, importer.TypeOf(c.operand(x)), x, block)
	if err != nil {
		return err
	}
	begin, size := []int32{0, crops[0], crops[2], 0}, []int32{-1, 0, 0, -1}
	for i := 1; i <= 2; i++ {
		n := int64(c.operand(y).Dims[i]) - int64(crops[2*i-2]) - int64(crops[2*i-1])
		if crops[2*i-2] < 0 || crops[2*i-1] < 0 || n < 1 || n > math.MaxInt32 {
			return fmt.Errorf("crops %v of %v", crops, []uint32(c.operand(y).Dims))
		}
		size[i] = int32(n)
	}
	inputs := []uint32{y}
	for _, v := range [][]int32{begin, size} {
		list, err := c.Int32s(nn.Dims{4}, v)
		if err != nil {
			return err
		}
		inputs = append(inputs, list)
	}
	return c.finishSpatial(nn.OpSlice, inputs...)
}
