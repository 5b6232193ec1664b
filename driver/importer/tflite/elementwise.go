package tflite

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// two returns the operands of the first two inputs.
func (c *call) two() (x, y uint32, err error) {
	if x, err = c.data(0); err != nil {
		return 0, 0, err
	}
	y, err = c.data(1)
	return x, y, err
}

// fusedBinary translates operators whose first option is a fused activation.
func fusedBinary(op nn.OperationType) func(*call) error {
	return func(c *call) error {
		x, y, err := c.two()
		if err != nil {
			return err
		}
		return c.arithmetic(op, x, y)
	}
}

func (c *call) arithmetic(op nn.OperationType, x, y uint32) error {
	act, tanh, err := c.activation(0)
	if err != nil {
		return err
	}
	inputs, err := c.Scalars(c.operand(x).Type, []uint32{x, y}, act)
	if err != nil {
		return err
	}
	return c.finishFused(op, tanh, inputs...)
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
		x, y, err := c.two()
		if err != nil {
			return err
		}
		return c.finish(op, x, y)
	}
}

// extremum: TensorFlow Lite compares stored integers, which is right only when all scales are the same; the
// HAL's operation compares values.
func extremum(op nn.OperationType) func(*call) error {
	return func(c *call) error {
		x, y, err := c.two()
		if err != nil {
			return err
		}
		s, err := c.result()
		if err != nil {
			return err
		}
		if s.Of.IsQuant8() && (importer.TypeOf(c.operand(x)) != s || importer.TypeOf(c.operand(y)) != s) {
			return errors.New("quantisation of inputs and output differs")
		}
		return c.finish(op, x, y)
	}
}

// comparison: TensorFlow Lite compares 8-bit numbers in steps of 1/256 (ComparisonQuantized of its kernels/comparisons.cc),
// the HAL's operation real numbers. Both find the same where one scale that is no finer makes them.
func comparison(op nn.OperationType) func(*call) error {
	return func(c *call) error {
		x, y, err := c.two()
		if err != nil {
			return err
		}
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
	x, y, err := c.two()
	if err != nil {
		return err
	}
	s, err := c.result()
	if err != nil {
		return err
	}
	inputs, err := c.Scalars(s.Of, []uint32{x, y}, nn.ActNone)
	if err != nil || s.Of == nn.TensorInt32 {
		return cmp.Or(err, c.finish(nn.OpDiv, inputs...))
	}
	if x, err = c.Emit(nn.OpDiv, s, inputs...); err != nil {
		return err
	}
	return c.finish(nn.OpFloor, x)
}

// floorMod is what a division that rounds down leaves. The rounding of a quotient of floats could make it wrong by y.
func floorMod(c *call) error {
	x, y, err := c.two()
	if err != nil {
		return err
	}
	if c.operand(x).Type != nn.TensorInt32 {
		return fmt.Errorf("remainder of %v", c.tensor(0).typ)
	}
	q, err := c.ofInts(nn.OpDiv, x, y)
	if err == nil {
		q, err = c.ofInts(nn.OpMul, q, y)
	}
	if err == nil {
		q, err = c.ofInts(nn.OpSub, x, q)
	}
	if err != nil {
		return err
	}
	return c.bind(q)
}

// ceil is -floor(-x).
func ceil(c *call) error {
	x, err := c.data(0)
	if err != nil {
		return err
	}
	s, err := c.result()
	if err != nil {
		return err
	}
	if x, err = c.Emit(nn.OpNeg, s, x); err != nil {
		return err
	}
	if x, err = c.Emit(nn.OpFloor, s, x); err != nil {
		return err
	}
	return c.finish(nn.OpNeg, x)
}

// addN adds one after the other, as TensorFlow Lite does.
func addN(c *call) error {
	sum, err := c.data(0)
	if err != nil {
		return err
	}
	s, err := c.result()
	if err != nil {
		return err
	}
	if s.Of != nn.TensorFloat32 && s.Of != nn.TensorInt32 {
		return fmt.Errorf("sum of %v", c.output().typ)
	}
	for i := range c.in[1:] {
		x, err := c.data(i + 1)
		if err != nil {
			return err
		}
		if !c.operand(x).Dims.Equal(c.operand(sum).Dims) {
			return importer.Damaged("input %d has shape %v, those before %v", i+1, []uint32(c.operand(x).Dims), []uint32(c.operand(sum).Dims))
		}
		inputs, err := c.Scalars(s.Of, []uint32{sum, x}, nn.ActNone)
		if err != nil {
			return err
		}
		if sum, err = c.Emit(nn.OpAdd, s, inputs...); err != nil {
			return err
		}
	}
	if len(c.in) == 1 {
		if sum, err = c.copy(sum); err != nil {
			return err
		}
	}
	return c.bind(sum)
}

// square is x * x.
func square(c *call) error {
	x, err := c.data(0)
	if err != nil {
		return err
	}
	inputs, err := c.Scalars(c.operand(x).Type, []uint32{x, x}, nn.ActNone)
	if err != nil {
		return err
	}
	return c.finish(nn.OpMul, inputs...)
}

// unary translates operators of one tensor without options that count.
func unary(op nn.OperationType) func(*call) error {
	return func(c *call) error {
		x, err := c.data(0)
		if err != nil {
			return err
		}
		return c.finish(op, x)
	}
}
