package compile

import (
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// count replaces the operations of s whose outputs have a number of rows that only the data tells. Each becomes one
// that computes as many rows as there could be, and their number (ops.Counted), and one for each output that takes that
// many of them (ops.TakeRows), for which the number is a parameter that the host reads. They are all of the same
// origin.
//
// Precondition: the operands of s are its own, and only inputs and outputs have values yet.
func (s *scope) count() {
	fromData := func(op nn.Operation) bool { return hasRowsFromData(&op) }
	if !slices.ContainsFunc(s.Operations, fromData) {
		return
	}
	list, origins := s.Operations, s.origins
	s.Operations, s.origins = nil, nil
	for i, op := range list {
		if !fromData(op) {
			s.Operations, s.origins = append(s.Operations, op), append(s.origins, origins[i])
			continue
		}
		all := nn.Operation{Type: ops.Counted(op.Type), Inputs: op.Inputs}
		for _, y := range op.Outputs {
			o := s.Operands[y]
			all.Outputs = append(all.Outputs, s.temporary(nn.Operand{Type: o.Type, Scale: o.Scale, ZeroPoint: o.ZeroPoint}))
		}
		n := s.temporary(nn.Operand{Type: nn.TensorInt32, Dims: nn.Dims{1}})
		rows := all.Outputs
		all.Outputs = append(slices.Clip(rows), n)
		s.Operations, s.origins = append(s.Operations, all), append(s.origins, origins[i])
		for k, y := range op.Outputs {
			s.Operations = append(s.Operations, nn.Operation{Type: ops.TakeRows, Inputs: []uint32{rows[k], n}, Outputs: []uint32{y}})
			s.origins = append(s.origins, origins[i])
		}
	}
}

// temporary adds an operand like o.
func (s *scope) temporary(o nn.Operand) uint32 {
	o.Lifetime = nn.Temporary
	s.Operands, s.at = append(s.Operands, o), append(s.at, None)
	return uint32(len(s.Operands) - 1)
}

// hasRowsFromData reports whether only the data tells how many rows the outputs of op have.
func hasRowsFromData(op *nn.Operation) bool {
	row := ops.Lookup(op.Type)
	return row != nil && row.FromData
}

func expandTakeRows(x *expansion, n *ir.Node) error {
	if err := x.checkRoom(1); err != nil {
		return err
	}
	x.into(n.Out[0], nn.OpSlice, n.Attrs, n.In...)
	return nil
}
