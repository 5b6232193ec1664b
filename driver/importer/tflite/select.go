package tflite

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// selectV2 translates SELECT_V2, whose three inputs are broadcast; the HAL's operation wants them of one shape.
func selectV2(c *call) error { return c.choose(false) }

// selectRows translates SELECT: a mask of rank 1 chooses rows, one of a single element all or nothing.
func selectRows(c *call) error { return c.choose(true) }

func (c *call) choose(rows bool) error {
	mask, err := c.data(0)
	if err != nil {
		return err
	}
	x, err := c.data(1)
	if err != nil {
		return err
	}
	y, err := c.data(2)
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
	d, shape := c.operand(mask).Dims, c.operand(x).Dims
	if rows && len(d) == 1 && d[0] == shape[0] && len(shape) > 1 {
		if mask, err = c.column(mask, len(shape)); err != nil {
			return err
		}
	}
	list := []uint32{mask, x, y}
	if shape, err = broadcastDims(c.operand(mask).Dims, c.operand(x).Dims, c.operand(y).Dims); err != nil {
		return err
	}
	for i := range list {
		if list[i], err = c.broadcast(list[i], shape); err != nil {
			return err
		}
	}
	return c.finish(nn.OpSelect, list...)
}

// maxRows is how many rows a mask of rank 1 may choose among.
const maxRows = 1 << 20

// column gives mask, a vector of booleans, rank dimensions of which it is the first. RESHAPE takes no booleans.
func (c *call) column(mask uint32, rank int) (uint32, error) {
	d := slices.Repeat(nn.Dims{1}, rank)
	d[0] = c.operand(mask).Dims[0]
	number, n := importer.Type{Of: nn.TensorInt32}, c.operand(mask).Dims
	if n[0] > maxRows {
		return 0, fmt.Errorf("a mask of %d rows", n[0])
	}
	ones, err := c.Int32s(n, slices.Repeat([]int32{1}, int(n[0])))
	if err != nil {
		return 0, err
	}
	zeros, err := c.Zeros(number, n)
	if err != nil {
		return 0, err
	}
	x, err := c.Emit(nn.OpSelect, number, mask, ones, zeros)
	if err != nil {
		return 0, err
	}
	if x, err = c.reshape(x, d); err != nil {
		return 0, err
	}
	zero, err := c.Zeros(number, nn.Dims{1})
	if err != nil {
		return 0, err
	}
	return c.Emit(nn.OpNotEqual, importer.Type{Of: nn.TensorBool8}, x, zero)
}

// broadcastDims is the shape to which tensors of the given ones are broadcast.
func broadcastDims(list ...nn.Dims) (nn.Dims, error) {
	var to nn.Dims
	for _, d := range list {
		for len(to) < len(d) {
			to = append(nn.Dims{1}, to...)
		}
		for i, n := range d {
			at := i + len(to) - len(d)
			switch {
			case to[at] == 1:
				to[at] = n
			case n != 1 && n != to[at]:
				return nil, fmt.Errorf("shapes %v and %v do not go together", []uint32(d), []uint32(to))
			}
		}
	}
	return to, nil
}

// broadcast returns x repeated along its dimensions of size 1, to shape to, which it fits.
func (c *call) broadcast(x uint32, to nn.Dims) (uint32, error) {
	d := c.operand(x).Dims
	if d.Equal(to) {
		return x, nil
	}
	t := importer.TypeOf(c.operand(x))
	d = slices.Concat(slices.Repeat(nn.Dims{1}, len(to)-len(d)), d)
	times, repeats := make([]int32, len(to)), make(nn.Dims, len(to))
	for i := range to {
		repeats[i] = to[i] / d[i]
		times[i] = int32(repeats[i])
	}
	if t.Of == nn.TensorBool8 { // neither RESHAPE nor TILE takes any
		no, err := c.Zeros(t, repeats)
		if err != nil {
			return 0, err
		}
		return c.Emit(nn.OpLogicalOr, t, x, no)
	}
	if len(d) != len(c.operand(x).Dims) {
		var err error
		if x, err = c.reshape(x, d); err != nil || d.Equal(to) {
			return x, err
		}
	}
	return c.withInts(nn.OpTile, t, x, [][]int32{times})
}
