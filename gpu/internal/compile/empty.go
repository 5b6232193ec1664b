package compile

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// isEmpty reports whether operand i of g, whose dimensions are sizes, has no elements.
func isEmpty(g *nn.Graph, i uint32) bool { return slices.Contains(g.Operands[i].Dims, 0) }

// isNothing reports whether op, of a model that Straight.Instance made, has nothing to compute. It keeps its place, so
// that others keep their numbers.
func isNothing(op nn.Operation) bool { return len(op.Outputs) == 0 }

// addPresent appends to the operations of m what remains to be computed of op, whose operands have their sizes, and
// whose inputs at the positions tensors are tensors: nothing where no result has elements. Inputs without elements do
// not count.
func addPresent(m *nn.Model, op *nn.Operation, tensors []int) error {
	empty := func(i uint32) bool { return isEmpty(&m.Main, i) }
	present := *op
	switch {
	case !slices.ContainsFunc(op.Outputs, func(y uint32) bool { return !empty(y) }):
		present = nn.Operation{Type: op.Type}
	case !slices.ContainsFunc(tensors, func(k int) bool { return empty(op.Inputs[k]) }):
	case op.Type == nn.OpConcatenation:
		present.Inputs = slices.DeleteFunc(slices.Clone(op.Inputs), empty)
	case ops.Plain(op.Type) != op.Type: // all that is left of it is a count of 0
		count := op.Outputs[len(op.Outputs)-1]
		present = nn.Operation{Type: nn.OpFill, Inputs: []uint32{
			addInt32(m, nn.TensorInt32, nn.Dims{1}, 1), addInt32(m, nn.Int32, nil, 0),
		}, Outputs: []uint32{count}}
	default:
		return fmt.Errorf("nothing gives a result that has elements")
	}
	m.Main.Operations = append(m.Main.Operations, present)
	return nil
}

// addInt32 adds a constant of one element to m.
func addInt32(m *nn.Model, t nn.OperandType, dims nn.Dims, v byte) uint32 {
	m.Pools = append(slices.Clip(m.Pools), nn.HostMemory{v, 0, 0, 0})
	m.Main.Operands = append(m.Main.Operands, nn.Operand{
		Type: t, Dims: dims, Lifetime: nn.ConstantReference, Location: nn.Location{PoolIndex: uint32(len(m.Pools) - 1), Length: 4},
	})
	return uint32(len(m.Main.Operands) - 1)
}
