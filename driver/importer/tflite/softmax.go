package tflite

import "github.com/nngpu/nngpu/driver/nn"

// softmax runs over the last dimension in both worlds.
func softmax(c *call) error {
	return c.normalise(nn.OpSoftmax, c.options.float32(0))
}

// logSoftmax has no beta in TensorFlow Lite and runs over the last dimension.
func logSoftmax(c *call) error {
	return c.normalise(nn.OpLogSoftmax, float32(1), int32(-1))
}

func (c *call) normalise(op nn.OperationType, parameters ...any) error {
	x, err := c.data(0)
	if err != nil {
		return err
	}
	inputs, err := c.Scalars(c.operand(x).Type, []uint32{x}, parameters...)
	if err != nil {
		return err
	}
	return c.finish(op, inputs...)
}
