package tflite

import "github.com/nngpu/nngpu/driver/nn"

// Vtable slots of Pool2DOptions.
const poolPadding, poolStrideW, poolStrideH, poolFilterW, poolFilterH, poolActivation = 0, 1, 2, 3, 4, 5

// pool translates the three 2-D pools to their implicit-padding form.
func pool(op nn.OperationType) func(*call) error {
	return func(c *call) error {
		x, scheme := c.data(0), c.padding(poolPadding)
		act, tanh := c.activation(poolActivation)
		o := c.options
		return c.finishFused(op, tanh, x, scheme,
			o.int32(poolStrideW, 0), o.int32(poolStrideH, 0), o.int32(poolFilterW, 0), o.int32(poolFilterH, 0), act)
	}
}
