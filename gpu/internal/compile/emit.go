package compile

import (
	"fmt"

	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/lower"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// lower turns nodes into steps: kernels are chosen, weights packed.
//
// Requires: ir.Normal; lower.Check has nothing against any node.   Ensures: every output is written to host memory.
func (u *unit) lower() error {
	b := emit.NewBuilder(u.facts, u.graph)
	b.Bound(u.ctx, u.constants, u.fits)
	u.builder, u.plan = b, &plan.Plan{}
	u.plan.Inputs, u.plan.Outputs, u.plan.HostBytes = b.PlaceIO()
	lower.PlaceConcats(b)
	b.LoadInputs()
	for i := range u.graph.Nodes {
		n := &u.graph.Nodes[i]
		if err := u.ctx.Err(); err != nil {
			return err
		}
		if err := lower.Node(b, n); err != nil {
			return fmt.Errorf("%s: %w", n.Where(), err)
		}
	}
	b.StoreOutputs()
	return nil
}

// finish gives values their places in the arena, finds barriers and cuts segments.
//
// Requires: lower.   Ensures: what plan.Plan promises.
func (u *unit) finish() error {
	p, weights, err := u.builder.Finish()
	if err != nil {
		return err
	}
	p.Inputs, p.Outputs, p.HostBytes = u.plan.Inputs, u.plan.Outputs, u.plan.HostBytes+plan.Align // see emit.Builder.steadyViews
	p.Steps, p.Segments = segments(u.facts, p.Steps)
	u.plan, u.weights = p, weights
	return nil
}
