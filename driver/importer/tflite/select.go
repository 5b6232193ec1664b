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
	list := []uint32{c.data(0), c.data(1), c.data(2)}
	s := c.result()
	if c.err != nil {
		return c.err
	}
	mask, x, y := c.operand(list[0]).Dims, c.operand(list[1]), c.operand(list[2])
	if s.Of.IsQuant8() && (importer.TypeOf(x) != s || importer.TypeOf(y) != s) {
		return errors.New("quantisation of inputs and output differs")
	}
	if rows && len(mask) == 1 && mask[0] == x.Dims[0] && len(x.Dims) > 1 {
		list[0] = c.column(list[0], len(x.Dims))
	}
	shape, err := broadcastDims(c.operand(list[0]).Dims, c.operand(list[1]).Dims, c.operand(list[2]).Dims)
	if err != nil {
		return err
	}
	for i := range list {
		list[i] = c.broadcast(list[i], shape)
	}
	return c.finish(nn.OpSelect, list)
}

// maxRows is how many rows a mask of rank 1 may choose among.
const maxRows = 1 << 20

// column gives mask, a vector of booleans, further dimensions behind its own, up to rank. RESHAPE takes no booleans.
func (c *call) column(mask uint32, rank int) uint32 {
	n := c.operand(mask).Dims
	if n[0] > maxRows {
		c.fail(fmt.Errorf("a mask of %d rows", n[0]))
		return 0
	}
	d := slices.Repeat(nn.Dims{1}, rank)
	d[0] = n[0]
	ones, zeros := c.int32s(n, slices.Repeat([]int32{1}, int(n[0]))), c.zeros(intType, n)
	x := c.reshape(c.emit(nn.OpSelect, intType, mask, ones, zeros), d)
	return c.test(nn.OpNotEqual, x, c.zeros(intType, nn.Dims{1}))
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
func (c *call) broadcast(x uint32, to nn.Dims) uint32 {
	d := c.operand(x).Dims
	if c.err != nil || d.Equal(to) {
		return x
	}
	t := importer.TypeOf(c.operand(x))
	d = slices.Concat(slices.Repeat(nn.Dims{1}, len(to)-len(d)), d)
	times, repeats := make([]int32, len(to)), make(nn.Dims, len(to))
	for i := range to {
		repeats[i] = to[i] / d[i]
		times[i] = int32(repeats[i])
	}
	if t.Of == nn.TensorBool8 { // neither RESHAPE nor TILE takes any
		return c.emit(nn.OpLogicalOr, t, x, c.zeros(t, repeats))
	}
	if len(d) != len(c.operand(x).Dims) {
		if x = c.reshape(x, d); d.Equal(to) {
			return x
		}
	}
	return c.emit(nn.OpTile, t, x, times)
}
