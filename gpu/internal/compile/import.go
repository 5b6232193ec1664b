package compile

import (
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
)

// importModel makes the graph of the model's main graph: a node for each operation, a tensor for each operand that
// is an input, an output or a tensor of an operation.
//
// Requires: the model passed validate.Model.
// Ensures: ir.Imported; an operation whose constants cannot be read is refused. Of model inputs that operations count
// as left off only their place remains, so that requests cannot give them a value.
func (u *unit) importModel() error {
	m := u.model
	u.main = m.Main
	u.main.Operands = append([]nn.Operand(nil), m.Main.Operands...)
	u.ids = make([]ir.ID, len(m.Main.Operands))
	for i := range u.ids {
		u.ids[i] = ir.None
	}
	u.leftOff = map[uint32]bool{}
	u.refused = make([]error, len(m.Main.Operations))
	u.graph = &ir.Graph{Relaxed: m.RelaxFloat32}
	for _, index := range m.Main.Inputs {
		u.graph.Inputs = append(u.graph.Inputs, u.tensor(index))
	}
	for i := range m.Main.Operations {
		if !isNothing(m.Main.Operations[i]) {
			u.importOperation(i)
		}
	}
	uses := u.graph.Uses()
	for i, index := range m.Main.Inputs {
		if id := u.graph.Inputs[i]; u.leftOff[index] && uses[id] == 0 {
			u.graph.Inputs[i] = ir.None
		}
	}
	for _, index := range m.Main.Outputs {
		u.graph.Outputs = append(u.graph.Outputs, u.ids[index])
	}
	u.constants = pack.ConstantBytes(u.graph)
	return nil
}

func (u *unit) importOperation(i int) {
	op := &u.main.Operations[i]
	n := ir.Node{Op: op.Type, Source: i}
	var failed error
	if row := ops.Lookup(op.Type); row != nil {
		call := u.call(i)
		for _, k := range row.Tensors(call) {
			id := ir.None
			if call.In(k) == nil {
				u.leftOff[op.Inputs[k]] = true
			} else if failed == nil {
				id, failed = u.operand(op.Inputs[k])
			}
			n.In = append(n.In, id)
		}
	}
	for _, index := range op.Outputs {
		n.Out = append(n.Out, u.tensor(index))
	}
	if failed != nil {
		u.refuse(&n, failed)
		return
	}
	u.graph.Nodes = append(u.graph.Nodes, n)
}

// refuse takes node n out of the graph. Its outputs count as inputs of the graph, so that the nodes behind it are
// judged by themselves.
func (u *unit) refuse(n *ir.Node, why error) {
	u.refused[n.Source] = why
	u.graph.Inputs = append(u.graph.Inputs, n.Out...)
}

// call is operation i with the dimensions inferred so far.
func (u *unit) call(i int) *ops.Call {
	return &ops.Call{Model: u.model, Graph: &u.main, Op: &u.main.Operations[i]}
}

// tensor makes the tensor of an operand.
func (u *unit) tensor(index uint32) ir.ID {
	o := &u.main.Operands[index]
	u.ids[index] = u.graph.Add(ir.Tensor{Type: o.Type, Shape: shapeOf(o.Dims), Scale: o.Scale, Zero: o.ZeroPoint, Channel: o.Channel})
	return u.ids[index]
}

// shapeOf is d as the shape of a tensor.
func shapeOf(d nn.Dims) []int {
	shape := make([]int, len(d))
	for i, n := range d {
		shape[i] = int(n)
	}
	return shape
}

// operand returns the tensor of an operand that an operation reads.
func (u *unit) operand(index uint32) (ir.ID, error) {
	if id := u.ids[index]; id != ir.None {
		return id, nil
	}
	data, err := u.model.Value(&u.main.Operands[index])
	if err != nil {
		return ir.None, err
	}
	id := u.tensor(index)
	u.graph.T(id).Const = data
	return id, nil
}
