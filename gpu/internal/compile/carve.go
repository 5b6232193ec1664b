package compile

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// carve makes a model of operations [r.first, r.last) of s, and the steps that bring its parameters to the host. It
// returns nil if nothing in it is used: then its operations are judged alone.
func (c *cutter) carve(s *scope, r run) Sequence {
	m := *c.model
	m.Main, m.Referenced, m.Names = nn.Graph{}, nil, nn.Names{}
	out := &Straight{Model: &m, origins: s.origins[r.first:r.last]}
	own := map[uint32]uint32{} // by operand of s
	operand := func(index uint32, l nn.Lifetime) uint32 {
		o := s.Operands[index]
		o.Lifetime = l
		m.Main.Operands = append(m.Main.Operands, o)
		own[index] = uint32(len(m.Main.Operands) - 1)
		return own[index]
	}
	var params []int // values
	for i := r.first; i < r.last; i++ {
		op := nn.Operation{Type: s.Operations[i].Type}
		for n, x := range s.Operations[i].Inputs {
			if slices.Contains(s.params[i], n) {
				if s.at[x] == None {
					c.refuse(s.origins[i], fmt.Errorf("input %d: %w", n, ops.ErrOpenShape))
					return nil
				}
				params = append(params, s.at[x])
				out.Params = append(out.Params, Param{Operand: uint32(len(m.Main.Operands))})
				op.Inputs = append(op.Inputs, uint32(len(m.Main.Operands)))
				o := s.Operands[x]
				o.Lifetime = nn.Temporary
				m.Main.Operands = append(m.Main.Operands, o)
				continue
			}
			k, ok := own[x]
			if !ok {
				k = operand(x, s.Operands[x].Lifetime) // that of an input of the model stays: it may be left off
				if v := s.at[x]; v != None {
					m.Main.Inputs, out.In = append(m.Main.Inputs, k), append(out.In, v)
				}
			}
			op.Inputs = append(op.Inputs, k)
		}
		for _, y := range s.Operations[i].Outputs {
			l := nn.Temporary
			if s.at[y] != None {
				l = nn.SubgraphOutput
			}
			k := operand(y, l)
			if v := s.at[y]; v != None {
				m.Main.Outputs, out.Out = append(m.Main.Outputs, k), append(out.Out, v)
			}
			op.Outputs = append(op.Outputs, k)
		}
		m.Main.Operations = append(m.Main.Operations, op)
	}
	words, list := c.words(params)
	for k, v := range words {
		out.Params[k].Value = v
	}
	out.dead = len(out.Out) == 0
	if c.add(out); out.dead {
		list.die()
		return nil
	}
	return append(list, out)
}

// branch cuts the IF that is operation i of s. If its condition is a constant, it becomes the branch taken, and the
// other one is only judged.
func (c *cutter) branch(s *scope, i int) Sequence {
	op := &s.Operations[i]
	then, otherwise := c.referred(s, op.Inputs[1]), c.referred(s, op.Inputs[2])
	results := make([]int, len(op.Outputs))
	for k, y := range op.Outputs {
		if results[k] = s.at[y]; results[k] == None {
			if c.closed && !known(&s.Operands[y]) {
				c.refuse(s.origins[i], fmt.Errorf("output %d has dimensions %v: %w", k, []uint32(s.Operands[y].Dims), ops.ErrOpenShape))
				return nil
			}
			results[k] = c.value(&s.Operands[y], InMemory)
		}
	}
	list := [2]Sequence{}
	for k, g := range []uint32{then, otherwise} {
		inner, err := c.enter(s, i, g, op.Inputs[3:], nil, results)
		if err != nil {
			c.refuse(s.origins[i], err)
			return nil
		}
		list[k] = c.sequence(inner)
	}
	condition, err := c.model.Value(&s.Operands[op.Inputs[0]])
	if err != nil {
		c.refuse(s.origins[i], err)
		return nil
	}
	if condition != nil {
		taken, other := list[0], list[1]
		if condition[0] == 0 {
			taken, other = other, taken
		}
		other.die()
		return taken
	}
	v := s.at[op.Inputs[0]]
	if v == None { // the operation that computes it was refused
		return nil
	}
	w, read := c.words([]int{v})
	return append(read, &Branch{If: w[0], Then: list[0], Else: list[1]})
}

// die marks the regions that are only judged.
func (s Sequence) die() {
	for _, n := range s {
		switch n := n.(type) {
		case *Straight:
			n.dead = true
		case *Branch:
			n.Then.die()
			n.Else.die()
		case *Loop:
			n.First.die()
			n.Step.die()
		}
	}
}

