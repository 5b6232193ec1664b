package tflite

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// shapeOf is SHAPE: the dimensions are known.
func shapeOf(c *call) error {
	x := c.data(0)
	if c.err == nil && c.scalar(0) {
		return fmt.Errorf("the shape of a tensor of rank 0 is empty")
	}
	c.result()
	c.bindNumbers(c.out[0], numbers{list: dims32(c.operand(x).Dims), sized: !constant(c.operand(x))})
	return c.err
}

func constant(o *nn.Operand) bool {
	return o.Lifetime == nn.ConstantCopy || o.Lifetime == nn.ConstantReference
}

func rank(c *call) error {
	x := c.data(0)
	if c.err != nil {
		return c.err
	}
	n := len(c.operand(x).Dims)
	if c.scalar(0) {
		n = 0
	}
	c.bindNumbers(c.out[0], numbers{list: []int32{int32(n)}, scalar: true})
	return c.err
}

// rangeOf is RANGE of constants, which becomes a constant.
func rangeOf(c *call) error {
	s := c.result()
	var v [3]float64 // start, limit, delta
	for i, what := range []string{"start", "limit", "delta"} {
		var err error
		v[i], err = c.number(i, what)
		c.fail(err)
	}
	n := math.Ceil((v[1] - v[0]) / v[2])
	if s.Of == nn.TensorFloat32 { // as TensorFlow Lite counts
		n = math.Ceil(math.Abs(float64((float32(v[1]) - float32(v[0])) / float32(v[2]))))
	}
	if !(n >= 1 && n <= 1<<28) || (v[1] > v[0]) != (v[2] > 0) {
		return fmt.Errorf("%v numbers from %v to %v by %v", n, v[0], v[1], v[2])
	}
	if s.Of != nn.TensorInt32 && s.Of != nn.TensorFloat32 {
		return fmt.Errorf("range of %v", c.output().typ)
	}
	if c.err != nil {
		return c.err
	}
	loc, b, err := c.Reserve(4 * int(n))
	if err != nil {
		return err
	}
	next := float32(v[0])
	for i := range int(n) {
		bits := uint32(int32(v[0] + float64(i)*v[2]))
		if s.Of == nn.TensorFloat32 {
			bits = math.Float32bits(next)
			next += float32(v[2]) // TensorFlow Lite adds up as well
		}
		binary.LittleEndian.PutUint32(b[4*i:], bits)
	}
	return c.bind(c.addReserved(s, nn.Dims{uint32(n)}, loc))
}

// number decodes input i, a single number that is a constant.
func (c *call) number(i int, what string) (float64, error) {
	if !c.has(i) {
		return 0, importer.Damaged("input %d (%s) is missing", i, what)
	}
	t := c.tensor(i)
	if t.typ != typeFloat32 {
		x, ok := c.known(i)
		if !ok || len(x.list) != 1 {
			return 0, fmt.Errorf("input %d (%s) is not a single constant", i, what)
		}
		c.sized = c.sized || x.sized
		return float64(x.list[0]), nil
	}
	_, e, err := c.constantDims(t)
	if err != nil || e.n != 4 {
		return 0, fmt.Errorf("input %d (%s) is not a single constant", i, what)
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(c.file.buf.data[e.off:]))), nil
}

// fill: the HAL's operation takes a scalar of the model. A computed value becomes TILE, and so does a type that it
// lacks.
func fill(c *call) error {
	sizes := c.ints(0, "shape")
	if len(sizes) == 0 {
		sizes = []int32{1}
	}
	s := c.result()
	if c.err != nil {
		return c.err
	}
	if v, err := c.number(1, "value"); err == nil && (s.Of == nn.TensorFloat32 || s.Of == nn.TensorInt32) {
		if t := c.tensor(1).typ; t != c.output().typ {
			return fmt.Errorf("a value of type %v", t)
		}
		return c.fillWith(s, sizes, v)
	}
	x := c.data(1)
	if n, err := c.operand(x).Dims.Elements(); err != nil || n != 1 || len(sizes) > maxRank {
		return importer.Damaged("%d values for shape %v", n, sizes)
	}
	return c.repeat(s, c.reshape(x, slices.Repeat(nn.Dims{1}, len(sizes))), sizes)
}

// fillWith emits the FILL that computes the output.
func (c *call) fillWith(s spec, sizes []int32, v float64) error {
	var value any = float32(v)
	if s.Of == nn.TensorInt32 {
		value = int32(v)
	}
	return c.finish(nn.OpFill, sizes, value)
}

func zerosLike(c *call) error {
	x, s := c.data(0), c.result()
	return c.fillWith(s, dims32(c.operand(x).Dims), 0)
}

// multinomial: TensorFlow Lite has another generator, so that samples differ, with the same probabilities. Where it
// would choose its seeds, both 0, they are 0 here, and every execution draws the same.
func multinomial(c *call) error {
	x, n := c.data(0), c.ints(1, "samples")
	if len(n) != 1 {
		return importer.Damaged("%d numbers for the samples", len(n))
	}
	return c.finish(nn.OpRandomMultinomial, x, n[0], []int32{int32(c.options.uint64(0)), int32(c.options.uint64(1))})
}
