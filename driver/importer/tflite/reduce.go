package tflite

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// mean: the HAL's operation keeps scale and zero point. Where the file's do not agree and the table insists,
// the mean is computed in float32, so that it is still rounded only once, to the output's steps.
func mean(c *call) error {
	x, err := c.data(0)
	if err != nil {
		return err
	}
	keep := int32(0)
	if c.options.bool(0) {
		keep = 1
	}
	return c.overAxes(nn.OpMean, x, keep)
}

// reduce translates the operators of the HAL's REDUCE family.
func reduce(op nn.OperationType) func(*call) error {
	return func(c *call) error {
		x, err := c.data(0)
		if err != nil {
			return err
		}
		return c.overAxes(op, x, c.options.bool(0))
	}
}

// arg translates ARG_MAX and ARG_MIN, which drop the axis.
func arg(op nn.OperationType) func(*call) error {
	return func(c *call) error {
		x, err := c.data(0)
		if err != nil {
			return err
		}
		axis, err := c.ints(1, "axis")
		if err != nil {
			return err
		}
		if len(axis) != 1 {
			return fmt.Errorf("%d numbers for the axis", len(axis))
		}
		inputs, err := c.Scalars(c.operand(x).Type, []uint32{x}, axis[0])
		if err != nil {
			return err
		}
		return c.finish(op, inputs...)
	}
}

// overAxes emits op, which reduces the axes of input 1; keep is its parameter.
func (c *call) overAxes(op nn.OperationType, x uint32, keep any) error {
	axes, err := c.ints(1, "axes")
	if err != nil {
		return err
	}
	s, err := c.result()
	if err != nil {
		return err
	}
	if len(axes) == 0 { // reduces nothing
		y, err := c.copy(x)
		if err != nil {
			return err
		}
		return c.bind(y)
	}
	list, err := c.Int32s(nn.Dims{uint32(len(axes))}, axes)
	if err != nil {
		return err
	}
	inputs, err := c.Scalars(s.Of, []uint32{x, list}, keep)
	if err != nil {
		return err
	}
	return c.finish(op, inputs...)
}

func topK(c *call) error {
	x, err := c.data(0)
	if err != nil {
		return err
	}
	k, err := c.ints(1, "k")
	if err != nil {
		return err
	}
	if len(k) != 1 {
		return fmt.Errorf("%d numbers for k", len(k))
	}
	inputs, err := c.Scalars(c.operand(x).Type, []uint32{x}, k[0])
	if err != nil {
		return err
	}
	return c.finishAll(nn.OpTopkV2, inputs...)
}
