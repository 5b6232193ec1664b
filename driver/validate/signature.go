package validate

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// Signature checks that every index of g lies in its operands: what Request relies on, for a graph that did
// not pass Model in this process.
func Signature(g *nn.Graph) error {
	check := func(what string, list []uint32) error {
		for _, i := range list {
			if int64(i) >= int64(len(g.Operands)) {
				return nn.Invalid(what, "operand %d of %d", i, len(g.Operands))
			}
		}
		return nil
	}
	if err := check("inputs", g.Inputs); err != nil {
		return err
	}
	if err := check("outputs", g.Outputs); err != nil {
		return err
	}
	for k, op := range g.Operations {
		where := fmt.Sprintf("operation %d (%v)", k, op.Type)
		if err := check(where, op.Inputs); err != nil {
			return err
		}
		if err := check(where, op.Outputs); err != nil {
			return err
		}
	}
	return nil
}
