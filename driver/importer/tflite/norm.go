package tflite

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// l2Normalization runs over the last dimension in both worlds. No version of TensorFlow Lite fuses RELU.
func l2Normalization(c *call) error {
	x := c.data(0)
	act, tanh := c.activation(0)
	if act != nn.ActNone {
		return fmt.Errorf("fused %v", act)
	}
	return c.finishFused(nn.OpL2Normalization, tanh, x)
}

// localResponse runs over the last dimension in both worlds.
func localResponse(c *call) error {
	o := &c.options
	return c.finish(nn.OpLocalResponseNormalization, c.data(0), o.int32(0, 0), o.float32(1), o.float32(2), o.float32(3))
}
