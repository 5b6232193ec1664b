package validate

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// Open reports whether m leaves dimensions of its inputs open that its operations need, or has optional tensors among
// them, so that only Resolve makes it a model with known sizes. Dimensions that follow from others that the model
// states do not count.
//
// Precondition: m passed Model.
func Open(m *nn.Model) bool { return (&graph{Graph: &m.Main, model: m}).open() }

// open is Open for one graph.
func (g *graph) open() bool {
	return len(g.undecided()) > 0 || slices.ContainsFunc(g.Inputs, g.isOpen) &&
		slices.ContainsFunc(g.Operations, func(op nn.Operation) bool { return g.readsOpenInput(&op) >= 0 })
}

// undecided are the operands that may or may not have a value in a request: optional tensors that are inputs of the
// model.
func (g *graph) undecided() map[uint32]bool {
	var list map[uint32]bool
	for i := range g.Operations {
		op := &g.Operations[i]
		if ops.Lookup(op.Type) == nil {
			continue
		}
		for _, k := range g.call(g.Graph, op).Undecided() {
			if list == nil {
				list = map[uint32]bool{}
			}
			list[op.Inputs[k]] = true
		}
	}
	return list
}

// readsOpenInput is the position of an input of the graph whose dimensions op needs, and which are open; -1 for none.
func (g *graph) readsOpenInput(op *nn.Operation) int {
	isOpenInput := func(o *nn.Operand) bool {
		return o != nil && o.Lifetime == nn.SubgraphInput && isOpen(o.Type, o.Dims)
	}
	if isControl(op.Type) {
		return slices.IndexFunc(op.Inputs, func(x uint32) bool { return isOpenInput(&g.Operands[x]) })
	}
	row := ops.Lookup(op.Type)
	if row == nil {
		return -1
	}
	call := g.call(g.Graph, op)
	needed := g.neededValues(row, call)
	for k, x := range op.Inputs {
		switch {
		case slices.Contains(needed, k):
			if isOpenInput(&g.Operands[x]) && !row.Optional(call, k) { // its value gives sizes
				return k
			}
		case isOpenInput(call.In(k)) && slices.Contains(row.Tensors(call), k):
			return k
		}
	}
	return -1
}

// neededValues are the positions of the parameters of an operation whose values tell the dimensions of its results.
func (g *graph) neededValues(row *ops.Row, call *ops.Call) (list []int) {
	tensors := row.Tensors(call)
	stated := !slices.ContainsFunc(call.Op.Outputs, g.isOpen)
	for k := range call.Op.Inputs {
		if !slices.Contains(tensors, k) && !(stated && row.RunTime(k)) {
			list = append(list, k)
		}
	}
	return list
}

// isOpen reports whether a size or the rank of operand i is unknown.
func (g *graph) isOpen(i uint32) bool { return isOpen(g.Operands[i].Type, g.Operands[i].Dims) }

// Resolve returns m with the dimensions that its inputs have in one request: inputs has those of each input of the main
// graph, none at all where they are as m states. An optional tensor that the request leaves off has none; in the result
// none of its dimensions are known, whatever m states. The result has operands of its own and shares all else,
// including values and pools, with m, which it only reads.
//
// Dimensions of results agree with what m states and fit into a buffer. They are known if they follow from those of the
// inputs; those that stay open depend on data, or on an operation that is not in the table. In graphs that IF and WHILE
// refer to they are those that hold for every reference and every iteration. Inputs that stay open are optional ones
// that count as left off, or ones that nothing reads. Its work is that of Shapes.
//
// Precondition: m passed Model, or with these dimensions what is left of it does.
//
// Errors: INVALID_ARGUMENT where dimensions contradict each other or m, or an input that is needed stays open; they name the
// input or the operation.
func Resolve(m *nn.Model, inputs []nn.Dims) (*nn.Model, error) {
	resolved, _, err := resolve(m, inputs)
	return resolved, err
}

// resolve is Resolve, and also returns how many operations it looked at.
func resolve(m *nn.Model, inputs []nn.Dims) (_ *nn.Model, work int, err error) {
	resolved := *m
	g := &graph{Graph: &resolved.Main, model: m, refs: newReferred(m)}
	resolved.Main = g.copied()
	if len(inputs) != len(m.Main.Inputs) {
		return nil, 0, nn.Invalid("inputs", "dimensions of %d; the model has %d", len(inputs), len(m.Main.Inputs))
	}
	undecided := (&graph{Graph: &m.Main, model: m}).undecided()
	for i, given := range inputs {
		o := &resolved.Main.Operands[m.Main.Inputs[i]]
		if undecided[m.Main.Inputs[i]] && len(given) == 0 {
			if !isOpen(o.Type, o.Dims) {
				o.Dims = nil
			}
			continue
		}
		dims, err := join(o, given)
		if err == nil {
			o.Dims = dims
			err = checkSize(o)
		}
		if err != nil {
			return nil, 0, nn.Invalid(fmt.Sprintf("input %d", i), "%w", err)
		}
	}
	for i := range resolved.Main.Operations {
		if k := g.readsOpenInput(&resolved.Main.Operations[i]); k >= 0 {
			return nil, i, nn.Invalid(g.operation(i), "input %d: %w", k, ops.ErrOpenShape)
		}
	}
	err = g.complete(&resolved.Main)
	work = len(m.Main.Operations)
	if g.refs != nil {
		work += maxReferred - g.refs.left
		resolved.Referenced = g.refs.graphs()
	}
	if err != nil {
		return nil, work, err
	}
	return &resolved, work, nil
}

