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
func (c *call) paddings() (x, list uint32, err error) {
	if x, err = c.data(0); err != nil {
		return 0, 0, err
	}
	p, err := c.ints(1, "paddings")
	if err != nil {
		return 0, 0, err
	}
	if rank := len(c.operand(x).Dims); len(p) != 2*rank {
		return 0, 0, fmt.Errorf("%d paddings for rank %d", len(p), rank)
	}
	list, err = c.Int32s(nn.Dims{uint32(len(p) / 2), 2}, p)
	return x, list, err
}

// pad fills with zero; quantised, with the zero point.
func pad(c *call) error {
	x, list, err := c.paddings()
	if err != nil {
		return err
	}
	return c.finish(nn.OpPad, x, list)
}

// padV2 fills with its third input. The HAL takes a stored integer for quantised tensors, as the file has it.
func padV2(c *call) error {
	if !c.has(2) {
		return pad(c)
	}
	x, list, err := c.paddings()
	if err != nil {
		return err
	}
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
	inputs, err := c.Scalars(s.Of, []uint32{x, list}, value)
	if err != nil {
		return err
	}
	return c.finish(nn.OpPadV2, inputs...)
}

// mirrorPad: the modes REFLECT 0 and SYMMETRIC 1 have the HAL's numbers.
func mirrorPad(c *call) error {
	x, list, err := c.paddings()
	if err != nil {
		return err
	}
	inputs, err := c.Scalars(nn.TensorFloat32, []uint32{x, list}, int32(c.options.int8(0)))
	if err != nil {
		return err
	}
	return c.finish(nn.OpMirrorPad, inputs...)
}
