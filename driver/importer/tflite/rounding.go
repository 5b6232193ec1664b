package tflite

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// test emits an operation on operands and parameters whose result is booleans.
func (e *floatChain) test(op nn.OperationType, inputs ...uint32) (x uint32) {
	if e.err == nil {
		x, e.err = e.Emit(op, spec{Of: nn.TensorBool8}, inputs...)
	}
	return x
}

// numbers makes 1 and 0 of booleans.
func (e *floatChain) numbers(mask uint32) (x uint32) {
	if e.err == nil {
		x, e.err = e.numbersOf(mask, spec{Of: nn.TensorFloat32})
	}
	return x
}

// round rounds to the nearest integer, halves to the even one: 1 is added to the floor where what lies above it is more than a
// half, or a half and the floor is odd.
func round(c *call) error {
	e, x, err := c.floats("ROUND")
	if err != nil {
		return err
	}
	floor := e.emit(nn.OpFloor, x)
	rest := e.emit(nn.OpSub, x, floor, nn.ActNone)
	half := e.emit(nn.OpMul, floor, e.number(0.5), nn.ActNone)
	odd := e.test(nn.OpNotEqual, half, e.emit(nn.OpFloor, half))
	up := e.test(nn.OpLogicalOr, e.test(nn.OpGreater, rest, e.number(0.5)),
		e.test(nn.OpLogicalAnd, e.test(nn.OpEqual, rest, e.number(0.5)), odd))
	return e.end(e.emit(nn.OpAdd, floor, e.numbers(up), nn.ActNone))
}

// sign is 1, 0 or -1.
func sign(c *call) error {
	e, x, err := c.floats("SIGN")
	if err != nil {
		return err
	}
	zero := e.number(0)
	return e.end(e.emit(nn.OpSub, e.numbers(e.test(nn.OpGreater, x, zero)), e.numbers(e.test(nn.OpLess, x, zero)), nn.ActNone))
}

// divideInts: the HAL's division rounds down, TensorFlow Lite's toward zero. The quotient of the magnitudes is negated where the
// signs differ.
func divideInts(c *call) error {
	x, y, err := c.two()
	if err != nil {
		return err
	}
	if act, tanh, err := c.activation(0); err != nil || act != nn.ActNone || tanh {
		return cmp.Or(err, errors.New("INT32 division with an activation"))
	}
	number, mask := spec{Of: nn.TensorInt32}, spec{Of: nn.TensorBool8}
	emit := func(op nn.OperationType, t spec, inputs ...uint32) (z uint32) {
		if err == nil {
			z, err = c.Emit(op, t, inputs...)
		}
		return z
	}
	zero, err := c.Int32s(nn.Dims{1}, []int32{0})
	var q uint32
	if magnitudes := []uint32{emit(nn.OpAbs, number, x), emit(nn.OpAbs, number, y)}; err == nil {
		q, err = c.ofInts(nn.OpDiv, magnitudes[0], magnitudes[1])
	}
	differ := emit(nn.OpNotEqual, mask, emit(nn.OpLess, mask, x, zero), emit(nn.OpLess, mask, y, zero))
	negated := emit(nn.OpNeg, number, q)
	if err != nil {
		return err
	}
	return c.finish(nn.OpSelect, differ, negated, q)
}

// oneHot compares the indices with every place, and makes numbers of what that finds: off + (on - off) * (1 or 0).
func oneHot(c *call) error {
	x, err := c.data(0)
	if err != nil {
		return err
	}
	s, err := c.result()
	if err != nil {
		return err
	}
	var v [3]float64
	for i, what := range []string{"depth", "on", "off"} {
		if v[i], err = c.number(i+1, what); err != nil {
			return err
		}
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
	axis, err := axisOf(c.options.int32(0, 0), len(d)+1)
	if err != nil {
		return err
	}
	d = slices.Insert(d, axis, 1)
	if len(d) > maxRank {
		return importer.Damaged("a result of rank %d", len(d))
	}
	if x, err = c.reshape(x, d); err != nil {
		return err
	}
	ones := slices.Repeat(nn.Dims{1}, len(d))
	ones[axis] = uint32(v[0])
	places, err := c.made(ones, func(i int) int32 { return int32(i) })
	if err != nil {
		return err
	}
	mask, err := c.Emit(nn.OpEqual, spec{Of: nn.TensorBool8}, x, places)
	if err != nil {
		return err
	}
	y, err := c.numbersOf(mask, s)
	if err != nil || v[1] == 1 && v[2] == 0 {
		return cmp.Or(err, c.bind(y))
	}
	for i, op := range []nn.OperationType{nn.OpMul, nn.OpAdd} {
		by, err := c.single(s, []float64{v[1] - v[2], v[2]}[i])
		if err != nil {
			return err
		}
		inputs, err := c.Scalars(s.Of, []uint32{y, by}, nn.ActNone)
		if err != nil {
			return err
		}
		if y, err = c.Emit(op, s, inputs...); err != nil {
			return err
		}
	}
	return c.bind(y)
}

// single is a constant of one element, a float or an integer.
func (c *call) single(s spec, v float64) (uint32, error) {
	if s.Of == nn.TensorFloat32 {
		return c.alpha(s, float32(v))
	}
	if v != float64(int32(v)) {
		return 0, fmt.Errorf("%v does not fit 32 bits", v)
	}
	return c.Int32s(nn.Dims{1}, []int32{int32(v)})
}
