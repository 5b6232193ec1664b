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
	return func(c *call) error { return c.finish(op, c.data(0), c.options.int32(0, 0)) }
}

// spatial returns input 0 as images [N, H, W, C], the block, and the third input, pairs for height and width. TensorFlow Lite
// also has images of one dimension, [N, H, C], which become images of width 1.
func (c *call) spatial(what string) (x, block uint32, pairs []int32) {
	x = c.data(0)
	sizes := c.ints(1, "block")
	pairs = c.ints(2, what)
	d := c.operand(x).Dims
	if n := len(d) - 2; n < 1 || n > 2 || len(sizes) != n || len(pairs) != 2*n {
		c.fail(fmt.Errorf("a block of %d and %s of %d sizes for rank %d", len(sizes), what, len(pairs), len(d)))
		return 0, 0, nil
	}
	if len(d) == 3 {
		sizes, pairs = append(slices.Clone(sizes), 1), append(slices.Clone(pairs), 0, 0)
		x = c.reshape(x, nn.Dims{d[0], d[1], 1, d[2]})
	}
	return x, c.int32s(nn.Dims{2}, sizes), pairs
}

// finishSpatial emits the operation that computes the output, without the width that spatial added.
func (c *call) finishSpatial(op nn.OperationType, inputs ...any) error {
	if len(c.operand(c.data(0)).Dims) == 4 {
		return c.finish(op, inputs...)
	}
	y := c.emit(op, c.result(), inputs...)
	if c.err != nil {
		return c.err
	}
	d := c.operand(y).Dims
	return c.reshapeTo(y, nn.Dims{d[0], d[1], d[3]})
}

func spaceToBatch(c *call) error {
	x, block, pads := c.spatial("paddings")
	return c.finishSpatial(nn.OpSpaceToBatchNd, x, block, c.int32s(nn.Dims{2, 2}, pads))
}

// batchToSpace: the HAL's operation does not crop, so that a SLICE does.
func batchToSpace(c *call) error {
	x, block, crops := c.spatial("crops")
	if c.err != nil {
		return c.err
	}
	if slices.Max(crops) == 0 && slices.Min(crops) == 0 {
		return c.finishSpatial(nn.OpBatchToSpaceNd, x, block)
	}
	y := c.emit(nn.OpBatchToSpaceNd, importer.TypeOf(c.operand(x)), x, block)
	if c.err != nil {
		return c.err
	}
	begin, size := []int32{0, crops[0], crops[2], 0}, []int32{-1, 0, 0, -1}
	for i := 1; i <= 2; i++ {
		n := int64(c.operand(y).Dims[i]) - int64(crops[2*i-2]) - int64(crops[2*i-1])
		if crops[2*i-2] < 0 || crops[2*i-1] < 0 || n < 1 || n > math.MaxInt32 {
			return fmt.Errorf("crops %v of %v", crops, []uint32(c.operand(y).Dims))
		}
		size[i] = int32(n)
	}
	return c.finishSpatial(nn.OpSlice, y, begin, size)
}
