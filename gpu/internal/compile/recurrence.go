package compile

import (
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// recurrence is a sequence that recurrent cells go through, or a single step. Everything is computed in float32: a float16
// model is converted at both ends, as the reference implementation of the HAL does it.
type recurrence struct {
	*expansion
	in        []ir.ID // the tensors of the operation, float32
	length    int     // steps
	batch     int
	timeMajor bool
}

// recurrence takes the tensors of n. The first is the sequence, [steps, batch, size] where timeMajor is set, else
// [batch, steps, size], or the input of a single step, [batch, size].
func (x *expansion) recurrence(n *ir.Node, timeMajor bool) (*recurrence, error) {
	shape := x.graph.T(n.In[0]).Shape
	r := &recurrence{expansion: x, length: 1, batch: shape[0], timeMajor: timeMajor}
	if len(shape) == 3 {
		r.length, r.batch = shape[0], shape[1]
		if !timeMajor {
			r.length, r.batch = r.batch, r.length
		}
	}
	if err := x.checkRoom(r.length); err != nil {
		return nil, err
	}
	for _, id := range n.In {
		r.in = append(r.in, x.float32(id))
	}
	return r, nil
}

// rows is a as the rows of all steps, [steps * batch, size].
func (r *recurrence) rows(a ir.ID) ir.ID {
	shape := r.graph.T(a).Shape
	if len(shape) == 2 {
		return a
	}
	return r.into(r.tensor(r.length*r.batch, shape[2]), nn.OpReshape, nil, r.timeFirst(a))
}

// timeFirst exchanges the first two dimensions of a where the model is not time-major.
func (r *recurrence) timeFirst(a ir.ID) ir.ID {
	if r.timeMajor {
		return a
	}
	s := r.graph.T(a).Shape
	out := r.tensor(s[1], s[0], s[2])
	if s[0] == 1 || s[1] == 1 {
		return r.into(out, nn.OpReshape, nil, a)
	}
	return r.into(out, nn.OpTranspose, ops.Transpose{Perm: []int{1, 0, 2}}, a)
}

// run goes through the steps, from the last to the first if backward is set, and returns what each gives, in the order
// of time.
func (r *recurrence) run(backward bool, step func(t int) ir.ID) ([]ir.ID, error) {
	all := make([]ir.ID, r.length)
	for k := range all {
		t := k
		if backward {
			t = r.length - 1 - k
		}
		all[t] = step(t)
		if err := r.checkRoom(len(r.nodes)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// joined is all results of steps, in the layout of the model.
func (r *recurrence) joined(all []ir.ID) ir.ID {
	a := all[0]
	size := r.graph.T(a).Shape[1]
	if len(all) > 1 {
		a = r.into(r.tensor(r.length*r.batch, size), nn.OpConcatenation, ops.Concatenation{}, all...)
	}
	return r.timeFirst(r.into(r.tensor(r.length, r.batch, size), nn.OpReshape, nil, a))
}

// linked returns the rows that the forward and the backward cell read, and those that both read in addition, None for
// none: the backward cell alone reads the auxiliary input where there are no auxiliary weights.
func (r *recurrence) linked(aux, weights int) (input [2]ir.ID, both ir.ID) {
	x, both := r.rows(r.in[0]), ir.None
	input = [2]ir.ID{x, x}
	if r.in[aux] == ir.None {
		return input, both
	}
	if r.in[weights] == ir.None {
		input[1] = r.rows(r.in[aux])
		return input, both
	}
	return input, r.rows(r.in[aux])
}

// merged are the outputs of two cells with results all: a result for each or, if merge is set, one with the numbers of
// both; then states.
func (r *recurrence) merged(merge bool, all [2][]ir.ID, states ...ir.ID) []ir.ID {
	a, b := r.joined(all[0]), r.joined(all[1])
	if !merge {
		return append([]ir.ID{a, b}, states...)
	}
	shape := append([]int(nil), r.graph.T(a).Shape...)
	shape[2] += r.graph.T(b).Shape[2]
	y := r.into(r.tensor(shape...), nn.OpConcatenation, ops.Concatenation{Axis: 2}, a, b)
	return append([]ir.ID{y}, states...)
}

// finishAll gives out as many values as n has outputs.
func (r *recurrence) finishAll(n *ir.Node, values ...ir.ID) {
	for i, out := range n.Out {
		r.finish(out, values[i])
	}
}

// activate applies the activation of a cell.
func (x *expansion) activate(act ops.CellActivation, a ir.ID) ir.ID {
	switch act {
	case ops.CellRelu:
		return x.like(nn.OpRelu, nil, a)
	case ops.CellRelu1:
		return x.like(nn.OpRelu1, nil, a)
	case ops.CellRelu6:
		return x.like(nn.OpRelu6, nil, a)
	case ops.CellTanh:
		return x.like(nn.OpTanh, nil, a)
	case ops.CellLogistic:
		return x.like(nn.OpLogistic, nil, a)
	}
	return a
}
