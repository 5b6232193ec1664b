package tflite

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// Types without a quantisation.
var (
	floatType = spec{Of: nn.TensorFloat32}
	intType   = spec{Of: nn.TensorInt32}
	boolType  = spec{Of: nn.TensorBool8}
)

// float emits an operation with a float32 result.
func (c *call) float(op nn.OperationType, inputs ...any) uint32 {
	return c.emit(op, floatType, inputs...)
}

// floats returns input 0 of an operator of float32, of the given name.
func (c *call) floats(what string) uint32 {
	x, s := c.data(0), c.result()
	if c.err == nil && (s.Of != nn.TensorFloat32 || c.operand(x).Type != nn.TensorFloat32) {
		c.err = fmt.Errorf("%s of %v", what, c.tensor(0).typ)
	}
	return x
}

// real adds a float32 constant of shape [1].
func (c *call) real(v float32) uint32 { return c.alpha(floatType, v) }

// test emits an operation whose result is booleans.
func (c *call) test(op nn.OperationType, x, y uint32) uint32 { return c.emit(op, boolType, x, y) }

// ofInts emits an arithmetic operation on two TENSOR_INT32.
func (c *call) ofInts(op nn.OperationType, x, y uint32) uint32 {
	return c.emit(op, intType, x, y, nn.ActNone)
}
