package validate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// Reshape returns m with inputs of other dimensions, and with the dimensions that follow from them for all operands
// that operations write: inputs has the dimensions of each input of the main graph, none at all where they stay. A
// RESHAPE that keeps the first dimension of its input in m does so in the result as well, whatever its constant says,
// so that networks for one example run with a batch. All other constants stay. The result has operands of its own and
// shares the rest with m, which it only reads.
//
// Precondition: m passed Model.
//
// Errors: INVALID_ARGUMENT where an operation cannot have these dimensions, which it names; GENERAL_FAILURE, with
// nn.ErrUnsupported, where sizes depend on something that is known only at run time, or on an operation that the table
// does not have.
func Reshape(m *nn.Model, inputs []nn.Dims) (*nn.Model, error) {
	if len(inputs) != len(m.Main.Inputs) {
		return nil, nn.Invalid("inputs", "dimensions of %d; the model has %d", len(inputs), len(m.Main.Inputs))
	}
	was, err := Shapes(m)
	if err != nil {
		return nil, err
	}
	out := *m
	out.Main.Operands = slices.Clone(m.Main.Operands)
	for i := range out.Main.Operands {
		if o := &out.Main.Operands[i]; o.Type.IsTensor() && (o.Lifetime == nn.Temporary || o.Lifetime == nn.SubgraphOutput) {
			o.Dims = nil
		}
	}
	for i, dims := range inputs {
		o := &out.Main.Operands[m.Main.Inputs[i]]
		if len(dims) == 0 {
			continue
		}
		if !o.Type.IsTensor() || !dims.Known() {
			return nil, nn.Invalid(fmt.Sprintf("input %d", i), "dimensions %v for %v", []uint32(dims), o.Type)
		}
		o.Dims = slices.Clone(dims)
		if err := checkSize(o); err != nil {
			return nil, nn.Invalid(fmt.Sprintf("input %d", i), "%w", err)
		}
	}
	batches, shapes, err := keptBatches(&out, was)
	if err != nil {
		return nil, err
	}
	g := &graph{Graph: &out.Main, model: &out}
	for i := range out.Main.Operations {
		if at, ok := batches[i]; ok {
			x := &out.Main.Operands[out.Main.Operations[i].Inputs[0]]
			if !x.Dims.Known() || len(x.Dims) == 0 {
				return nil, nn.Invalid(g.operation(i), "an input of dimensions %v", []uint32(x.Dims))
			}
			binary.LittleEndian.PutUint32(shapes[at:], x.Dims[0])
		}
		err := g.completeOperation(&out.Main, &out.Main.Operations[i])
		if row := ops.Lookup(out.Main.Operations[i].Type); err == nil && row != nil && row.FromData {
			err = errFromData
		}
		switch {
		case errors.Is(err, ops.ErrNotConstant), errors.Is(err, errNotInTable):
			return nil, nn.Errorf(nn.StatusGeneralFailure, g.operation(i), "%w: nobody can tell the size of a result: %w", nn.ErrUnsupported, err)
		case err != nil:
			return nil, nn.Invalid(g.operation(i), "%w", err)
		}
	}
	return &out, Model(&out)
}

// keptBatches gives each RESHAPE of m that keeps the first dimension a constant of its own for the shape; was has the
// dimensions of all operands. It returns the pool that it adds for them and, by operation, where in it that dimension
// is.
func keptBatches(m *nn.Model, was []nn.Dims) (at map[int]int, shapes nn.HostMemory, err error) {
	at = map[int]int{}
	m.Main.Operations = slices.Clone(m.Main.Operations)
	for i := range m.Main.Operations {
		op := &m.Main.Operations[i]
		if op.Type != nn.OpReshape {
			continue
		}
		x, y := was[op.Inputs[0]], was[op.Outputs[0]]
		shape, err := m.Value(&m.Main.Operands[op.Inputs[1]])
		if err != nil {
			return nil, nil, nn.Invalid(fmt.Sprintf("operation %d (%v)", i, op.Type), "%w", err)
		}
		if len(shape) < 4 || len(x) == 0 || len(y) == 0 || x[0] != y[0] || int32(binary.LittleEndian.Uint32(shape)) == -1 {
			continue
		}
		o := m.Main.Operands[op.Inputs[1]]
		at[i] = len(shapes)
		o.Lifetime = nn.ConstantReference
		o.Location = nn.Location{PoolIndex: uint32(len(m.Pools)), Offset: uint32(len(shapes)), Length: uint32(len(shape))}
		shapes = append(shapes, shape...)
		op.Inputs = slices.Clone(op.Inputs)
		op.Inputs[1] = uint32(len(m.Main.Operands))
		m.Main.Operands = append(m.Main.Operands, o)
	}
	if len(at) > 0 {
		m.Pools = append(slices.Clip(m.Pools), shapes) // appending must not change the original model
	}
	return at, shapes, nil
}