// loop cuts the WHILE that is operation i of s: the condition by itself, which comes first, and the body together with the
// condition of the next iteration.
func (c *cutter) loop(s *scope, i int) Sequence {
	op := &s.Operations[i]
	condition, body := c.referred(s, op.Inputs[0]), c.referred(s, op.Inputs[1])
	b, args := &c.model.Referenced[body], op.Inputs[2:]
	l := &Loop{While: c.value(&nn.Operand{Type: nn.TensorBool8, Dims: nn.Dims{1}}, InWord)}
	exit := &Straight{}
	states := s.states(c.model, b, args)
	for k := range b.Outputs {
		o := states[k]
		if !o.Type.IsTensor() || c.closed && !known(&o) {
			c.refuse(s.origins[i], fmt.Errorf("input %d, %v of dimensions %v, is a state that no region can have: %w", 2+k, o.Type, []uint32(o.Dims), ops.ErrOpenShape))
			return nil
		}
		init, err := c.initial(s, args[k])
		if err != nil {
			c.refuse(s.origins[i], fmt.Errorf("input %d: %w", 2+k, err))
			return nil
		}
		l.Init = append(l.Init, init)
		l.Current, l.Next = append(l.Current, c.value(&o, InMemory)), append(l.Next, c.value(&o, InMemory))
		if k < len(op.Outputs) && s.at[op.Outputs[k]] != None {
			exit.In, exit.Out = append(exit.In, l.Current[k]), append(exit.Out, s.at[op.Outputs[k]])
		}
	}
	first, err := c.enter(s, i, condition, args, l.Current, []int{l.While})
	if err == nil {
		var step, again *scope
		if step, err = c.enter(s, i, body, args, l.Current, l.Next); err == nil {
			if again, err = c.enter(s, i, condition, args, l.Next, []int{l.While}); err == nil {
				join(step, b, again, &c.model.Referenced[condition])
				l.First, l.Step = c.sequence(first), c.sequence(step)
			}
		}
	}
	if err != nil {
		c.refuse(s.origins[i], err)
		return nil
	}
	l.Index = len(c.tree.Loops)
	c.tree.Loops = append(c.tree.Loops, l)
	list := Sequence{l}
	if len(exit.In) > 0 {
		c.add(exit)
		list = append(list, exit)
	}
	return list
}

// dimsOf are the first known dimensions among operands that stand for the same one.
func dimsOf(list ...*nn.Operand) nn.Dims {
	for _, o := range list {
		if known(o) {
			return o.Dims
		}
	}
	return list[0].Dims
}

// initial is the value that a state of a loop has in the beginning.
func (c *cutter) initial(s *scope, index uint32) (int, error) {
	if v := s.at[index]; v != None {
		return v, nil
	}
	data, err := c.model.Value(&s.Operands[index])
	if err != nil {
		return None, err
	}
	if data == nil {
		return None, fmt.Errorf("it has no value")
	}
	v := c.value(&s.Operands[index], InConstant)
	c.tree.Values[v].Data = slices.Clone(data)
	return v, nil
}

// join appends the operations of a condition to those of a body whose results it reads. bodyGraph and conditionGraph
// are the graphs of the model that the scopes were made from.
func join(body *scope, bodyGraph *nn.Graph, condition *scope, conditionGraph *nn.Graph) {
	shift := uint32(len(body.Operands))
	moved := make([]uint32, len(condition.Operands))
	for k := range condition.Operands {
		moved[k] = shift + uint32(k)
	}
	for k, x := range conditionGraph.Inputs {
		if k < len(bodyGraph.Outputs) {
			moved[x] = bodyGraph.Outputs[k]
		} else {
			moved[x] = bodyGraph.Inputs[k]
		}
	}
	rename := func(list []uint32) []uint32 {
		out := make([]uint32, len(list))
		for i, x := range list {
			out[i] = moved[x]
		}
		return out
	}
	body.Operands = append(body.Operands, condition.Operands...)
	body.at = append(body.at, condition.at...)
	body.Operations = slices.Clone(body.Operations)
	for _, op := range condition.Operations {
		body.Operations = append(body.Operations, nn.Operation{Type: op.Type, Inputs: rename(op.Inputs), Outputs: rename(op.Outputs)})
	}
	body.origins = append(body.origins, condition.origins...)
}

// referred is the index of the graph that operand i stands for.
func (c *cutter) referred(s *scope, i uint32) uint32 { return s.Operands[i].Location.Offset }

// enter is the graph that operation i of s refers to, with the operation's values as its inputs and outputs. states are
// the values of the first inputs where these differ from the operands'; an input that is a constant outside is one
// inside.
func (c *cutter) enter(s *scope, i int, graph uint32, args []uint32, states, results []int) (*scope, error) {
	from := &c.model.Referenced[graph]
	g := *from
	g.Operands = slices.Clone(from.Operands)
	inner := &scope{Graph: &g, at: unplaced(&g), depth: s.depth + 1}
	for k := range g.Operations {
		where := fmt.Sprintf("operation %d (%v) of referenced graph %d", k, g.Operations[k].Type, graph)
		inner.origins = append(inner.origins, origin{s.origins[i].main, where, fmt.Sprintf("#%d of graph %d", k, graph)})
	}
	for k, x := range from.Inputs {
		o, outer := &g.Operands[x], &s.Operands[args[k]]
		o.Dims = dimsOf(o, outer)
		switch v := s.at[args[k]]; {
		case k < len(states):
			inner.at[x], o.Lifetime, o.Dims = states[k], nn.Temporary, dimsOf(&from.Operands[x], &c.tree.Values[states[k]].Operand)
		case v != None:
			inner.at[x], o.Lifetime = v, nn.Temporary
			if outer.Lifetime == nn.SubgraphInput {
				o.Lifetime = nn.SubgraphInput
			}
		case outer.Lifetime == nn.ConstantCopy || outer.Lifetime == nn.ConstantReference || outer.Lifetime == nn.NoValue:
			o.Lifetime, o.Location, o.Dims = outer.Lifetime, outer.Location, outer.Dims
		default:
			return nil, fmt.Errorf("operand %d, %v of dimensions %v, is not known before it runs: %w", args[k], outer.Type, []uint32(outer.Dims), ops.ErrOpenShape)
		}
	}
	for k, y := range from.Outputs {
		inner.at[y] = results[k]
		g.Operands[y].Dims = dimsOf(&g.Operands[y], &c.tree.Values[results[k]].Operand)
	}
	inner.count()
	return inner, nil
}
