package tflite

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// quantize converts floats to 8 bits, or from one 8-bit quantisation to another.
func quantize(c *call) error {
	x := c.data(0)
	if !c.operand(x).Type.IsQuant8() {
		return c.finish(nn.OpQuantize, x)
	}
	return c.finish(nn.OpRequantize, x)
}

// cast: the HAL's operation knows no TENSOR_BOOL8. As numbers booleans are 1 and 0, by SELECT, and numbers are true
// where they are not 0. Floats are not cast to INT64, whose values may need more than 32 bits.
func cast(c *call) error {
	x, s := c.data(0), c.result()
	from := c.operand(x).Type
	switch {
	case c.err == nil && from.IsFloat() && c.output().typ == typeInt64:
		return fmt.Errorf("%v to INT64", c.tensor(0).typ)
	case from == nn.TensorBool8 && s.Of != nn.TensorBool8:
		return c.bind(c.numbersOf(x, s))
	case from != nn.TensorBool8 && s.Of == nn.TensorBool8:
		return c.finish(nn.OpNotEqual, x, c.zeros(importer.TypeOf(c.operand(x)), nn.Dims{1}))
	}
	return c.finish(nn.OpCast, x)
}

// dequantize: float16 constants are widened here and now, which is exact; other float16 tensors are CAST.
func dequantize(c *call) error {
	if !c.has(0) {
		return importer.Damaged("input 0 is missing")
	}
	t := c.tensor(0)
	_, constant := c.file.constant(t)
	if t.typ == typeFloat16 && constant && c.output().typ == typeFloat32 {
		return c.widen(t)
	}
	if t.typ == typeInt8 && constant && t.quant.scales.n > 1 {
		x, err := c.perChannel(c.in[0], int(min(max(t.quant.dimension, 0), maxRank)))
		if err != nil {
			return err
		}
		return c.finish(nn.OpDequantize, x)
	}
	x := c.data(0)
	if t.typ == typeFloat16 {
		return c.finish(nn.OpCast, x)
	}
	return c.finish(nn.OpDequantize, x)
}

// widen makes the output a float32 constant.
func (c *call) widen(t *tensor) error {
	d, e, err := c.constantDims(t)
	if err != nil {
		return err
	}
	loc, ok := c.widened[e]
	if !ok {
		var b []byte
		if loc, b, err = c.Reserve(2 * e.n); err != nil {
			return err
		}
		src := c.file.buf.data[e.off : e.off+e.n]
		for i := 0; i+1 < len(src); i += 2 {
			x := nn.Half(binary.LittleEndian.Uint16(src[i:])).Float32()
			binary.LittleEndian.PutUint32(b[2*i:], math.Float32bits(x))
		}
		c.widened[e] = loc
	}
	return c.bind(c.addReserved(floatType, d, loc))
}

// widenedBytes is an estimate of what the widened constants will take, so that Values is allocated once.
func (im *conversion) widenedBytes() int {
	n := 4096
	seen := map[extent]bool{}
	for i := range im.file.tensors {
		t := &im.file.tensors[i]
		if e, ok := im.file.constant(t); ok && t.typ == typeFloat16 && !seen[e] {
			seen[e] = true
			n += 2*e.n + 4
		}
	}
	return n
}
