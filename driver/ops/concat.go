package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(rows(definition{
		t:     nn.OpConcatenation,
		form:  concatForm,
		out:   like("output", atMost(4)),
		attrs: concatAttrs,
		shape: concatShape,
	})...)
}

// concatForm: one or more tensors, then the axis. At feature levels 1 and 2 8-bit inputs had to have the
// output's scale and zero point; since level 3 they need not.
func concatForm(c *Call) *form {
	n := len(c.Op.Inputs)
	if n < 2 {
		return nil
	}
	args := make([]arg, n)
	args[0] = input(numbers, atMost(4))
	for i := 1; i < n-1; i++ {
		args[i] = like("tensor", atMost(4))
	}
	args[n-1] = int32s("axis")[0]
	return &form{args: args}
}

func concatAttrs(c *Call, p *params, a *Attrs) {
	axis, ok := p.int32(len(c.Op.Inputs) - 1)
	if rank := c.rank(); ok && rank > 0 {
		a.Axes = []int{p.axis(axis, rank)}
	}
}

// concatShape adds up the sizes along the axis; all others must agree.
func concatShape(c *Call, a *Attrs) (nn.Dims, error) {
	axis := a.Axes[0]
	out := append(nn.Dims(nil), c.In(0).Dims...)
	sum := int64(0)
	for i := 0; i < len(c.Op.Inputs)-1; i++ {
		x := c.In(i).Dims
		if len(x) != len(out) {
			return nil, fmt.Errorf("input %d has rank %d, input 0 has %d", i, len(x), len(out))
		}
		for k := range x {
			if k != axis && x[k] != out[k] {
				return nil, fmt.Errorf("input %d has dimensions %v, input 0 %v", i, []uint32(x), []uint32(c.In(0).Dims))
			}
		}
		sum += int64(x[axis])
	}
	var err error
	out[axis], err = toDim(sum)
	return out, err
}
