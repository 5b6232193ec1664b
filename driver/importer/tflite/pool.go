package tflite

import "github.com/nngpu/nngpu/driver/nn"

// Vtable slots of Pool2DOptions.
const poolPadding, poolStrideW, poolStrideH, poolFilterW, poolFilterH, poolActivation = 0, 1, 2, 3, 4, 5

// pool translates the three 2-D pools to their implicit-padding form.
func pool(op nn.OperationType) func(*call) error {
	return func(c *call) error {
		x, err := c.data(0)
		if err != nil {
			return err
		}
		scheme, err := c.padding(poolPadding)
		if err != nil {
			return err
		}
		act, tanh, err := c.activation(poolActivation)
		if err != nil {
			return err
		}
		o := c.options
		inputs, err := c.Scalars(c.operand(x).Type, []uint32{x}, scheme,
			o.int32(poolStrideW, 0), o.int32(poolStrideH, 0), o.int32(poolFilterW, 0), o.int32(poolFilterH, 0), act)
		if err != nil {
			return err
		}
		return c.finishFused(op, tanh, inputs...)
	}
}
