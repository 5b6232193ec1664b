package compile

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// How large a model may become when each reference to a graph is replaced by that graph: a small model could otherwise
// fill the memory by referring to graphs that refer twice to others.
const (
	maxNesting   = 16
	maxCutOps    = 1 << 16
	maxStraights = 256
	maxValues    = 1024
	maxTogether  = 16 // operations of a run that begins with one whose parameters the host reads
)

// HasControl reports whether m has an operation that refers to other graphs.
func HasControl(m *nn.Model) bool {
	return slices.ContainsFunc(m.Main.Operations, func(op nn.Operation) bool { return isControl(&op) })
}

// NeedsTree reports whether m becomes a tree: it has an operation that refers to other graphs, or, its inputs being
// known, one with a parameter, or with a number of rows in its results, that only the data tells.
func NeedsTree(m *nn.Model) bool {
	if HasControl(m) {
		return true
	}
	s := &scope{Graph: &m.Main}
	return slices.ContainsFunc(m.Main.Operations, func(op nn.Operation) bool {
		return hasRowsFromData(&op) || len(s.runtimeParams(m, &op, nil)) > 0
	}) && !opensInputs(m)
}

func isControl(op *nn.Operation) bool { return op.Type == nn.OpIf || op.Type == nn.OpWhile }

// cutter makes the tree of a model.
type cutter struct {
	model *nn.Model
	tree  *Tree
	ops   int    // in all graphs so far, each counted as often as it is referred to
	now   origin // what is being cut
	// closed: inputs of the model are open, so that nothing is known of what else is open.
	closed bool
}

// scope is a graph, with what its operands stand for outside of its regions.
type scope struct {
	*nn.Graph
	at      []int    // by operand: its value
	origins []origin // by operation
	depth   int
	// params has for each operation the positions of the parameters that only the data tells; nil before complete.
	params [][]int
}

// errTooLarge says that a model becomes more regions than are allowed.
var errTooLarge = errors.New("the graphs that it refers to become too many operations, regions or values, or are nested too deeply")

// cut makes the tree of m, whose operations are not judged yet. Operations that cannot be cut are among refused.
//
// Precondition: m passed validate.Model, NeedsTree.
func cut(m *nn.Model) *Tree {
	c := &cutter{model: m, tree: &Tree{refused: make([]error, len(m.Main.Operations))}, closed: opensInputs(m)}
	main := m.Main
	main.Operands = slices.Clone(main.Operands)
	s := &scope{Graph: &main, at: unplaced(&main)}
	for i := range m.Main.Operations {
		s.origins = append(s.origins, origin{main: i, label: fmt.Sprintf("#%d", i)})
	}
	s.count()
	s.complete(m)
	var entry Straight
	uses := s.usages(s.runs())
	for _, index := range m.Main.Inputs {
		o := &main.Operands[index]
		given := None
		// A value that the host alone reads may have dimensions that only executions tell: it counts as left off in
		// those without.
		if u := uses[index]; u != (usage{}) && (known(o) || !o.Type.IsTensor() || u.host && !u.tensor && !c.closed) {
			given = c.value(o, InRequest)
			place := InMemory
			if !u.tensor {
				place = InWord
			}
			s.at[index] = c.value(o, place)
			entry.In, entry.Out = append(entry.In, given), append(entry.Out, s.at[index])
		}
		c.tree.Inputs = append(c.tree.Inputs, given)
	}
	for _, index := range m.Main.Outputs {
		s.at[index] = c.value(&main.Operands[index], InRequest)
		c.tree.Outputs = append(c.tree.Outputs, s.at[index])
	}
	c.tree.Main = c.sequence(s)
	if len(entry.In) > 0 {
		c.add(&entry)
		c.tree.Main = slices.Insert(c.tree.Main, 0, Node(&entry))
	}
	c.tree.markOpen()
	return c.tree
}

// unplaced are the values of operands that have none yet.
func unplaced(g *nn.Graph) []int { return slices.Repeat([]int{None}, len(g.Operands)) }

func known(o *nn.Operand) bool { return o.Dims.Known() && len(o.Dims) > 0 }

// usage says what an operand is read for in other runs than the one that writes it: as a tensor by the device, or as a
// condition or a parameter by the host.
type usage struct{ tensor, host bool }

// usages are those of the operands of s.
func (s *scope) usages(runs []run) []usage {
	list, writer := make([]usage, len(s.Operands)), slices.Repeat([]int{None}, len(s.Operands))
	for k, r := range runs {
		for i := r.first; i < r.last; i++ {
			op := &s.Operations[i]
			for n, x := range op.Inputs {
				switch {
				case writer[x] == k:
				case op.Type == nn.OpIf && n == 0, slices.Contains(s.params[i], n):
					list[x].host = true
				default:
					list[x].tensor = true
				}
			}
			for _, y := range op.Outputs {
				writer[y] = k
			}
		}
	}
	return list
}

