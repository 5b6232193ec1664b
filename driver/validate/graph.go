package validate

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// check tests operands, lists and the order of reads and writes, but not what operations mean.
func (g *graph) check() error {
	switch {
	case len(g.Operands) == 0:
		return nn.Invalid(g.name+"graph", "has no operands")
	case len(g.Operations) == 0:
		return nn.Invalid(g.name+"graph", "has no operations")
	}
	if err := g.checkIndexes(); err != nil {
		return err
	}
	for i := range g.Operands {
		if err := checkOperand(g.model, &g.Operands[i]); err != nil {
			return nn.Invalid(g.operand(i), "%w", err)
		}
	}
	if err := g.checkList("inputs", g.Inputs, nn.SubgraphInput); err != nil {
		return err
	}
	if err := g.checkList("outputs", g.Outputs, nn.SubgraphOutput); err != nil {
		return err
	}
	return g.checkOrder()
}

// checkList requires the list to hold each operand of the lifetime once, and no other.
func (g *graph) checkList(what string, list []uint32, lifetime nn.Lifetime) error {
	listed := make([]bool, len(g.Operands))
	for _, i := range list {
		if listed[i] {
			return nn.Invalid(g.operand(int(i)), "stands twice in the list of %s", what)
		}
		listed[i] = true
		if l := g.Operands[i].Lifetime; l != lifetime {
			return nn.Invalid(g.operand(int(i)), "has lifetime %v and stands in the list of %s", l, what)
		}
	}
	for i := range g.Operands {
		if g.Operands[i].Lifetime == lifetime && !listed[i] {
			return nn.Invalid(g.operand(i), "has lifetime %v and is not in the list of %s", lifetime, what)
		}
	}
	return nil
}

// checkOrder requires every operand to be written once, by an operation that comes before all that read it.
func (g *graph) checkOrder() error {
	ready := make([]bool, len(g.Operands))
	for i := range g.Operands {
		l := g.Operands[i].Lifetime
		ready[i] = l != nn.Temporary && l != nn.SubgraphOutput
	}
	for i := range g.Operations {
		op := &g.Operations[i]
		if !op.Type.Valid() {
			return nn.Invalid(g.operation(i), "unknown operation")
		}
		if len(op.Inputs) == 0 || len(op.Outputs) == 0 {
			return nn.Invalid(g.operation(i), "%d inputs, %d outputs", len(op.Inputs), len(op.Outputs))
		}
		for _, x := range op.Inputs {
			if !ready[x] {
				return nn.Invalid(g.operation(i), "reads operand %d, which no operation has written before", x)
			}
		}
		for _, y := range op.Outputs {
			if l := g.Operands[y].Lifetime; l != nn.Temporary && l != nn.SubgraphOutput {
				return nn.Invalid(g.operation(i), "writes operand %d of lifetime %v", y, l)
			}
			if ready[y] {
				return nn.Invalid(g.operation(i), "writes operand %d a second time", y)
			}
			ready[y] = true
		}
	}
	for i, ok := range ready {
		if !ok {
			return nn.Invalid(g.operand(i), "is never written")
		}
	}
	return nil
}

// checkOperations tests the operations that the table knows. Precondition: check passed.
func (g *graph) checkOperations() error {
	for i := range g.Operations {
		op := &g.Operations[i]
		if err := g.checkControl(op); err != nil {
			return nn.Invalid(g.operation(i), "%w", err)
		}
		if err := g.checkOperation(op); err != nil {
			return nn.Invalid(g.operation(i), "%w", err)
		}
	}
	return nil
}

// checkOperation tests op by its row of the table, and both by the level that the model was made for.
func (g *graph) checkOperation(op *nn.Operation) error {
	level := op.Type.Since()
	if row := ops.Lookup(op.Type); row != nil && !later(g.model, level) {
		c := g.call(g.Graph, op)
		if err := row.Check(c); err != nil {
			return err
		}
		level = row.Level(c)
	}
	if later(g.model, level) {
		return fmt.Errorf("came, as it stands there, with %v, after %v, which the model was made for", level, g.model.Level)
	}
	return nil
}
