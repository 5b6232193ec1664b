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
		x, s := c.data(0), c.result()
		if in := importer.TypeOf(c.operand(x)); in.Of == s.Of && in.Of.IsQuant8() && in != s {
			x = c.emit(nn.OpRequantize, s, x)
		}
		return c.finish(op, x)
	}
}

// elu: TensorFlow Lite fixes alpha at 1.
func elu(c *call) error { return c.finish(nn.OpElu, c.data(0), float32(1)) }

// relu0To1 is RELU, and at most 1.
func relu0To1(c *call) error {
	x := c.floats("RELU_0_TO_1")
	return c.bind(c.float(nn.OpMinimum, c.float(nn.OpRelu, x), c.real(1)))
}

// cosine is 1 - 2 sin(x/2)^2, which is as exact as the sine is.
func cosine(c *call) error {
	x := c.floats("COS")
	half := c.float(nn.OpSin, c.float(nn.OpMul, x, c.real(0.5), nn.ActNone))
	square := c.float(nn.OpMul, half, half, nn.ActNone)
	return c.bind(c.float(nn.OpAdd, c.float(nn.OpMul, square, c.real(-2), nn.ActNone), c.real(1), nn.ActNone))
}

// gelu: the approximation by TANH, x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))). The HAL has no error function,
// which the exact form needs.
func gelu(c *call) error {
	if !c.options.bool(0) {
		return errors.New("GELU by the error function; the one by TANH is supported")
	}
	x := c.floats("GELU")
	mul := func(x, y uint32) uint32 { return c.float(nn.OpMul, x, y, nn.ActNone) }
	add := func(x, y uint32) uint32 { return c.float(nn.OpAdd, x, y, nn.ActNone) }
	cube := mul(mul(mul(x, x), x), c.real(0.044715))
	t := c.float(nn.OpTanh, mul(add(x, cube), c.real(float32(math.Sqrt(2/math.Pi)))))
	return c.bind(mul(mul(x, c.real(0.5)), add(t, c.real(1))))
}

// leakyRelu becomes PRELU with an alpha of one element.
func leakyRelu(c *call) error {
	x, a := c.data(0), c.options.float32(0)
	if math.IsNaN(float64(a)) || math.IsInf(float64(a), 0) {
		return importer.Damaged("alpha %v", a)
	}
	return c.finish(nn.OpPrelu, x, c.alpha(importer.TypeOf(c.operand(x)), a))
}

// alpha returns a constant of shape [1] that has exactly the value a in the given type. Quantised, it is one
// step up or down at a scale of |a|.
func (c *call) alpha(like spec, a float32) uint32 {
	if c.err != nil {
		return 0
	}
	s := spec{Of: like.Of}
	loc, b, err := c.Reserve(like.Of.Bytes())
	if err != nil {
		c.err = err
		return 0
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
		c.err = fmt.Errorf("type %v", like.Of)
		return 0
	}
	return c.addReserved(s, nn.Dims{1}, loc)
}
