package tflite

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// floatChain emits operations with float32 results, one after the other. The first error sticks.
type floatChain struct {
	*call
	err error
}

// emit emits an operation on operands (uint32) and parameters.
func (e *floatChain) emit(op nn.OperationType, inputs ...any) (x uint32) {
	var list []uint32
	for _, in := range inputs {
		if y, ok := in.(uint32); ok {
			list = append(list, y)
		} else if e.err == nil {
			list, e.err = e.Scalars(nn.TensorFloat32, list, in)
		}
	}
	if e.err == nil {
		x, e.err = e.Emit(op, spec{Of: nn.TensorFloat32}, list...)
	}
	return x
}

// split cuts the last of two dimensions into n parts.
func (e *floatChain) split(x uint32, n int) []uint32 {
	parts := make([]uint32, n)
	if e.err != nil {
		return parts
	}
	inputs, err := e.Scalars(nn.TensorFloat32, []uint32{x}, int32(1), int32(n))
	if err == nil {
		parts, err = e.EmitAll(nn.OpSplit, slices.Repeat([]spec{{Of: nn.TensorFloat32}}, n), inputs...)
	}
	if e.err = err; err != nil {
		return make([]uint32, n)
	}
	return parts
}

// floats begins a chain of operations on a float32 input.
func (c *call) floats(what string) (*floatChain, uint32, error) {
	x, err := c.data(0)
	if err != nil {
		return nil, 0, err
	}
	if s, err := c.result(); err != nil || s.Of != nn.TensorFloat32 || c.operand(x).Type != nn.TensorFloat32 {
		return nil, 0, cmp.Or(err, fmt.Errorf("%s of %v", what, c.tensor(0).typ))
	}
	return &floatChain{call: c}, x, nil
}

// end makes x the value of the output.
func (e *floatChain) end(x uint32) error {
	if e.err != nil {
		return e.err
	}
	return e.bind(x)
}

// number adds a constant of shape [1].
func (e *floatChain) number(v float32) uint32 {
	x, err := e.alpha(spec{Of: nn.TensorFloat32}, v)
	e.err = cmp.Or(e.err, err)
	return x
}
