package ops

import (
	"fmt"
	"strings"

	"github.com/nngpu/nngpu/driver/nn"
)

// Form is a list of inputs that an operation takes. At most one is repeated.
type Form struct {
	Name   string // what distinguishes it from the operation's other forms; "" if there is only one
	Inputs []Operand
}

// Names names operands in order: trailing ones in brackets, dots behind a repeated one.
func Names(list []Operand) string {
	var b strings.Builder
	open := 0
	for i := range list {
		o := &list[i]
		if i > 0 {
			b.WriteString(", ")
		}
		if o.Trailing {
			b.WriteString("[")
			open++
		}
		b.WriteString(o.Name)
		if o.Repeated {
			b.WriteString("…")
		}
	}
	return b.String() + strings.Repeat("]", open)
}

// at describes position i of a list of n operands.
//
// Precondition: takes(list, n), and i < n.
func at(list []Operand, i, n int) *Operand {
	for k := range list {
		if more := n - len(list); list[k].Repeated && more > 0 && i > k {
			return &list[max(k, i-more)]
		}
	}
	return &list[i]
}

// takes reports whether a list may have n operands.
func takes(list []Operand, n int) bool {
	if n >= len(list) {
		for i := range list {
			if list[i].Repeated {
				return true
			}
		}
		return n == len(list)
	}
	return n > 0 && list[n].Trailing
}

// wrongCount names the operand that a list of n lacks, or the last that it may have.
func wrongCount(list []Operand, n int, what string) error {
	if n < len(list) {
		return fmt.Errorf("operand %d (%s) is missing", n, list[n].Name)
	}
	return fmt.Errorf("%d %s; the last is operand %d (%s)", n, what, len(list)-1, list[len(list)-1].Name)
}

// operand returns operand i of an index list, even one without a value.
func (c *Call) operand(list []uint32, i int) *nn.Operand { return &c.Graph.Operands[list[i]] }

// inputType is the type of the operand at position i, -1 when the list is shorter.
func (c *Call) inputType(i int) nn.OperandType {
	if i >= len(c.Op.Inputs) {
		return -1
	}
	return c.operand(c.Op.Inputs, i).Type
}

// form is the form that the inputs of c have: the one that fits their number, and the most of their types from the
// first on. No operation with several forms has 30 inputs.
func (r *Row) form(c *Call) *Form {
	best, bestFit := &r.Forms[0], -1
	for k := range r.Forms {
		f := &r.Forms[k]
		if len(r.Forms) == 1 {
			break
		}
		n, fit := len(c.Op.Inputs), 0
		for i := range min(n, len(f.Inputs)) {
			if f.Inputs[i].Types.With(c.inputType(r.Lead)).Has(c.inputType(i)) {
				fit |= 1 << (29 - i)
			}
		}
		if takes(f.Inputs, n) {
			fit |= 1 << 30
		}
		if fit > bestFit {
			best, bestFit = f, fit
		}
	}
	return best
}

// checkSignature compares the operands of c with its form and the outputs.
func (r *Row) checkSignature(c *Call) error {
	f, n := c.form, len(c.Op.Inputs)
	if !takes(f.Inputs, n) {
		return wrongCount(f.Inputs, n, "inputs")
	}
	if m := len(c.Op.Outputs); !takes(r.Outputs, m) {
		return wrongCount(r.Outputs, m, "outputs")
	}
	x := c.inputType(r.Lead)
	for i := range n {
		d := at(f.Inputs, i, n)
		if err := d.check(c.operand(c.Op.Inputs, i), x); err != nil {
			return fmt.Errorf("input %d (%s): %w", i, d.Name, err)
		}
	}
	for i := range c.Op.Outputs {
		d, o := at(r.Outputs, i, len(c.Op.Outputs)), c.operand(c.Op.Outputs, i)
		if err := d.check(o, x); err != nil {
			return fmt.Errorf("output %d (%s): %w", i, d.Name, err)
		}
	}
	return nil
}
