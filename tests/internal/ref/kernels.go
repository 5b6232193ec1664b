package ref

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// kernel decodes the operands of an operation, by the lists of the NNAPI documentation, and computes it.
type kernel struct {
	inputs   []int // legal numbers of them; nil for any above 1
	optional []int // inputs that may be omitted
	run      func(*call) (*Tensor, error)
	runs     func(*call) ([]*Tensor, error) // instead, of an operation with several outputs
}

var kernels = map[nn.OperationType]kernel{}

// register adds an operation; called by the init function of the file that computes it.
func register(t nn.OperationType, k kernel) {
	if Known(t) {
		panic(fmt.Sprintf("ref: %v has two kernels", t))
	}
	kernels[t] = k
}

// Known reports whether the reference has operation t.
func Known(t nn.OperationType) bool { _, ok := kernels[t]; return ok }

// outputs computes all of them.
func (k *kernel) outputs(c *call) ([]*Tensor, error) {
	if k.runs != nil {
		return k.runs(c)
	}
	t, err := k.run(c)
	return []*Tensor{t}, err
}

func (k *kernel) accepts(n int) bool {
	if k.inputs == nil {
		return n > 1
	}
	return slices.Contains(k.inputs, n)
}
