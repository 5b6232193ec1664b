// Package lower has a rule for each operation: what of it the device can run, and the steps that do it, with kernels,
// push constants and weights. One op family a file, with the stem of its file in driver/ops and its folder in shaders.
// Steps are built by package emit, weights packed by package pack.
//
// A rule has a check and a lowering; the check is the one predicate that Supports, Compile and the fusion
// passes ask. Choices between kernels follow plan.Facts, never a vendor. No Vulkan handle.
package lower

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/emit"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// rule lowers one operation.
type rule struct {
	// check reports why the device cannot run n, nil when it can.
	check func(f *plan.Facts, g *ir.Graph, n *ir.Node) error
	// lower appends the steps of n. Precondition: check has nothing against it.
	lower func(b *emit.Builder, n *ir.Node)
	// divide returns the ways to divide n if its tensors are too large, none if there are none; nil: never.
	// Precondition: check has nothing against n but the size of its tensors.
	divide func(g *ir.Graph, n *ir.Node) []division
	// scratch is the size in bytes of n's largest binding of its own, if that may be larger than any tensor.
	scratch func(g *ir.Graph, n *ir.Node) int64
	// inPlace: lower gives the output the memory of the first input if both are of the same size.
	inPlace bool
}

var rules = map[nn.OperationType]rule{}

// register adds a rule for each of types; called by the init function of each family's file.
func register(r rule, types ...nn.OperationType) {
	for _, t := range types {
		if _, twice := rules[t]; twice {
			panic(fmt.Sprintf("lower: %v has two rules", t))
		}
		rules[t] = r
	}
}

// Has reports whether there are kernels for an operation, whatever its operands are.
func Has(op nn.OperationType) bool {
	_, ok := rules[op]
	return ok
}

// Check reports why the device cannot run node n of g, nil when it can.
func Check(f *plan.Facts, g *ir.Graph, n *ir.Node) error {
	r, ok := rules[n.Op]
	if !ok {
		return fmt.Errorf("no kernel does %v", n.Op)
	}
	err := r.check(f, g, n)
	if !oversized(f, g, n) {
		return err
	}
	if err != nil {
		if _, err = divide(f, g, n, err); err != nil {
			return err
		}
	}
	for _, id := range slices.Concat(n.In, n.Out) {
		if id == ir.None || g.T(id).Const != nil {
			continue // any other may be an input or output of the model
		}
		if err := emit.CheckExchange(f, g.T(id)); err != nil {
			return err
		}
	}
	return nil
}

// Node appends the steps of n, a node of b's graph. Precondition: Check(n) is nil.
//
// Errors: those of pack.Weights.
func Node(b *emit.Builder, n *ir.Node) error {
	b.Begin(n.Label())
	r := rules[n.Op]
	if oversized(b.Facts, b.Graph, n) {
		if err := r.check(b.Facts, b.Graph, n); err != nil {
			return cmp.Or(inPieces(b, n, err), b.Err())
		}
	}
	r.lower(b, n)
	return b.Err()
}
