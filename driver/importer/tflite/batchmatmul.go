package tflite

import (
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// Vtable slots of BatchMatMulOptions.
const matmulLeft, matmulRight = 0, 1

// batchMatmul: the HAL's operation wants the same batches on both sides, of rank 4 at most.
func batchMatmul(c *call) error {
	x, y, err := c.two()
	if err != nil {
		return err
	}
	shape, err := c.matrices(&x, &y)
	if err != nil {
		return err
	}
	inputs, err := c.Scalars(c.operand(x).Type, []uint32{x, y}, c.options.bool(matmulLeft), c.options.bool(matmulRight))
	if err != nil {
		return err
	}
	s, err := c.result()
	if err != nil {
		return err
	}
	z, err := c.Emit(nn.OpBatchMatmul, s, inputs...)
	if err != nil {
		return err
	}
	d := c.operand(z).Dims
	if full := append(shape, d[len(d)-2:]...); !full.Equal(d) {
		if z, err = c.reshape(z, full); err != nil {
			return err
		}
	}
	return c.bind(z)
}

// matrices gives x and y the batches to which theirs are broadcast, and a rank of at most 4. It returns these batches as the
// file has them. A tensor of rank 1 is left to the table, which refuses it.
func (c *call) matrices(x, y *uint32) (nn.Dims, error) {
	dx, dy := c.operand(*x).Dims, c.operand(*y).Dims
	if len(dx) < 2 || len(dy) < 2 {
		return nil, nil
	}
	// Broadcast by the batches alone.
	shape, err := broadcastDims(dx[:len(dx)-2], dy[:len(dy)-2])
	if err != nil {
		return nil, err
	}
	for _, side := range []struct {
		operand *uint32
		matrix  nn.Dims
	}{{x, slices.Clone(dx[len(dx)-2:])}, {y, slices.Clone(dy[len(dy)-2:])}} {
		to := slices.Concat(shape, side.matrix)
		if *side.operand, err = c.broadcast(*side.operand, to); err != nil {
			return nil, err
		}
		if len(shape) > 2 {
			n, err := shape.Elements()
			if err != nil {
				return nil, err
			}
			if *side.operand, err = c.reshape(*side.operand, slices.Concat(nn.Dims{n}, side.matrix)); err != nil {
				return nil, err
			}
		}
	}
	return shape, nil
}
