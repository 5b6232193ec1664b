// Package compile turns a validated model into a plan for one device.
//
// The passes are one visible list, below. Supports asks lower.Check, the same predicate that guards
// lowering, of every node before the passes; no pass makes a node that it would refuse. Knows no Vulkan
// handle and runs on any machine.
package compile

import (
	"context"
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/lower"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// pass changes a graph without changing what it computes.
type pass struct {
	name string
	run  func(*ir.Graph) error
}

// passes in running order. Shape inference and layout normalisation come before them, in importModel,
// because support is decided on their result; kernel selection, weight packing and memory planning come
// after, in package lower.
func passes(f *plan.Facts) []pass {
	return []pass{
		{"fold constants", foldConstants},
		{"cancel transposes", cancelTransposes},
		{"remove dead nodes", removeDead},
		{"fuse pad", fusePad(f)},
		{"fuse activation", fuseActivation},
		{"remove dead nodes", removeDead},
	}
}

// Supports reports for each operation of m's main graph why the device cannot run it, nil when it can.
//
// Precondition: m passed validate.Model.
func Supports(f *plan.Facts, m *nn.Model) ([]error, error) {
	_, refused, err := importModel(f, m)
	return refused, err
}

// Model compiles m. The plan refers to offsets in weights, the packed constants. fits says when these become too
// large; without it, the size of the model's constants bounds them alone.
//
// Precondition: m passed validate.Model.
//
// Errors: nn.ErrUnsupported; those of fits; RESOURCE_EXHAUSTED_PERSISTENT for weights far larger than the model's constants.
func Model(ctx context.Context, f *plan.Facts, m *nn.Model, fits lower.Fits) (p *plan.Plan, weights []byte, err error) {
	g, err := supported(f, m)
	if err != nil {
		return nil, nil, err
	}
	p, weights, err = Graph(ctx, f, g, fits)
	if err != nil {
		return nil, nil, err
	}
	for i, name := range m.Names.Inputs[:min(len(m.Names.Inputs), len(p.Inputs))] {
		p.Inputs[i].Name = name
	}
	for i, name := range m.Names.Outputs[:min(len(m.Names.Outputs), len(p.Outputs))] {
		p.Outputs[i].Name = name
	}
	return p, weights, nil
}

// Optimised returns the graph of m after the passes, as Model lowers it.
//
// Precondition: m passed validate.Model.
func Optimised(f *plan.Facts, m *nn.Model) (*ir.Graph, error) {
	g, err := supported(f, m)
	if err != nil {
		return nil, err
	}
	return g, optimise(f, g)
}

// supported imports m, and fails with nn.ErrUnsupported where it has operations that the device cannot run.
func supported(f *plan.Facts, m *nn.Model) (*ir.Graph, error) {
	g, refused, err := importModel(f, m)
	if err != nil {
		return nil, err
	}
	return g, nn.Unsupported(m, refused)
}

// optimise runs the passes.
func optimise(f *plan.Facts, g *ir.Graph) error {
	for _, p := range passes(f) {
		if err := p.run(g); err != nil {
			return fmt.Errorf("pass %s: %w", p.name, err)
		}
		if err := g.Verify(); err != nil {
			return fmt.Errorf("after pass %s: %w", p.name, err)
		}
	}
	return nil
}

// Graph compiles g, which it changes, as Model does.
func Graph(ctx context.Context, f *plan.Facts, g *ir.Graph, fits lower.Fits) (*plan.Plan, []byte, error) {
	constants := lower.ConstantBytes(g)
	if err := optimise(f, g); err != nil {
		return nil, nil, err
	}
	b := lower.NewBuilder(f, g)
	b.LimitWeights(constants)
	b.Bound(ctx, fits)
	inputs, outputs, hostBytes := b.PlaceIO()
	b.PlaceConcats()
	b.LoadInputs()
	for i := range g.Nodes {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if err := b.Node(&g.Nodes[i]); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", g.Nodes[i].Where(), err)
		}
	}
	b.StoreOutputs()
	p, weights, err := b.Finish()
	if err != nil {
		return nil, nil, err
	}
	p.Inputs, p.Outputs, p.HostBytes = inputs, outputs, hostBytes+plan.Align // see lower.Builder.steadyViews
	p.Steps, p.Segments = segments(f, p.Steps)
	return p, weights, nil
}

// Variants describes for people which kernels are chosen on a device.
func Variants(f *plan.Facts) string { return lower.Variants(f) }
