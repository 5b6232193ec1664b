package compile

import (
	"errors"
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/lower"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// importer builds a graph from the main graph of a model.
type importer struct {
	facts   *plan.Facts
	model   *nn.Model
	main    nn.Graph // a copy whose operands get their inferred dimensions
	graph   *ir.Graph
	ids     []ir.ID // by operand; None: not imported yet
	refused []error // by operation
}

// importModel returns the graph of m and, for each operation, why it is refused, or nil. The graph is
// complete only when nothing is refused.
//
// Precondition: m passed validate.Model.
func importModel(f *plan.Facts, m *nn.Model) (*ir.Graph, []error, error) {
	imp := &importer{
		facts:   f,
		model:   m,
		main:    m.Main,
		graph:   &ir.Graph{Relaxed: m.RelaxFloat32},
		ids:     make([]ir.ID, len(m.Main.Operands)),
		refused: make([]error, len(m.Main.Operations)),
	}
	imp.main.Operands = append([]nn.Operand(nil), m.Main.Operands...)
	for i := range imp.ids {
		imp.ids[i] = ir.None
	}
	for _, index := range m.Main.Inputs {
		imp.graph.Inputs = append(imp.graph.Inputs, imp.input(index))
	}
	for i := range m.Main.Operations {
		if imp.refused[i] = imp.operation(i); imp.refused[i] != nil {
			imp.assumeOutputs(i)
		}
	}
	for _, err := range imp.refused {
		if err != nil {
			return imp.graph, imp.refused, nil
		}
	}
	for _, index := range m.Main.Outputs {
		id := imp.ids[index]
		if id == ir.None {
			return nil, nil, fmt.Errorf("output operand %d is never written", index)
		}
		imp.graph.Outputs = append(imp.graph.Outputs, id)
	}
	return imp.graph, imp.refused, imp.graph.Verify()
}

// input adds a model input, or returns None when its shape is open: then the operations that read it are
// refused.
func (imp *importer) input(index uint32) ir.ID {
	if !imp.shapeKnown(index) {
		return ir.None
	}
	return imp.add(index)
}

// complete gives a model input that has no tensor yet, because its shape is open, the dimensions that the
// only value that its reader takes has.
func (imp *importer) complete(index uint32, dims nn.Dims) {
	if imp.ids[index] != ir.None || imp.main.Operands[index].Lifetime != nn.SubgraphInput {
		return
	}
	imp.main.Operands[index].Dims = dims
	id := imp.add(index)
	for i, input := range imp.model.Main.Inputs {
		if input == index {
			imp.graph.Inputs[i] = id
		}
	}
}

// shapeKnown reports whether an operand's rank and dimensions are known.
func (imp *importer) shapeKnown(index uint32) bool {
	o := &imp.main.Operands[index]
	return o.Dims.Known() && (len(o.Dims) > 0 || !o.Type.IsTensor())
}

// assumeOutputs gives the outputs of a refused operation a tensor where their shape is known, so that the
// operations behind it are judged by themselves.
func (imp *importer) assumeOutputs(i int) {
	for _, index := range imp.main.Operations[i].Outputs {
		if imp.ids[index] == ir.None && imp.shapeKnown(index) {
			imp.add(index)
		}
	}
}

// add makes a tensor of an operand whose dimensions are known.
func (imp *importer) add(index uint32) ir.ID {
	o := &imp.main.Operands[index]
	id := imp.graph.Add(ir.Tensor{Type: o.Type, Shape: shapeOf(o.Dims), Scale: o.Scale, Zero: o.ZeroPoint, Channel: o.Channel})
	imp.ids[index] = id
	return id
}

// shapeOf is d, all of which is known, as the shape of a tensor.
func shapeOf(d nn.Dims) []int {
	shape := make([]int, len(d))
	for i, n := range d {
		shape[i] = int(n)
	}
	return shape
}

// operand returns the tensor of an operand that an operation reads.
func (imp *importer) operand(index uint32) (ir.ID, error) {
	if id := imp.ids[index]; id != ir.None {
		return id, nil
	}
	data, err := imp.model.Value(&imp.main.Operands[index])
	if err != nil {
		return ir.None, err
	}
	if data == nil {
		return ir.None, fmt.Errorf("operand %d has no known shape", index)
	}
	id := imp.add(index)
	imp.graph.T(id).Const = data
	return id, nil
}

// operation adds the node or nodes of operation i.
func (imp *importer) operation(i int) error {
	op := &imp.main.Operations[i]
	row := ops.Lookup(op.Type)
	if row == nil {
		return fmt.Errorf("%v is not supported", op.Type)
	}
	call := &ops.Call{Model: imp.model, Graph: &imp.main, Op: op}
	inf, err := row.Infer(call)
	if err != nil {
		return imp.explain(err)
	}
	for k, index := range op.Outputs {
		if stated := imp.main.Operands[index].Dims; stated.Known() && len(stated) > 0 && !stated.Equal(inf.Shapes[k]) {
			return fmt.Errorf("output %d has dimensions %v, the inputs give %v", k, stated, inf.Shapes[k])
		}
		imp.main.Operands[index].Dims = inf.Shapes[k]
	}
	n := ir.Node{Op: op.Type, Attrs: inf.Attrs, Source: i}
	for _, k := range inf.Data {
		id := ir.None
		if call.In(k) != nil {
			if k == inf.Fed {
				imp.complete(op.Inputs[k], inf.FedDims)
			}
			if id, err = imp.operand(op.Inputs[k]); err != nil {
				return err
			}
		}
		n.In = append(n.In, id)
	}
	for _, index := range op.Outputs {
		n.Out = append(n.Out, imp.add(index))
	}
	for _, part := range normaliseLayout(imp.graph, n) {
		if err := lower.Check(imp.facts, imp.graph, &part); err != nil {
			return err
		}
		imp.graph.Nodes = append(imp.graph.Nodes, part)
	}
	return nil
}

// explain says what a failed inference means for support.
func (imp *importer) explain(err error) error {
	switch {
	case errors.Is(err, ops.ErrNotConstant):
		return fmt.Errorf("parameters that are known only at run time are not supported: %w", err)
	case errors.Is(err, ops.ErrOpenShape):
		return fmt.Errorf("open dimensions are not supported: %w", err)
	}
	return err
}