// errFromData is for operations whose results have a number of rows that the data tells.
var errFromData = fmt.Errorf("the data tells how many rows the results have: %w", ops.ErrNotConstant)

// NeedsData says why no dimensions of the inputs tell those of the results of operation i of m's main graph: their rows
// are those that it selects, or a parameter is computed, or given by the request. Nil if they may, or if the model
// states the results' dimensions and that is enough for the operation. The error is ops.ErrNotConstant.
//
// Precondition: m passed Model.
func NeedsData(m *nn.Model, i int) error {
	g := &graph{Graph: &m.Main, model: m}
	op := &g.Operations[i]
	row := ops.Lookup(op.Type)
	if row == nil {
		return nil
	}
	if row.FromData {
		return errFromData
	}
	for _, k := range g.neededValues(row, g.call(g.Graph, op)) {
		switch g.Operands[op.Inputs[k]].Lifetime {
		case nn.SubgraphInput, nn.Temporary, nn.SubgraphOutput:
			return fmt.Errorf("input %d: %w", k, ops.ErrNotConstant)
		}
	}
	return nil
}

// exampleSizes are the sizes that Example tries for open dimensions: small ones first, which no device finds too large.
var exampleSizes = []uint32{2, 1, 3, 4, 8, 16, 32, 64, 128, 224, 256}

// maxExamples bounds how often Example tries, and maxExampleWork how much it looks at before the last try.
const (
	maxExamples    = 256
	maxExampleWork = 1 << 19
)

// Example returns m, which is Open, with sizes that it could have, for questions whose answer does not depend on them;
// if possible, with sizes that leave none to the data. Nil if none was found, which proves nothing: all inputs are
// tried with the same few sizes and ranks, and with numbers of channels, last or first, that occur in m; either all
// optional tensors have a value whose dimensions are known, or none has.
//
// Precondition: m passed Model.
func Example(m *nn.Model) *nn.Model {
	var channels []uint32
	for _, g := range graphsOf(m) {
		for i := range g.Operands {
			for _, n := range g.Operands[i].Dims {
				if len(channels) < 8 && !slices.Contains(channels, n) && n > 0 {
					channels = append(channels, n)
				}
			}
		}
	}
	undecided := (&graph{Graph: &m.Main, model: m}).undecided()
	var partly *nn.Model // an example that leaves dimensions to the data
	inputs := make([]nn.Dims, len(m.Main.Inputs))
	tries, work := 0, 0
	try := func(rank int, n, channels uint32, first, optional bool) *nn.Model {
		for i, x := range m.Main.Inputs {
			o := &m.Main.Operands[x]
			inputs[i] = nil
			if undecided[x] && optional && !isOpen(o.Type, o.Dims) {
				inputs[i] = o.Dims
			}
			if undecided[x] || !isOpen(o.Type, o.Dims) {
				continue
			}
			d := slices.Clone(o.Dims)
			if len(d) == 0 {
				d = make(nn.Dims, rank)
			}
			at := len(d) - 1
			if first {
				at = min(1, at)
			}
			for k := range d {
				if d[k] == 0 && k == at {
					d[k] = channels
				} else if d[k] == 0 {
					d[k] = n
				}
			}
			inputs[i] = d
		}
		tries++
		found, looked, err := resolve(m, inputs)
		work += max(looked, len(m.Main.Operations))
		if err != nil {
			return nil
		}
		return found
	}
	withOptional := []bool{true}
	if len(undecided) > 0 {
		withOptional = []bool{true, false}
	}
	for _, rank := range []int{4, 2, 3, 1} {
		for _, n := range exampleSizes {
			for _, c := range append([]uint32{n}, channels...) {
				for _, first := range []bool{false, true} {
					for _, optional := range withOptional {
						found := try(rank, n, c, first, optional)
						if found != nil && !FromData(found) {
							return found
						}
						if partly == nil {
							partly = found
						}
						if tries == maxExamples || work > maxExampleWork {
							return partly
						}
					}
				}
			}
		}
	}
	return partly
}

// FromData reports whether dimensions of results of operations are open, in any graph: in a result of Resolve only the
// data tells them.
func FromData(m *nn.Model) bool {
	return slices.ContainsFunc(graphsOf(m), func(g graph) bool {
		return slices.ContainsFunc(g.Operations, func(op nn.Operation) bool {
			return slices.ContainsFunc(op.Outputs, g.isOpen)
		})
	})
}
