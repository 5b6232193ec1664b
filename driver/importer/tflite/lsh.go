package tflite

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// lshTypes are the HAL's types of LSH_PROJECTION, by those of the schema: TensorFlow Lite knows the sparse one with offsets only.
var lshTypes = map[int8]ops.LSHType{1: ops.LSHSparse, 2: ops.LSHDense}

func lshProjection(c *call) error {
	hash, x := c.two()
	var weights uint32
	if c.has(2) {
		weights = c.data(2)
	} else {
		weights = c.absent(c.operand(hash).Type)
	}
	typ, ok := lshTypes[c.options.int8(0)]
	if !ok {
		return fmt.Errorf("type %d", c.options.int8(0))
	}
	return c.finish(nn.OpLshProjection, hash, x, weights, int32(typ))
}
