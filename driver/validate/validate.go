// Package validate checks models and requests against the rules of the NN HAL, once, above the seam to
// the backends: what passes here needs no second look.
//
// Models and requests are untrusted: nothing in them may cause a panic, and the work is proportional to their size. The
// package knows the operation table (driver/ops) and no backend. Every refusal is an *nn.Error of status
// INVALID_ARGUMENT that names the operand or operation.
package validate

import (
	"errors"
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// Model checks the rules that hold for a whole model, and for operations of the table also number, types,
// quantisation, parameters and shapes of their operands. An operation that is valid but not in the table
// passes: whether it is supported is for the backend to say.
func Model(m *nn.Model) error {
	if m == nil {
		return nn.Invalid("model", "there is none")
	}
	if !m.Level.Valid() {
		return nn.Invalid("model", "unknown feature level %d", int(m.Level))
	}
	if m.RelaxFloat32 && later(m, nn.HAL11) {
		return nn.Invalid("model", "relaxed arithmetic came with %v, after %v, which the model was made for", nn.HAL11, m.Level)
	}
	if err := checkPools(m); err != nil {
		return err
	}
	graphs := graphsOf(m)
	for _, g := range graphs {
		if err := g.check(); err != nil {
			return err
		}
	}
	if err := checkReferences(m); err != nil {
		return err
	}
	for _, g := range graphs { // before any shapes, which go through the graphs that another refers to
		if err := g.checkOperations(); err != nil {
			return err
		}
	}
	for _, g := range graphs {
		if _, err := g.shapes(); err != nil {
			return err
		}
		if g.open() {
			if err := g.checkOpen(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Preference refuses a value that is not an execution preference.
func Preference(p nn.Preference) error {
	if !p.Valid() {
		return nn.Invalid("preference", "unknown value %d", int32(p))
	}
	return nil
}

// Priority refuses a value that is not a priority.
func Priority(p nn.Priority) error {
	if !p.Valid() {
		return nn.Invalid("priority", "unknown value %d", int32(p))
	}
	return nil
}

func checkPools(m *nn.Model) error {
	for i, p := range m.Pools {
		err := checkPool(p)
		if _, ok := p.(nn.BufferToken); ok {
			err = errors.New("a buffer of the driver holds no constants")
		}
		if err != nil {
			return nn.Invalid(fmt.Sprintf("pool %d", i), "%w", err)
		}
	}
	return nil
}

// graph is one graph of a model with the prefix that names it in messages.
type graph struct {
	*nn.Graph
	model *nn.Model
	name  string    // "" for the main graph
	refs  *referred // nil: dimensions do not go through graphs that this one refers to
}

func graphsOf(m *nn.Model) []graph {
	gs := []graph{{Graph: &m.Main, model: m, refs: newReferred(m)}}
	for i := range m.Referenced {
		gs = append(gs, graph{Graph: &m.Referenced[i], model: m, name: fmt.Sprintf("referenced graph %d, ", i)})
	}
	return gs
}

// call is the call of an operation of work, the graph or a copy of it. Requests bind the inputs of the model's main
// graph; those of what Resolve returned are bound.
func (g *graph) call(work *nn.Graph, op *nn.Operation) *ops.Call {
	return &ops.Call{Model: g.model, Graph: work, Op: op, Unbound: g.Graph == &g.model.Main}
}

func (g *graph) operand(i int) string { return fmt.Sprintf("%soperand %d", g.name, i) }

func (g *graph) operation(i int) string {
	return fmt.Sprintf("%soperation %d (%v)", g.name, i, g.Operations[i].Type)
}

// checkReferences refuses graphs that refer to themselves, also by way of others.
func checkReferences(m *nn.Model) error {
	n := len(m.Referenced)
	users := make([]int, n) // how many references to each graph are left
	each := func(g *nn.Graph, f func(target uint32)) {
		for i := range g.Operands {
			if o := &g.Operands[i]; o.Lifetime == nn.Subgraph {
				f(o.Location.Offset)
			}
		}
	}
	for i := range m.Referenced {
		each(&m.Referenced[i], func(t uint32) { users[t]++ })
	}
	var free []int
	for i, k := range users {
		if k == 0 {
			free = append(free, i)
		}
	}
	done := 0
	for len(free) > 0 {
		i := free[len(free)-1]
		free = free[:len(free)-1]
		done++
		each(&m.Referenced[i], func(t uint32) {
			if users[t]--; users[t] == 0 {
				free = append(free, int(t))
			}
		})
	}
	if done < n {
		for i, k := range users {
			if k > 0 {
				return nn.Invalid(fmt.Sprintf("referenced graph %d", i), "is part of a circle of references")
			}
		}
	}
	return nil
}
