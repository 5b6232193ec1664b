package compile

import "github.com/nngpu/nngpu/gpu/internal/lower"

// support asks lower.Check, the same predicate that guards lowering, about every node. An operation of the model is
// refused with the error of the first of its nodes that is.
//
// Requires: ir.Normal.   Ensures: a model with nothing refused can be lowered.
func (u *unit) support() error {
	for i := range u.graph.Nodes {
		n := &u.graph.Nodes[i]
		if u.refused[n.Source] == nil {
			u.refused[n.Source] = lower.Check(u.facts, u.graph, n)
		}
	}
	return nil
}
