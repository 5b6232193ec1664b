package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// Empty says which of the inputs of an operation that hold tensors may be without elements.
type Empty uint8

const (
	NoneEmpty Empty = iota
	RowsEmpty       // the leading input, which has no rows (images, batches): its first dimension is 0, and no other
	AnyEmpty        // any
)

// checkEmpty reports dimensions of input i, known ones, that it cannot have because one of them is 0.
func (r *Row) checkEmpty(i int, d nn.Dims) error {
	if d.Known() || r.Empty == AnyEmpty || r.Empty == RowsEmpty && i == r.Lead && d[1:].Known() {
		return nil
	}
	return fmt.Errorf("dimensions %v: it has no elements", []uint32(d))
}
