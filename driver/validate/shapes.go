package validate

import (
	"errors"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// Shapes returns the dimensions of each operand of the main graph, those that the model leaves open
// completed from the inputs as far as the operation table can tell. Fails when the model states others.
//
// Precondition: m passed Model (which infers the shapes, too, so that Shapes then cannot fail).
func Shapes(m *nn.Model) ([]nn.Dims, error) {
	return (&graph{Graph: &m.Main, model: m}).shapes()
}

// shapes works on a copy of the operands. Precondition: check and checkOperations passed.
func (g *graph) shapes() ([]nn.Dims, error) {
	work := *g.Graph
	work.Operands = append([]nn.Operand(nil), g.Operands...)
	for i := range g.Operations {
		op := &g.Operations[i]
		row := ops.Lookup(op.Type)
		if row == nil {
			continue
		}
		inf, err := row.Infer(&ops.Call{Model: g.model, Graph: &work, Op: op})
		if errors.Is(err, ops.ErrOpenShape) || errors.Is(err, ops.ErrNotConstant) {
			continue
		}
		if err != nil {
			return nil, nn.Invalid(g.operation(i), "%w", err)
		}
		if inf.Fed != 0 {
			o := &work.Operands[op.Inputs[inf.Fed]]
			if o.Dims, err = ops.MergeDims(o.Type, o.Dims, inf.FedDims); err != nil {
				return nil, nn.Invalid(g.operation(i), "input %d: %w", inf.Fed, err)
			}
		}
		for k, y := range op.Outputs {
			o := &work.Operands[y]
			if o.Dims, err = ops.MergeDims(o.Type, o.Dims, inf.Shapes[k]); err != nil {
				return nil, nn.Invalid(g.operation(i), "output %d (operand %d): %w", k, y, err)
			}
		}
	}
	dims := make([]nn.Dims, len(work.Operands))
	for i := range work.Operands {
		dims[i] = work.Operands[i].Dims
	}
	return dims, nil
}