// value makes a value like o; for a scalar, a tensor of one element of the same size.
func (c *cutter) value(o *nn.Operand, p Place) int {
	if !o.Type.IsTensor() {
		o = &nn.Operand{Type: tensorLike(o.Type), Dims: nn.Dims{1}}
	}
	v := Value{Operand: nn.Operand{Type: o.Type, Dims: o.Dims, Scale: o.Scale, ZeroPoint: o.ZeroPoint, Channel: o.Channel}, Place: p, of: c.now}
	c.tree.Values = append(c.tree.Values, v)
	return len(c.tree.Values) - 1
}

func (c *cutter) add(s *Straight) {
	s.Index = len(c.tree.Straights)
	c.tree.Straights = append(c.tree.Straights, s)
}

// refuse notes why an operation cannot be run.
func (c *cutter) refuse(o origin, err error) {
	if c.tree.refused[o.main] == nil {
		c.tree.refused[o.main] = o.wrap(err)
	}
}

func (o origin) wrap(err error) error {
	if o.where != "" && err != nil {
		return fmt.Errorf("%s: %w", o.where, err)
	}
	return err
}

// full reports whether the tree is too large already.
func (c *cutter) full(s *scope) bool {
	return c.ops > maxCutOps || s.depth > maxNesting || len(c.tree.Straights) > maxStraights || len(c.tree.Values) > maxValues
}

// run is operations [first, last) of a graph: one that refers to other graphs, or several that do not.
type run struct{ first, last int }

// runs cuts the operations of s. One with a parameter that the host reads begins a run: what is before it need not be
// compiled anew for other parameters. Where a run so far has only operations with such parameters, another one joins it
// unless the run computes its parameters.
func (s *scope) runs() (list []run) {
	for i := range s.Operations {
		n := len(list) - 1
		if n < 0 || isControl(&s.Operations[i]) || isControl(&s.Operations[list[n].first]) || len(s.params[i]) > 0 && !s.follows(list[n], i) {
			list = append(list, run{i, i + 1})
			continue
		}
		list[n].last++
	}
	return list
}

// follows reports whether operation i, the next one, joins r: all of r have parameters that the host reads, and r
// computes none of those of i.
func (s *scope) follows(r run, i int) bool {
	if r.last-r.first >= maxTogether {
		return false
	}
	for k := r.first; k < r.last; k++ {
		if len(s.params[k]) == 0 {
			return false
		}
		for _, n := range s.params[i] {
			if slices.Contains(s.Operations[k].Outputs, s.Operations[i].Inputs[n]) {
				return false
			}
		}
	}
	return true
}

// sequence cuts a graph.
func (c *cutter) sequence(s *scope) (list Sequence) {
	if c.ops += len(s.Operations); c.full(s) {
		c.refuse(s.origins[0], errTooLarge)
		return nil
	}
	s.complete(c.model)
	runs := s.runs()
	after := c.cross(s, runs)
	for _, r := range runs {
		op := &s.Operations[r.first]
		c.now = s.origins[r.first]
		switch {
		case c.full(s):
			c.refuse(s.origins[r.first], errTooLarge)
			return nil
		case op.Type == nn.OpIf:
			list = append(list, c.branch(s, r.first)...)
		case op.Type == nn.OpWhile:
			list = append(list, c.loop(s, r.first)...)
		default:
			list = append(list, c.carve(s, r)...)
		}
	}
	if len(after.In) > 0 {
		c.add(after)
		list = append(list, after)
	}
	return list
}

// cross gives a value to each operand of s that is written in one run and read in another. It returns the copies to be
// made in the end: of results that other runs read, and that lie where these cannot read them.
func (c *cutter) cross(s *scope, runs []run) *Straight {
	after, uses := &Straight{}, s.usages(runs)
	for _, r := range runs {
		for i := r.first; i < r.last; i++ {
			for _, y := range s.Operations[i].Outputs {
				u, given := uses[y], s.at[y]
				if given == None && u == (usage{}) || given != None && (u == (usage{}) || c.tree.Values[given].Place == InMemory) {
					continue
				}
				o := &s.Operands[y]
				if c.closed && !known(o) {
					c.refuse(s.origins[i], fmt.Errorf("operand %d, of dimensions %v, is used by both sides of an IF or WHILE: %w", y, []uint32(o.Dims), ops.ErrOpenShape))
					continue
				}
				place := InMemory
				if !u.tensor && given == None {
					place = InWord
				}
				s.at[y] = c.value(o, place)
				if given != None {
					after.In, after.Out = append(after.In, s.at[y]), append(after.Out, given)
				}
			}
		}
	}
	return after
}

// words returns values in the host's memory with the contents of those in list, and the steps that bring them there.
func (c *cutter) words(list []int) ([]int, Sequence) {
	out, s := slices.Clone(list), &Straight{}
	for k, v := range list {
		if c.tree.Values[v].Place == InWord {
			continue
		}
		if n := slices.Index(s.In, v); n >= 0 {
			out[k] = s.Out[n]
			continue
		}
		out[k] = c.value(&c.tree.Values[v].Operand, InWord)
		s.In, s.Out = append(s.In, v), append(s.Out, out[k])
	}
	if len(s.In) == 0 {
		return out, nil
	}
	c.add(s)
	return out, Sequence{s}
}
