package ops

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// checkShape tests that a result has a size that a buffer can have.
func (c *Call) checkShape(d nn.Dims, t nn.OperandType) error {
	if len(d) == 0 && t.IsTensor() {
		return fmt.Errorf("no dimensions")
	}
	if !d.Known() && !c.Sized {
		return fmt.Errorf("dimensions %v are empty", []uint32(d))
	}
	o := nn.Operand{Type: t, Dims: d}
	_, err := o.ByteSize()
	return err
}

// MergeDims joins the dimensions that a model states for an operand of type t, where 0 and a missing rank stand for
// unknown ones, with those that were inferred. It fails if they contradict each other.
func MergeDims(t nn.OperandType, stated, inferred nn.Dims) (nn.Dims, error) {
	if t.IsTensor() && len(stated) == 0 {
		return inferred, nil
	}
	merged, ok := inferred.Merge(stated)
	if !ok {
		return nil, fmt.Errorf("stated dimensions %v, the inputs give %v", []uint32(stated), []uint32(inferred))
	}
	return merged, nil
}

// dim is toDim for a size that may be 0 if c is Sized.
func (c *Call) dim(n int64) (uint32, error) {
	if c.Sized && n == 0 {
		return 0, nil
	}
	return toDim(n)
}

// toDim makes a computed size a dimension.
func toDim(n int64) (uint32, error) {
	if n < 1 {
		return 0, fmt.Errorf("size %d: the result is empty", n)
	}
	if n > math.MaxUint32 {
		return 0, fmt.Errorf("size %d exceeds 2^32-1", n)
	}
	return uint32(n), nil
}
