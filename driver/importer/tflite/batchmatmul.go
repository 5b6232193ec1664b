package tflite

import (
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// Vtable slots of BatchMatMulOptions.
const matmulLeft, matmulRight = 0, 1

// batchMatmul: the HAL's operation wants the same batches on both sides, of rank 4 at most.
func batchMatmul(c *call) error {
	x, y := c.two()
	shape := c.matrices(&x, &y)
	z := c.emit(nn.OpBatchMatmul, c.result(), x, y, c.options.bool(matmulLeft), c.options.bool(matmulRight))
	if c.err != nil {
		return c.err
	}
	d := c.operand(z).Dims
	if full := append(shape, d[len(d)-2:]...); !full.Equal(d) {
		z = c.reshape(z, full)
	}
	return c.bind(z)
}

// matrices gives x and y the batches to which theirs are broadcast, and a rank of at most 4. It returns these batches as the
// file has them. A tensor of rank 1 is left to the table, which refuses it.
func (c *call) matrices(x, y *uint32) nn.Dims {
	dx, dy := c.operand(*x).Dims, c.operand(*y).Dims
	if len(dx) < 2 || len(dy) < 2 {
		return nil
	}
	// Broadcast by the batches alone.
	shape, err := broadcastDims(dx[:len(dx)-2], dy[:len(dy)-2])
	if err != nil {
		c.fail(err)
		return nil
	}
	for _, side := range []struct {
		operand *uint32
		matrix  nn.Dims
	}{{x, slices.Clone(dx[len(dx)-2:])}, {y, slices.Clone(dy[len(dy)-2:])}} {
		*side.operand = c.broadcast(*side.operand, slices.Concat(shape, side.matrix))
		if len(shape) > 2 {
			n, err := shape.Elements()
			c.fail(err)
			*side.operand = c.reshape(*side.operand, slices.Concat(nn.Dims{n}, side.matrix))
		}
	}
	return shape
}
