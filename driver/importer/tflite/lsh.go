package tflite

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// lshTypes are the HAL's types of LSH_PROJECTION, by those of the schema: TensorFlow Lite knows the sparse one with offsets only.
var lshTypes = map[int8]ops.LSHType{1: ops.LSHSparse, 2: ops.LSHDense}

func lshProjection(c *call) error {
	hash, x, err := c.two()
	if err != nil {
		return err
	}
	weights := uint32(0)
	if c.has(2) {
		weights, err = c.data(2)
	} else {
		weights = c.Add(nn.Operand{Type: c.operand(hash).Type, Lifetime: nn.NoValue})
	}
	if err != nil {
		return err
	}
	typ, ok := lshTypes[c.options.int8(0)]
	if !ok {
		return fmt.Errorf("type %d", c.options.int8(0))
	}
	inputs, err := c.Scalars(nn.TensorInt32, []uint32{hash, x, weights}, int32(typ))
	if err != nil {
		return err
	}
	return c.finish(nn.OpLshProjection, inputs...)
}
