package tflite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// paddings returns the input of a pad and its paddings [rank, 2].
func (c *call) paddings() (x, list uint32) {
	x = c.data(0)
	p := c.ints(1, "paddings")
	if rank := len(c.operand(x).Dims); len(p) != 2*rank {
		c.fail(fmt.Errorf("%d paddings for rank %d", len(p), rank))
	}
	return x, c.int32s(nn.Dims{uint32(len(p) / 2), 2}, p)
}

// pad fills with zero; quantised, with the zero point.
func pad(c *call) error {
	x, list := c.paddings()
	return c.finish(nn.OpPad, x, list)
}

// padV2 fills with its third input. The HAL takes a stored integer for quantised tensors, as the file has it.
func padV2(c *call) error {
	if !c.has(2) {
		return pad(c)
	}
	x, list := c.paddings()
	t, in := c.tensor(2), importer.TypeOf(c.operand(x))
	s, err := c.spec(t)
	if err != nil {
		return fmt.Errorf("value: %w", err)
	}
	if s != in {
		return errors.New("value is not of the input's type and quantisation")
	}
	d, e, err := c.constantDims(t)
	if err != nil {
		return fmt.Errorf("value: %w", err)
	}
	if n, _ := d.Elements(); n != 1 {
		return fmt.Errorf("value has %d elements", n)
	}
	raw := c.file.buf.data[e.off : e.off+e.n]
	var value any
	switch s.Of {
	case nn.TensorFloat32:
		value = math.Float32frombits(binary.LittleEndian.Uint32(raw))
	case nn.TensorFloat16:
		value = nn.Half(binary.LittleEndian.Uint16(raw)).Float32()
	case nn.TensorQuant8Asymm:
		value = int32(raw[0])
	case nn.TensorQuant8AsymmSigned:
		value = int32(int8(raw[0]))
	default:
		return fmt.Errorf("value of type %v", t.typ)
	}
	return c.finish(nn.OpPadV2, x, list, value)
}

// mirrorPad: the modes REFLECT 0 and SYMMETRIC 1 have the HAL's numbers.
func mirrorPad(c *call) error {
	x, list := c.paddings()
	return c.finish(nn.OpMirrorPad, x, list, int32(c.options.int8(0)))
}
