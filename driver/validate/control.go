package validate

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// checkControl tests an IF or WHILE: number and kind of its operands, and that they fit those of the graphs that it
// refers to. Its rules are about graphs, so that it has no row in the table. Precondition: check passed for all graphs
// of the model.
func (g *graph) checkControl(op *nn.Operation) error {
	switch {
	case !isControl(op.Type):
		return nil
	case len(op.Inputs) < 3:
		return fmt.Errorf("%d inputs, at least 3", len(op.Inputs))
	case op.Type == nn.OpIf:
		return g.checkIf(op)
	}
	return g.checkWhile(op)
}

// checkIf: condition, then, else, inputs of both.
func (g *graph) checkIf(op *nn.Operation) error {
	if err := checkCondition(&g.Operands[op.Inputs[0]]); err != nil {
		return fmt.Errorf("input 0 (condition): %w", err)
	}
	for i, name := range []string{"then", "else"} {
		branch, err := g.referred(op, 1+i, name, op.Inputs[3:])
		if err != nil {
			return err
		}
		if err := g.fit("output", op.Outputs, branch, branch.Outputs, len(op.Outputs)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// checkWhile: condition, body, then what both take: the results, the rest of the state, and what stays as it is.
func (g *graph) checkWhile(op *nn.Operation) error {
	values := op.Inputs[2:]
	condition, err := g.referred(op, 0, "condition", values)
	if err != nil {
		return err
	}
	if len(condition.Outputs) != 1 {
		return fmt.Errorf("condition: %d outputs", len(condition.Outputs))
	}
	if err := checkCondition(&condition.Operands[condition.Outputs[0]]); err != nil {
		return fmt.Errorf("condition: output 0: %w", err)
	}
	body, err := g.referred(op, 1, "body", values)
	if err != nil {
		return err
	}
	state := len(body.Outputs)
	if state < len(op.Outputs) || state > len(values) {
		return fmt.Errorf("body: %d outputs, for %d outputs of the loop and %d inputs", state, len(op.Outputs), len(values))
	}
	if err := g.fit("state", values[:state], body, body.Outputs, state); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	if err := g.fit("output", op.Outputs, body, body.Outputs[:len(op.Outputs)], len(op.Outputs)); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	return nil
}

// checkCondition requires one boolean.
func checkCondition(o *nn.Operand) error {
	if o.Type != nn.TensorBool8 || !o.Dims.Equal(nn.Dims{1}) {
		return fmt.Errorf("%v%v instead of a %v[1]", o.Type, []uint32(o.Dims), nn.TensorBool8)
	}
	if o.Lifetime == nn.NoValue {
		return fmt.Errorf("has no value")
	}
	return nil
}

// referred is the graph that input i of op stands for, which must take these values.
func (g *graph) referred(op *nn.Operation, i int, name string, values []uint32) (*nn.Graph, error) {
	o := &g.Operands[op.Inputs[i]]
	if o.Type != nn.SubgraphRef {
		return nil, fmt.Errorf("input %d (%s): %v instead of a graph", i, name, o.Type)
	}
	other := &g.model.Referenced[o.Location.Offset]
	if err := g.fit("input", values, other, other.Inputs, len(values)); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return other, nil
}

// fit compares operands of g with those of another graph that take their values, or give their values to them.
func (g *graph) fit(what string, mine []uint32, other *nn.Graph, theirs []uint32, n int) error {
	if len(theirs) != n {
		return fmt.Errorf("%d %ss, %d are needed", len(theirs), what, n)
	}
	for k, i := range mine {
		a, b := &g.Operands[i], &other.Operands[theirs[k]]
		switch {
		case a.Type == nn.SubgraphRef:
			return fmt.Errorf("%s %d is a graph", what, k)
		case a.Type != b.Type || a.Scale != b.Scale || a.ZeroPoint != b.ZeroPoint || !sameChannels(a.Channel, b.Channel):
			return fmt.Errorf("%s %d is %v of scale %v and zero point %d, or of other channels, for one of %v, %v and %d", what, k,
				b.Type, b.Scale, b.ZeroPoint, a.Type, a.Scale, a.ZeroPoint)
		case !mayBe(a.Dims, b.Dims):
			return fmt.Errorf("%s %d has dimensions %v for one of %v", what, k, []uint32(b.Dims), []uint32(a.Dims))
		}
	}
	return nil
}

func sameChannels(a, b *nn.ChannelQuant) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ChannelDim == b.ChannelDim && slices.Equal(a.Scales, b.Scales)
}

// mayBe reports whether a and b are the same as far as both are known.
func mayBe(a, b nn.Dims) bool {
	if len(a) == 0 || len(b) == 0 {
		return true // a scalar, whose type says so, or of unknown rank
	}
	_, ok := a.Merge(b)
	return ok
}
