package validate

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// Open reports whether m leaves dimensions of its inputs open that its operations need, so that only Resolve makes it a
// model whose sizes are known. Dimensions that merely say that an optional input is left off are not among them, nor those
// that follow from what else the model states.
//
// Precondition: m passed Model.
func Open(m *nn.Model) bool {
	g := &m.Main
	return slices.ContainsFunc(g.Operations, func(op nn.Operation) bool {
		row := ops.Lookup(op.Type)
		if row == nil {
			return false
		}
		call := &ops.Call{Model: m, Graph: g, Op: &op}
		return slices.ContainsFunc(row.Tensors(call), func(k int) bool {
			o := call.In(k)
			return o != nil && o.Lifetime == nn.SubgraphInput && isOpen(o.Type, o.Dims)
		})
	})
}

// Resolve returns m with the dimensions that its inputs have in one request: inputs has those of each input of the main
// graph, none at all where they are as the model states. In what it returns the dimensions of all that operations write are
// known, agree with what m states, and are no larger than a buffer can be; so are those of the tensors that operations of
// the table read. Inputs that stay open are optional ones that count as left off, or nobody reads them. It has operands of
// its own and shares all else, values and pools too, with m, which it only reads. Its work is that of Shapes.
//
// Precondition: m passed Model, or what is left of it passes it with these dimensions.
//
// Errors: INVALID_ARGUMENT where dimensions contradict each other or m, or a tensor that is needed stays open; they name
// the input or the operation. GENERAL_FAILURE, as nn.ErrUnsupported, where sizes depend on what is known only at run time
// (ops.ErrNotConstant), or on an operation that the table does not have.
func Resolve(m *nn.Model, inputs []nn.Dims) (*nn.Model, error) {
	resolved := *m
	g := &graph{Graph: &resolved.Main, model: m}
	resolved.Main = g.copied()
	if len(inputs) != len(m.Main.Inputs) {
		return nil, nn.Invalid("inputs", "dimensions of %d; the model has %d", len(inputs), len(m.Main.Inputs))
	}
	for i, given := range inputs {
		o := &resolved.Main.Operands[m.Main.Inputs[i]]
		dims, err := join(o, given)
		if err == nil {
			o.Dims = dims
			err = checkSize(o)
		}
		if err != nil {
			return nil, nn.Invalid(fmt.Sprintf("input %d", i), "%w", err)
		}
	}
	err := g.complete(&resolved.Main, func(i int, why error) error {
		switch {
		case errors.Is(why, ops.ErrOpenShape):
			return nn.Invalid(g.operation(i), "%w", why)
		case slices.ContainsFunc(resolved.Main.Operations[i].Outputs, func(y uint32) bool {
			o := &resolved.Main.Operands[y]
			return isOpen(o.Type, o.Dims)
		}):
			return nn.Errorf(nn.StatusGeneralFailure, g.operation(i), "%w: nobody can tell the size of a result: %w", nn.ErrUnsupported, why)
		}
		return nil // the model says it
	})
	if err != nil {
		return nil, err
	}
	return &resolved, nil
}
