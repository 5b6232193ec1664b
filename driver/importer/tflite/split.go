package tflite

import (
	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// splitParts is the slot of num_splits in SplitOptions.
const splitParts = 0

// split: the file has the axis before the tensor.
func split(c *call) error {
	x, axis := c.data(1), c.int(0, "axis")
	if n := c.options.int32(splitParts, 0); int(n) != len(c.out) {
		return importer.Damaged("%d outputs for %d parts", len(c.out), n)
	}
	return c.finishAll(nn.OpSplit, x, axis, int32(len(c.out)))
}
