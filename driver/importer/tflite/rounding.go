package tflite

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// round rounds to the nearest integer, halves to the even one: 1 is added to the floor where what lies above it is more than a
// half, or a half and the floor is odd.
func round(c *call) error {
	x := c.floats("ROUND")
	floor := c.float(nn.OpFloor, x)
	rest := c.float(nn.OpSub, x, floor, nn.ActNone)
	half := c.float(nn.OpMul, floor, c.real(0.5), nn.ActNone)
	odd := c.test(nn.OpNotEqual, half, c.float(nn.OpFloor, half))
	up := c.test(nn.OpLogicalOr, c.test(nn.OpGreater, rest, c.real(0.5)),
		c.test(nn.OpLogicalAnd, c.test(nn.OpEqual, rest, c.real(0.5)), odd))
	return c.bind(c.float(nn.OpAdd, floor, c.numbersOf(up, floatType), nn.ActNone))
}

// sign is 1, 0 or -1.
func sign(c *call) error {
	x := c.floats("SIGN")
	zero := c.real(0)
	above, below := c.numbersOf(c.test(nn.OpGreater, x, zero), floatType), c.numbersOf(c.test(nn.OpLess, x, zero), floatType)
	return c.bind(c.float(nn.OpSub, above, below, nn.ActNone))
}

// divideInts: the HAL's division rounds down, TensorFlow Lite's toward zero. The quotient of the magnitudes is negated where the
// signs differ.
func divideInts(c *call) error {
	x, y := c.two()
	if act, tanh := c.activation(0); act != nn.ActNone || tanh {
		return errors.New("INT32 division with an activation")
	}
	zero := c.int32s(nn.Dims{1}, []int32{0})
	q := c.ofInts(nn.OpDiv, c.emit(nn.OpAbs, intType, x), c.emit(nn.OpAbs, intType, y))
	differ := c.test(nn.OpNotEqual, c.test(nn.OpLess, x, zero), c.test(nn.OpLess, y, zero))
	return c.finish(nn.OpSelect, differ, c.emit(nn.OpNeg, intType, q), q)
}

// oneHot compares the indices with every place, and turns the results into numbers: off + (on - off) * (1 or 0).
func oneHot(c *call) error {
	x, s := c.data(0), c.result()
	var v [3]float64
	for i, what := range []string{"depth", "on", "off"} {
		var err error
		v[i], err = c.number(i+1, what)
		c.fail(err)
	}
	if c.err != nil {
		return c.err
	}
	if s.Of != nn.TensorFloat32 && s.Of != nn.TensorInt32 || c.operand(x).Type != nn.TensorInt32 {
		return fmt.Errorf("%v for indices of %v", c.output().typ, c.tensor(0).typ)
	}
	if !(v[0] >= 1 && v[0] <= 1<<28) {
		return fmt.Errorf("depth %v", v[0])
	}
	d := slices.Clone(c.operand(x).Dims)
	if c.scalar(0) {
		d = nil
	}
	axis := c.axisOf(c.options.int32(0, 0), len(d)+1)
	d = slices.Insert(d, axis, 1)
	if len(d) > maxRank {
		return importer.Damaged("a result of rank %d", len(d))
	}
	x = c.reshape(x, d)
	ones := slices.Repeat(nn.Dims{1}, len(d))
	ones[axis] = uint32(v[0])
	places := c.made(ones, func(i int) int32 { return int32(i) })
	y := c.numbersOf(c.test(nn.OpEqual, x, places), s)
	if v[1] != 1 || v[2] != 0 {
		y = c.emit(nn.OpMul, s, y, c.single(s, v[1]-v[2]), nn.ActNone)
		y = c.emit(nn.OpAdd, s, y, c.single(s, v[2]), nn.ActNone)
	}
	return c.bind(y)
}

// single is a constant of one element, a float or an integer.
func (c *call) single(s spec, v float64) uint32 {
	if s.Of == nn.TensorFloat32 {
		return c.alpha(s, float32(v))
	}
	if v != float64(int32(v)) {
		c.fail(fmt.Errorf("%v does not fit 32 bits", v))
	}
	return c.int32s(nn.Dims{1}, []int32{int32(v)})
}
