// Package compile turns a validated model into a plan for one device.
//
// The passes are one visible list, below; the graph is verified after each. Supports runs the list up to "support",
// where every node is asked for by the predicate that guards lowering; no later pass makes a node that it would refuse.
// Knows no Vulkan handle and runs on any machine.
package compile

import (
	"context"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/lower"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// unit is a model on its way to a plan.
type unit struct {
	ctx   context.Context
	facts *plan.Facts
	fits  pack.Fits
	model *nn.Model

	main      nn.Graph        // a copy of the model's whose operands get their inferred dimensions
	ids       []ir.ID         // by operand; None: has no tensor
	leftOff   map[uint32]bool // operands that an operation could take, but are left off
	graph     *ir.Graph
	refused   []error // by operation, why the device cannot run it
	constants int64   // bytes of the model's constants

	builder *emit.Builder
	plan    *plan.Plan
	weights *pack.Weights
}

// pass brings a unit a step further. The comment of each says what it requires and ensures.
type pass struct {
	name    string
	run     func(*unit) error
	ensures ir.State // of the graph
}

// passes in running order.
var passes = []pass{
	{"import", (*unit).importModel, ir.Imported},
	{"infer", (*unit).infer, ir.Inferred},
	{"expand", (*unit).expand, ir.Inferred},
	{"normalise layout", onGraph(normaliseLayout), ir.Normal},
	{"fold constants", onGraph(foldConstants), ir.Normal},
	{"support", (*unit).support, ir.Normal},
	{"cancel transposes", onGraph(cancelTransposes), ir.Normal},
	{"remove dead nodes", onGraph(removeDead), ir.Normal},
	{"fuse pad", (*unit).fusePad, ir.Normal},
	{"fuse activation", onGraph(fuseActivation), ir.Normal},
	{"fuse residual", (*unit).fuseResidual, ir.Normal},
	{"remove fused nodes", onGraph(removeDead), ir.Normal},
	{"fuse elementwise", (*unit).fuseElementwise, ir.Normal},
	{"lower", (*unit).lower, ir.Normal},
	{"plan", (*unit).finish, ir.Normal},
}

// onGraph is a pass that looks at the graph alone.
func onGraph(run func(*ir.Graph) error) func(*unit) error {
	return func(u *unit) error { return run(u.graph) }
}

// run runs the passes from the first to the last of the names.
func (u *unit) run(first, last string) error {
	at := func(name string) int { return slices.IndexFunc(passes, func(p pass) bool { return p.name == name }) }
	for _, p := range passes[at(first) : at(last)+1] {
		if err := p.run(u); err != nil {
			return err
		}
		if err := u.graph.Verify(p.ensures); err != nil {
			return fmt.Errorf("after pass %s: %w", p.name, err)
		}
	}
	return nil
}

// judge runs the passes that tell what the device can run, and fails with nn.ErrUnsupported unless that is everything.
func (u *unit) judge() error {
	if err := u.run("import", "support"); err != nil {
		return err
	}
	return nn.Unsupported(u.model, u.refused)
}

// Supports reports for each operation of m's main graph why the device cannot run it, nil when it can.
//
// Precondition: m passed validate.Model.
func Supports(f *plan.Facts, m *nn.Model) ([]error, error) {
	if NeedsTree(m) {
		t := cut(m)
		err := t.judge(f)
		return t.refused, err
	}
	u := &unit{facts: f, model: m}
	err := u.run("import", "support")
	return u.refused, err
}

// Model compiles m. The plan refers to offsets in weights, the packed constants, which are made from m's when they are
// read. fits says when they become too large; without it, only the size of the model's constants bounds them.
//
// Precondition: m passed validate.Model.
//
// Errors: nn.ErrUnsupported; those of fits; RESOURCE_EXHAUSTED_PERSISTENT for weights far larger than the model's constants.
func Model(ctx context.Context, f *plan.Facts, m *nn.Model, fits pack.Fits) (p *plan.Plan, weights *pack.Weights, err error) {
	u := &unit{ctx: ctx, facts: f, fits: fits, model: m}
	if err := u.judge(); err != nil {
		return nil, nil, err
	}
	if err := u.run("cancel transposes", "plan"); err != nil {
		return nil, nil, err
	}
	for i, name := range m.Names.Inputs[:min(len(m.Names.Inputs), len(u.plan.Inputs))] {
		u.plan.Inputs[i].Name = name
	}
	for i, name := range m.Names.Outputs[:min(len(m.Names.Outputs), len(u.plan.Outputs))] {
		u.plan.Outputs[i].Name = name
	}
	return u.plan, u.weights, nil
}

// Optimised returns the graph of m after the passes, as Model lowers it.
//
// Precondition: m passed validate.Model.
func Optimised(f *plan.Facts, m *nn.Model) (*ir.Graph, error) {
	u := &unit{facts: f, model: m}
	if err := u.judge(); err != nil {
		return nil, err
	}
	return u.graph, u.run("cancel transposes", "fuse elementwise")
}

// Graph compiles g, which it changes, as Model does.
//
// Precondition: g is inferred and has no node that lower.Check refuses.
func Graph(ctx context.Context, f *plan.Facts, g *ir.Graph, fits pack.Fits) (*plan.Plan, *pack.Weights, error) {
	u := &unit{ctx: ctx, facts: f, fits: fits, graph: g, constants: pack.ConstantBytes(g)}
	if err := u.run("normalise layout", "fold constants"); err != nil {
		return nil, nil, err
	}
	if err := u.run("cancel transposes", "plan"); err != nil {
		return nil, nil, err
	}
	return u.plan, u.weights, nil
}

// Variants describes for people the kernels chosen on a device.
func Variants(f *plan.Facts) string { return lower.Variants(f) }
