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
	run      func(*call) *Tensor
	runs     func(*call) []*Tensor // instead, of an operation with several outputs
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
func (k *kernel) outputs(c *call) []*Tensor {
	if k.runs != nil {
		return k.runs(c)
	}
	return []*Tensor{k.run(c)}
}

func (k *kernel) accepts(n int) bool {
	if k.inputs == nil {
		return n > 1
	}
	return slices.Contains(k.inputs, n)
}

// refusal is why an operation cannot be computed. Kernels panic with one, and refused makes the error of it.
type refusal struct{ error }

// refuse ends a kernel that cannot compute what it is asked.
func refuse(format string, args ...any) { panic(refusal{fmt.Errorf(format, args...)}) }

// refused, which is deferred by what calls kernels, sets err where one refused.
func refused(err *error) {
	switch r := recover().(type) {
	case nil:
	case refusal:
		*err = r.error
	default:
		panic(r)
	}
}
