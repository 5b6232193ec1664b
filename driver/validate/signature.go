package validate

import (
	"cmp"

	"github.com/nngpu/nngpu/driver/nn"
)

// Signature checks that every index of g lies in its operands, which Request relies on, for a graph that did not pass
// Model in this process.
func Signature(g *nn.Graph) error { return (&graph{Graph: g}).checkIndexes() }

// checkIndexes is Signature for any graph of a model.
func (g *graph) checkIndexes() error {
	check := func(where, what string, list []uint32) error {
		for k, i := range list {
			if uint64(i) >= uint64(len(g.Operands)) {
				return nn.Invalid(where, "%s %d is operand %d of %d", what, k, i, len(g.Operands))
			}
		}
		return nil
	}
	err := cmp.Or(check(g.name+"inputs", "input", g.Inputs), check(g.name+"outputs", "output", g.Outputs))
	for k := 0; k < len(g.Operations) && err == nil; k++ {
		op := &g.Operations[k]
		err = cmp.Or(check(g.operation(k), "input", op.Inputs), check(g.operation(k), "output", op.Outputs))
	}
	return err
}
