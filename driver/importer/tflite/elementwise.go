package tflite

import (
	"errors"
	"fmt"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// two returns the operands of the first two inputs.
func (c *call) two() (x, y uint32) { return c.data(0), c.data(1) }

// fusedBinary translates operators whose first option is a fused activation.
func fusedBinary(op nn.OperationType) func(*call) error {
	return func(c *call) error {
		x, y := c.two()
		act, tanh := c.activation(0)
		return c.finishFused(op, tanh, x, y, act)
	}
}

// div: integers are divided by an operation of their own.
func div(c *call) error {
	if c.has(0) && c.tensor(0).typ == typeInt32 {
		return divideInts(c)
	}
	return fusedBinary(nn.OpDiv)(c)
}

// pairwise translates operators of two tensors without options.
func pairwise(op nn.OperationType) func(*call) error {
	return func(c *call) error {
		x, y := c.two()
		return c.finish(op, x, y)
	}
}

// extremum: TensorFlow Lite compares stored integers, which is right only when all scales are the same; the
// HAL's operation compares values.
func extremum(op nn.OperationType) func(*call) error {
	return func(c *call) error {
		x, y := c.two()
		s := c.result()
		if s.Of.IsQuant8() && (importer.TypeOf(c.operand(x)) != s || importer.TypeOf(c.operand(y)) != s) {
			return errors.New("quantisation of inputs and output differs")
		}
		return c.finish(op, x, y)
	}
}

// comparison: TensorFlow Lite compares 8-bit numbers in steps of 1/256 (ComparisonQuantized of its
// kernels/comparisons.cc), the HAL's operation real numbers. The results are the same where both inputs have one
// quantisation, no finer than that.
func comparison(op nn.OperationType) func(*call) error {
	return func(c *call) error {
		x, y := c.two()
		if o := c.operand(x); o.Type.IsQuant8() {
			if importer.TypeOf(o) != importer.TypeOf(c.operand(y)) {
				return errors.New("quantisation of the inputs differs")
			}
			if o.Scale < 1./256 {
				return fmt.Errorf("scale %v is finer than the steps of 1/256 in which TensorFlow Lite compares", o.Scale)
			}
		}
		return c.finish(op, x, y)
	}
}

// floorDivision: the HAL's division of integers rounds down; that of floats is followed by FLOOR.
func floorDivision(c *call) error {
	x, y := c.two()
	s := c.result()
	x = c.emit(nn.OpDiv, s, x, y, nn.ActNone)
	if s.Of == nn.TensorInt32 {
		return c.bind(x)
	}
	return c.finish(nn.OpFloor, x)
}

// floorMod is the remainder of a division that rounds down. Rounding the quotient of floats could make it wrong by y.
func floorMod(c *call) error {
	x, y := c.two()
	if c.err == nil && c.operand(x).Type != nn.TensorInt32 {
		return fmt.Errorf("remainder of %v", c.tensor(0).typ)
	}
	return c.bind(c.ofInts(nn.OpSub, x, c.ofInts(nn.OpMul, c.ofInts(nn.OpDiv, x, y), y)))
}

// ceil is -floor(-x).
func ceil(c *call) error {
	x, s := c.data(0), c.result()
	return c.finish(nn.OpNeg, c.emit(nn.OpFloor, s, c.emit(nn.OpNeg, s, x)))
}

// addN adds one tensor after the other, as TensorFlow Lite does.
func addN(c *call) error {
	sum, s := c.data(0), c.result()
	if s.Of != nn.TensorFloat32 && s.Of != nn.TensorInt32 {
		return fmt.Errorf("sum of %v", c.output().typ)
	}
	for i := range c.in[1:] {
		x := c.data(i + 1)
		if !c.operand(x).Dims.Equal(c.operand(sum).Dims) {
			return importer.Damaged("input %d has shape %v, those before %v", i+1, []uint32(c.operand(x).Dims), []uint32(c.operand(sum).Dims))
		}
		sum = c.emit(nn.OpAdd, s, sum, x, nn.ActNone)
	}
	if len(c.in) == 1 {
		sum = c.copy(sum)
	}
	return c.bind(sum)
}

// square is x * x.
func square(c *call) error {
	x := c.data(0)
	return c.finish(nn.OpMul, x, x, nn.ActNone)
}

// unary translates operators of one tensor without options that count.
func unary(op nn.OperationType) func(*call) error {
	return func(c *call) error { return c.finish(op, c.data(0)) }
}
