package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// Empty says which of the tensors among an operation's inputs may have no elements.
type Empty uint8

const (
	NoneEmpty Empty = iota
	RowsEmpty       // the leading input, which may have no rows (images, batches): its first dimension alone is 0
	AnyEmpty        // any
)

// checkEmpty reports known dimensions of input i that it cannot have because one of them is 0.
func (r *Row) checkEmpty(i int, d nn.Dims) error {
	if d.Known() || r.Empty == AnyEmpty || r.Empty == RowsEmpty && i == r.Lead && d[1:].Known() {
		return nil
	}
	return fmt.Errorf("dimensions %v: it has no elements", []uint32(d))
}
