package compile

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// infer decodes the parameters of operations and computes the shapes of their outputs. Of model inputs that no node
// reads and whose shape is open, only their place remains.
//
// Requires: ir.Imported.
// Ensures: ir.Inferred; an operation whose shapes or parameters are not known is refused.
func (u *unit) infer() error {
	g := u.graph
	nodes := g.Nodes[:0]
	for _, n := range g.Nodes {
		if err := u.inferNode(&n); err != nil {
			u.refuse(&n, explain(err))
			continue
		}
		nodes = append(nodes, n)
	}
	g.Nodes = nodes
	for i, id := range g.Inputs {
		if id != ir.None && !g.T(id).Known() { // no elements, or open
			g.Inputs[i] = ir.None
		}
	}
	if slices.ContainsFunc(u.refused, func(err error) bool { return err != nil }) {
		g.Outputs = slices.DeleteFunc(g.Outputs, func(id ir.ID) bool { return id == ir.None || !g.T(id).Known() })
	}
	return nil
}

func (u *unit) inferNode(n *ir.Node) error {
	row := ops.Lookup(n.Op)
	if row == nil {
		return fmt.Errorf("%v is not supported", n.Op)
	}
	call := u.call(n.Source)
	inf, err := row.Infer(call)
	if err != nil {
		return err
	}
	if row.FromData { // where its inputs are known, cut has replaced it
		return fmt.Errorf("rows of the results: %w", ops.ErrNotConstant)
	}
	for k, index := range call.Op.Outputs {
		if stated := u.main.Operands[index].Dims; stated.Known() && len(stated) > 0 && !stated.Equal(inf.Shapes[k]) {
			return fmt.Errorf("output %d has dimensions %v, the inputs give %v", k, stated, inf.Shapes[k])
		}
	}
	if inf.RuntimeParam != 0 {
		id, err := u.runtimeParam(call.Op.Inputs[inf.RuntimeParam], inf.RuntimeDims)
		if err != nil {
			return err
		}
		n.In = append(n.In, id)
	}
	n.Attrs = inf.Attrs
	for k, index := range call.Op.Outputs {
		u.settle(index, inf.Shapes[k])
	}
	return nil
}

// settle gives an operand its dimensions. A scalar, which can only be INT32 here, is a tensor of one element in the graph.
func (u *unit) settle(index uint32, dims nn.Dims) {
	o, t := &u.main.Operands[index], u.graph.T(u.ids[index])
	o.Dims, t.Shape = dims, shapeOf(dims)
	if o.Type == nn.Int32 {
		t.Type, t.Shape = nn.TensorInt32, []int{1}
	}
}

// runtimeParam returns the tensor of a parameter that is known only at run time. A model input of open shape gets the
// only dimensions that its reader takes.
func (u *unit) runtimeParam(index uint32, dims nn.Dims) (ir.ID, error) {
	id, err := u.operand(index)
	if err != nil || u.graph.T(id).Known() {
		return id, err
	}
	if u.main.Operands[index].Lifetime != nn.SubgraphInput {
		return ir.None, fmt.Errorf("operand %d: %w", index, ops.ErrOpenShape)
	}
	u.settle(index, dims)
	return id, nil
}

// explain says what a failed inference means for support.
func explain(err error) error {
	switch {
	case errors.Is(err, ops.ErrNotConstant):
		return fmt.Errorf("parameters that are known only at run time are not supported: %w", err)
	case errors.Is(err, ops.ErrOpenShape):
		return fmt.Errorf("open dimensions are not supported: %w", err)
	}
	return err
}
