package compile

import (
	"context"
	"errors"
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// TreeOf cuts m, and asks for each of its operations, and for each of the graphs that it refers to, whether the device
// can run it. Straight regions are to be compiled one by one, by Model or Copy; open ones by Straight.Instance, when
// they are to run. The latter need nothing of m.
//
// Precondition: m passed validate.Model, NeedsTree.
//
// Errors: nn.ErrUnsupported.
func TreeOf(f *plan.Facts, m *nn.Model) (*Tree, error) {
	t := cut(m)
	if err := t.judge(f); err != nil {
		return nil, err
	}
	if err := nn.Unsupported(m, t.refused); err != nil {
		return nil, err
	}
	t.trim()
	return t, t.detach()
}

// judge adds to t.refused what the device cannot run.
func (t *Tree) judge(f *plan.Facts) error {
	refuse := func(o origin, why error) {
		if t.refused[o.main] == nil && why != nil {
			t.refused[o.main] = o.wrap(why)
		}
	}
	for i := range t.Values {
		if v := &t.Values[i]; v.Place != InRequest && known(&v.Operand) {
			refuse(v.of, emit.CheckTensor(f, tensorOf(&v.Operand)))
		}
	}
	for _, s := range t.Straights {
		if s.Model == nil {
			continue
		}
		u := &unit{facts: f, model: s.Model}
		if err := u.run("import", "support"); err != nil {
			return err
		}
		for i, why := range u.refused {
			if s.Open && has(s.Model.Main.Operations[i].Type) && (errors.Is(why, ops.ErrOpenShape) || errors.Is(why, ops.ErrNotConstant)) {
				continue // instances are judged anew
			}
			refuse(s.origins[i], why)
		}
	}
	return nil
}

// trim drops the regions that are only judged.
func (t *Tree) trim() {
	var list []*Straight
	for _, s := range t.Straights {
		if !s.dead {
			s.Index = len(list)
			list = append(list, s)
		}
	}
	t.Straights = list
}

func tensorOf(o *nn.Operand) *ir.Tensor {
	return &ir.Tensor{Type: o.Type, Shape: shapeOf(o.Dims), Scale: o.Scale, Zero: o.ZeroPoint, Channel: o.Channel}
}

// Copy returns the plan that copies its inputs, operands like those in list, to its outputs.
func Copy(ctx context.Context, f *plan.Facts, list []nn.Operand) (*plan.Plan, *pack.Weights, error) {
	g := &ir.Graph{}
	for i := range list {
		x, y := g.Add(*tensorOf(&list[i])), g.Add(*tensorOf(&list[i]))
		g.Inputs, g.Outputs = append(g.Inputs, x), append(g.Outputs, y)
		g.Nodes = append(g.Nodes, ir.Node{Op: nn.OpReshape, Source: -1, In: []ir.ID{x}, Out: []ir.ID{y}})
	}
	p, weights, err := Graph(ctx, f, g, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("copy: %w", err)
	}
	return p, weights, nil
}
