// Package layers makes models with one call for each operation: what nn.Builder does, with operands in Go's types,
// and results whose type and dimensions follow from the inputs.
//
// The operands of each operation are in docs/operators.md. Imports only driver/nn and driver/ops.
package layers

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// Builder is an nn.Builder with a method for each operation that returns the operand of its result. The zero value is
// ready for use. Mistakes are kept like those of nn.Builder, for Build to return: shapes that contradict each other are
// found at the call that has them.
//
// A result of 8 bits has the scale and zero point of its last argument, a Quant; without one, those that the operation
// prescribes, or those of the first input.
type Builder struct{ nn.Builder }

// Quant is how the numbers of an 8-bit result are stored: real = Scale * (stored - Zero).
type Quant struct {
	Scale float32
	Zero  int32
}

// Apply adds operation t, which has one result, for operations without a method: inputs are all operands of the table
// in docs/operators.md. The result has the type that these prescribe, else that of the first input.
func (b *Builder) Apply(t nn.OperationType, inputs []uint32, q ...Quant) uint32 {
	return b.apply(t, nil, inputs, q)
}

// op adds an operation with one output: parameters are what goes behind x, as for list.
func (b *Builder) op(t nn.OperationType, q []Quant, x uint32, parameters ...any) uint32 {
	return b.apply(t, nil, b.list(x, parameters...), q)
}

// apply adds an operation with one output; as is its type where that does not follow from the inputs.
func (b *Builder) apply(t nn.OperationType, as *nn.OperandType, inputs []uint32, q []Quant) uint32 {
	return b.applyAll(t, 1, as, inputs, q)[0]
}

// applyAll adds an operation with n outputs; as is the type of those whose type does not follow from the inputs.
func (b *Builder) applyAll(t nn.OperationType, n int, as *nn.OperandType, inputs []uint32, q []Quant) []uint32 {
	outputs := make([]nn.Operand, n)
	row := ops.Lookup(t)
	if row != nil && len(inputs) > row.Lead {
		x := b.Operand(inputs[row.Lead])
		for i := range outputs {
			outputs[i].Type = x.Type
			if y, ok := row.ResultType(i, n, x.Type); ok {
				outputs[i].Type = y
			} else if as != nil {
				outputs[i].Type = *as
			}
			quantise(row, &outputs[i], &x, q)
		}
	}
	return b.derive(t, inputs, outputs)
}

// derive adds an operation whose outputs have their types.
func (b *Builder) derive(t nn.OperationType, inputs []uint32, outputs []nn.Operand) []uint32 {
	return b.Derive(t, inputs, outputs, func(m *nn.Model, op *nn.Operation) ([]nn.Dims, error) {
		row := ops.Lookup(t)
		if row == nil {
			return nil, fmt.Errorf("%v is not in the table of operations", t)
		}
		call := &ops.Call{Model: m, Graph: &m.Main, Op: op}
		if err := row.Check(call); err != nil {
			return nil, fmt.Errorf("%v: %w", t, err)
		}
		inferred, err := row.Infer(call)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", t, err)
		}
		return inferred.Shapes, nil
	})
}

// quantise gives output y of an operation whose leading input is x its scale and zero point.
func quantise(row *ops.Row, y, x *nn.Operand, q []Quant) {
	switch {
	case y.Type == nn.TensorQuant8Symm || y.Type == nn.TensorQuant16Symm && x.Type == y.Type:
		y.Scale = x.Scale
	case y.Type == nn.TensorQuant16Asymm:
		y.Scale = ops.BoxScale
	case y.Type == nn.TensorQuant16Symm:
		y.Scale = ops.LSTM16CellScale
	}
	if !y.Type.IsQuant8() {
		return
	}
	scale, zero, fixed := row.FixedQuant(y.Type)
	switch {
	case len(q) > 0:
		y.Scale, y.ZeroPoint = q[0].Scale, q[0].Zero
	case fixed:
		y.Scale, y.ZeroPoint = scale, zero
	default:
		y.Scale, y.ZeroPoint = x.Scale, x.ZeroPoint
	}
}

// list is x and parameters: a uint32 is an operand, other numbers become scalars, a float64 one of the type that goes with x.
func (b *Builder) list(x uint32, parameters ...any) []uint32 {
	inputs := []uint32{x}
	for _, p := range parameters {
		if v, ok := p.(float64); ok && b.Operand(x).Type == nn.TensorFloat16 {
			p = nn.HalfOf(float32(v))
		}
		if operand, ok := p.(uint32); ok {
			inputs = append(inputs, operand)
		} else {
			inputs = append(inputs, b.Scalar(p))
		}
	}
	return inputs
}

// vector adds a constant TENSOR_INT32 of rank 1.
func (b *Builder) vector(v []int) uint32 {
	list := make([]int32, len(v))
	for i, n := range v {
		list[i] = b.int32(n)
	}
	return b.Ints(nn.Dims{uint32(len(list))}, list...)
}

// int32 is n; one that does not fit is a mistake, which Scalar keeps.
func (b *Builder) int32(n int) int32 {
	if n != int(int32(n)) {
		b.Scalar(n)
	}
	return int32(n)
}
