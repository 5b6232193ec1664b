package tflite

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// resizeBilinear: slots 0 and 1 of its options are sizes that no file has used since the second input came.
func resizeBilinear(c *call) error { return c.resize(nn.OpResizeBilinear, 2) }

func resizeNearest(c *call) error { return c.resize(nn.OpResizeNearestNeighbor, 0) }

// resize: the file gives height before width, the HAL takes width first.
func (c *call) resize(op nn.OperationType, flags int) error {
	x, size := c.data(0), c.ints(1, "size")
	if len(size) != 2 {
		return fmt.Errorf("%d sizes", len(size))
	}
	return c.finish(op, x, size[1], size[0], false, c.options.bool(flags), c.options.bool(flags+1))
}
