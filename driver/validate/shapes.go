package validate

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// Shapes returns the dimensions of each operand of the main graph, those that the model leaves open
// completed from the inputs as far as the operation table can tell, through the graphs that IF and WHILE refer to. Fails when
// the model states others.
//
// Precondition: m passed Model (which also infers the shapes, so that Shapes then cannot fail).
func Shapes(m *nn.Model) ([]nn.Dims, error) {
	return (&graph{Graph: &m.Main, model: m, refs: newReferred(m)}).shapes()
}

// shapes works on a copy of the operands. Precondition: check and checkOperations passed.
func (g *graph) shapes() ([]nn.Dims, error) {
	work := g.copied()
	if err := g.complete(&work); err != nil {
		return nil, err
	}
	dims := make([]nn.Dims, len(work.Operands))
	for i := range work.Operands {
		dims[i] = work.Operands[i].Dims
	}
	return dims, nil
}

// copied is the graph with operands of its own.
func (g *graph) copied() nn.Graph {
	work := *g.Graph
	work.Operands = slices.Clone(g.Operands)
	return work
}

// errNotInTable says that nothing is known of the shapes of an operation's results.
var errNotInTable = errors.New("the operation is not in the table")

// complete gives the operands of work, a copy of the graph, the dimensions that follow from its inputs, operation by
// operation. Where nobody can tell yet, because of ops.ErrOpenShape, ops.ErrNotConstant or errNotInTable, they stay as stated.
func (g *graph) complete(work *nn.Graph) error {
	for i := range work.Operations {
		err := g.completeOperation(work, &work.Operations[i])
		if err == nil || errors.Is(err, ops.ErrOpenShape) || errors.Is(err, ops.ErrNotConstant) || errors.Is(err, errNotInTable) {
			continue
		}
		return nn.Invalid(g.operation(i), "%w", err)
	}
	return nil
}

// completeOperation is complete for one operation.
func (g *graph) completeOperation(work *nn.Graph, op *nn.Operation) error {
	if isControl(op.Type) && g.refs != nil {
		return g.completeControl(work, op)
	}
	row := ops.Lookup(op.Type)
	if row == nil {
		return errNotInTable
	}
	inf, err := row.Infer(g.call(work, op))
	if err != nil {
		return err
	}
	if inf.RuntimeParam != 0 {
		o := &work.Operands[op.Inputs[inf.RuntimeParam]]
		if o.Dims, err = ops.MergeDims(o.Type, o.Dims, inf.RuntimeDims); err != nil {
			return fmt.Errorf("input %d: %w", inf.RuntimeParam, err)
		}
	}
	for k, y := range op.Outputs {
		o := &work.Operands[y]
		if o.Dims, err = ops.MergeDims(o.Type, o.Dims, inf.Shapes[k]); err != nil {
			return fmt.Errorf("output %d (operand %d): %w", k, y, err)
		}
	}
	return nil
}
