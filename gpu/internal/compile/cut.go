package compile

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// What a model may become when the graphs that it refers to stand in each place where it does: a small model could
// otherwise fill the memory by referring to graphs that refer twice to others.
const (
	maxNesting   = 16
	maxCutOps    = 1 << 16
	maxStraights = 256
	maxValues    = 1024
)

// HasControl reports whether m has an operation that refers to other graphs.
func HasControl(m *nn.Model) bool {
	return slices.ContainsFunc(m.Main.Operations, func(op nn.Operation) bool { return isControl(&op) })
}

func isControl(op *nn.Operation) bool { return op.Type == nn.OpIf || op.Type == nn.OpWhile }

// cutter makes the tree of a model.
type cutter struct {
	model *nn.Model
	tree  *Tree
	ops   int    // of all graphs so far, each as often as it is referred to
	now   origin // what is being cut
}

// scope is a graph with what its operands are outside of its regions.
type scope struct {
	*nn.Graph
	at      []int    // by operand: its value
	origins []origin // by operation
	depth   int
}

// errTooLarge says that a model becomes more regions than there may be.
var errTooLarge = errors.New("the graphs that it refers to become too many operations, regions or values, or are nested too deeply")

// cut makes the tree of m, whose operations are not judged yet. What of it cannot be cut is among refused.
//
// Precondition: m passed validate.Model, HasControl.
func cut(m *nn.Model) *Tree {
	c := &cutter{model: m, tree: &Tree{refused: make([]error, len(m.Main.Operations))}}
	s := &scope{Graph: &m.Main, at: unplaced(&m.Main)}
	for i := range m.Main.Operations {
		s.origins = append(s.origins, origin{main: i})
	}
	var entry Straight
	uses := s.usages(s.runs())
	for _, index := range m.Main.Inputs {
		o := &m.Main.Operands[index]
		given := None
		if u := uses[index]; o.Type.IsTensor() && u != (usage{}) && known(o) {
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
		s.at[index] = c.value(&m.Main.Operands[index], InRequest)
		c.tree.Outputs = append(c.tree.Outputs, s.at[index])
	}
	c.tree.Main = c.sequence(s)
	if len(entry.In) > 0 {
		c.add(&entry)
		c.tree.Main = slices.Insert(c.tree.Main, 0, Node(&entry))
	}
	return c.tree
}

// unplaced are the values of operands of which none has one.
func unplaced(g *nn.Graph) []int { return slices.Repeat([]int{None}, len(g.Operands)) }

func known(o *nn.Operand) bool { return o.Dims.Known() && len(o.Dims) > 0 }

// usage says for what an operand is read in runs other than that which writes it.
type usage struct{ tensor, condition bool }

// usages are those of the operands of s.
func (s *scope) usages(runs []run) []usage {
	list, writer := make([]usage, len(s.Operands)), slices.Repeat([]int{None}, len(s.Operands))
	for k, r := range runs {
		for i := r.first; i < r.last; i++ {
			op := &s.Operations[i]
			for n, x := range op.Inputs {
				switch {
				case writer[x] == k:
				case op.Type == nn.OpIf && n == 0:
					list[x].condition = true
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

// value makes a value like o.
func (c *cutter) value(o *nn.Operand, p Place) int {
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

// full reports whether there is too much of it already.
func (c *cutter) full(s *scope) bool {
	return c.ops > maxCutOps || s.depth > maxNesting || len(c.tree.Straights) > maxStraights || len(c.tree.Values) > maxValues
}

// run is operations [first, last) of a graph: one that refers to others, or some that do not.
type run struct{ first, last int }

// runs cuts the operations of s.
func (s *scope) runs() (list []run) {
	for i := range s.Operations {
		n := len(list) - 1
		if n < 0 || isControl(&s.Operations[i]) || isControl(&s.Operations[list[n].first]) {
			list = append(list, run{i, i + 1})
			continue
		}
		list[n].last++
	}
	return list
}

// sequence cuts a graph.
func (c *cutter) sequence(s *scope) (list Sequence) {
	if c.ops += len(s.Operations); c.full(s) {
		c.refuse(s.origins[0], errTooLarge)
		return nil
	}
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
			if n := c.carve(s, r); n != nil {
				list = append(list, n)
			}
		}
	}
	if len(after.In) > 0 {
		c.add(after)
		list = append(list, after)
	}
	return list
}

// cross gives a value to each operand of s that is written in one run and read in another. It returns what is to be
// copied in the end: results that others of the runs read, and that lie where these cannot.
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
				if !o.Type.IsTensor() || !known(o) {
					c.refuse(s.origins[i], fmt.Errorf("operand %d, of open dimensions %v, is used by both sides of an IF or WHILE", y, []uint32(o.Dims)))
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

// word returns the value of a condition where the host reads it, and what brings it there.
func (c *cutter) word(v int) (int, Sequence) {
	if c.tree.Values[v].Place == InWord {
		return v, nil
	}
	w := c.value(&c.tree.Values[v].Operand, InWord)
	s := &Straight{In: []int{v}, Out: []int{w}}
	c.add(s)
	return w, Sequence{s}
}
