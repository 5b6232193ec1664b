package validate

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// maxReferred bounds how much of graphs that others refer to is looked at, in operands and operations: they count each
// time that dimensions are carried through them, since graphs that refer to one another may become many more than the
// model has.
const maxReferred = 1 << 15

// referred carries dimensions through the graphs that IF and WHILE refer to.
type referred struct {
	model *nn.Model
	left  int
	// operands has for each graph its operands, with the dimensions that are the same for every reference; nil if none
	// was met.
	operands [][]nn.Operand
}

// newReferred returns nil for a model without such graphs.
func newReferred(m *nn.Model) *referred {
	if len(m.Referenced) == 0 {
		return nil
	}
	return &referred{model: m, left: maxReferred, operands: make([][]nn.Operand, len(m.Referenced))}
}

func isControl(t nn.OperationType) bool { return t == nn.OpIf || t == nn.OpWhile }

// completeControl is completeOperation for an IF or WHILE: dimensions that depend on which branch is taken, or on how
// often the body runs, only the data tells.
func (g *graph) completeControl(work *nn.Graph, op *nn.Operation) (err error) {
	at := func(i int) uint32 { return work.Operands[op.Inputs[i]].Location.Offset }
	values := op.Inputs[3:]
	if op.Type == nn.OpWhile {
		values = op.Inputs[2:]
	}
	state := make([]nn.Dims, len(values))
	for k, x := range values {
		state[k] = work.Operands[x].Dims
	}
	var results []nn.Dims
	if op.Type == nn.OpIf {
		results, err = g.refs.branches(at(1), at(2), state)
	} else {
		results, err = g.refs.loop(at(0), at(1), state)
	}
	if err != nil {
		return err
	}
	for k, y := range op.Outputs {
		if o := &work.Operands[y]; o.Type.IsTensor() && len(results[k]) > 0 {
			if o.Dims, err = ops.MergeDims(o.Type, o.Dims, results[k]); err != nil {
				return fmt.Errorf("output %d (operand %d): %w", k, y, err)
			}
		}
	}
	return nil
}

// branches has the dimensions that are the same in the results of both branches.
func (r *referred) branches(then, otherwise uint32, inputs []nn.Dims) ([]nn.Dims, error) {
	results, err := r.through(then, inputs)
	if err != nil {
		return nil, err
	}
	others, err := r.through(otherwise, inputs)
	if err != nil {
		return nil, err
	}
	for k := range results {
		results[k] = common(results[k], others[k])
	}
	return results, nil
}

// loop has the dimensions that the state keeps in all iterations; it changes state.
func (r *referred) loop(condition, body uint32, state []nn.Dims) ([]nn.Dims, error) {
	for round := 0; ; round++ {
		if _, err := r.through(condition, state); err != nil {
			return nil, err
		}
		results, err := r.through(body, state)
		if err != nil {
			return nil, err
		}
		changed := false
		for k, d := range results {
			kept := common(state[k], d)
			if kept.Equal(state[k]) {
				continue
			}
			if round > 0 { // dropping one dimension after the other may take long
				kept = nil
			}
			state[k], changed = kept, true
		}
		if !changed {
			return state, nil
		}
	}
}

// through is the dimensions of a graph's outputs for inputs of these dimensions, some of them open.
func (r *referred) through(i uint32, inputs []nn.Dims) ([]nn.Dims, error) {
	g := &graph{Graph: &r.model.Referenced[i], model: r.model, name: fmt.Sprintf("referenced graph %d, ", i), refs: r}
	work := g.copied()
	if r.left -= len(g.Operands) + len(g.Operations); r.left >= 0 {
		for k, x := range g.Inputs {
			o := &work.Operands[x]
			if !o.Type.IsTensor() || len(inputs[k]) == 0 {
				continue
			}
			var err error
			if o.Dims, err = ops.MergeDims(o.Type, o.Dims, inputs[k]); err != nil {
				return nil, fmt.Errorf("%sinput %d: %w", g.name, k, err)
			}
		}
		if err := g.complete(&work); err != nil {
			return nil, err
		}
	}
	if seen := r.operands[i]; seen == nil {
		r.operands[i] = slices.Clone(work.Operands)
	} else {
		for k := range seen {
			seen[k].Dims = common(seen[k].Dims, work.Operands[k].Dims)
		}
	}
	results := make([]nn.Dims, len(g.Outputs))
	for k, y := range g.Outputs {
		results[k] = work.Operands[y].Dims
	}
	return results, nil
}

// common has the sizes that are the same in a and b, 0 elsewhere; nil if their ranks differ, or one is open.
func common(a, b nn.Dims) nn.Dims {
	if a.Equal(b) {
		return a
	}
	if len(a) != len(b) {
		return nil
	}
	out := slices.Clone(a)
	for i := range out {
		if a[i] != b[i] {
			out[i] = 0
		}
	}
	return out
}

// graphs are those of the model, with the dimensions that are the same for every reference. Graphs that dimensions were
// no longer carried to are unchanged.
func (r *referred) graphs() []nn.Graph {
	out := slices.Clone(r.model.Referenced)
	for i, operands := range r.operands {
		if operands != nil && r.left >= 0 {
			out[i].Operands = operands
		}
	}
	return out
}
