package tflite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// relu: the HAL's operation keeps scale and zero point. Where the file's do not agree the input is requantised
// first and clamped in the output's steps, which is what TensorFlow Lite does in one go.
func relu(op nn.OperationType) func(*call) error {
	return func(c *call) error {
		x, err := c.data(0)
		if err != nil {
			return err
		}
		s, err := c.result()
		if err != nil {
			return err
		}
		if in := importer.TypeOf(c.operand(x)); in.Of == s.Of && in.Of.IsQuant8() && in != s {
			if x, err = c.requantize(x, s); err != nil {
				return err
			}
		}
		return c.finish(op, x)
	}
}

// elu: TensorFlow Lite fixes alpha at 1.
func elu(c *call) error {
	x, err := c.data(0)
	if err != nil {
		return err
	}
	inputs, err := c.Scalars(c.operand(x).Type, []uint32{x}, float32(1))
	if err != nil {
		return err
	}
	return c.finish(nn.OpElu, inputs...)
}

// relu0To1 is RELU, and at most 1.
func relu0To1(c *call) error {
	e, x, err := c.floats("RELU_0_TO_1")
	if err != nil {
		return err
	}
	return e.end(e.emit(nn.OpMinimum, e.emit(nn.OpRelu, x), e.number(1)))
}

// cosine is 1 - 2 sin(x/2)^2, which is as exact as the sine is.
func cosine(c *call) error {
	e, x, err := c.floats("COS")
	if err != nil {
		return err
	}
	half := e.emit(nn.OpSin, e.emit(nn.OpMul, x, e.number(0.5), nn.ActNone))
	square := e.emit(nn.OpMul, half, half, nn.ActNone)
	return e.end(e.emit(nn.OpAdd, e.emit(nn.OpMul, square, e.number(-2), nn.ActNone), e.number(1), nn.ActNone))
}

// gelu: the approximation by TANH, x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))). The HAL has no error function, which the
// other one needs.
func gelu(c *call) error {
	if !c.options.bool(0) {
		return errors.New("GELU by the error function; the one by TANH is supported")
	}
	e, x, err := c.floats("GELU")
	if err != nil {
		return err
	}
	mul := func(x, y uint32) uint32 { return e.emit(nn.OpMul, x, y, nn.ActNone) }
	add := func(x, y uint32) uint32 { return e.emit(nn.OpAdd, x, y, nn.ActNone) }
	cube := mul(mul(mul(x, x), x), e.number(0.044715))
	t := e.emit(nn.OpTanh, mul(add(x, cube), e.number(float32(math.Sqrt(2/math.Pi)))))
	return e.end(mul(mul(x, e.number(0.5)), add(t, e.number(1))))
}

// leakyRelu becomes PRELU with an alpha of one element.
func leakyRelu(c *call) error {
	x, err := c.data(0)
	if err != nil {
		return err
	}
	a := c.options.float32(0)
	if math.IsNaN(float64(a)) || math.IsInf(float64(a), 0) {
		return importer.Damaged("alpha %v", a)
	}
	in := importer.TypeOf(c.operand(x))
	alpha, err := c.alpha(in, a)
	if err != nil {
		return err
	}
	return c.finish(nn.OpPrelu, x, alpha)
}

// alpha returns a constant of shape [1] that has exactly the value a in the given type. Quantised, it is one
// step up or down at a scale of |a|.
func (c *call) alpha(like spec, a float32) (uint32, error) {
	s := spec{Of: like.Of}
	loc, b, err := c.Reserve(like.Of.Bytes())
	if err != nil {
		return 0, err
	}
	switch {
	case like.Of == nn.TensorFloat32:
		binary.LittleEndian.PutUint32(b, math.Float32bits(a))
	case like.Of.IsQuant8():
		step := int32(0)
		s.Scale = 1
		if like.Of == nn.TensorQuant8Asymm {
			s.Zero = 128
		}
		switch {
		case a > 0:
			s.Scale, step = a, 1
		case a < 0:
			s.Scale, step = -a, -1
		}
		b[0] = byte(s.Zero + step)
	default:
		return 0, fmt.Errorf("type %v", like.Of)
	}
	o := s.Operand(nn.Dims{1}, nn.ConstantCopy)
	o.Location = loc
	return c.Add(o), nil
}
