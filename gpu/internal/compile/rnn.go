package compile

import (
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// expandRNN makes a step, whose state is the result.
func expandRNN(x *expansion, n *ir.Node) error {
	r, err := x.recurrence(n, true)
	if err != nil {
		return err
	}
	all, err := r.rnn(n.Attrs.(ops.RNN).Act, r.in[ops.RNNInput], ir.None, ir.None, r.in[ops.RNNWeights:], false)
	if err != nil {
		return err
	}
	r.finishAll(n, all[0], all[0])
	return nil
}

// expandSequenceRNN multiplies the whole sequence with the input weights, then goes through the steps.
func expandSequenceRNN(x *expansion, n *ir.Node) error {
	a := n.Attrs.(ops.RNN)
	r, err := x.recurrence(n, a.TimeMajor)
	if err != nil {
		return err
	}
	all, err := r.rnn(a.Act, r.rows(r.in[ops.RNNInput]), ir.None, ir.None, r.in[ops.RNNWeights:], false)
	if err != nil {
		return err
	}
	r.finishAll(n, r.joined(all), all[r.length-1])
	return nil
}

// expandBidirectionalRNN goes through the steps in both directions.
func expandBidirectionalRNN(x *expansion, n *ir.Node) error {
	a := n.Attrs.(ops.RNN)
	r, err := x.recurrence(n, a.TimeMajor)
	if err != nil {
		return err
	}
	var all [2][]ir.ID
	input, aux := r.linked(int(ops.RNNAux), int(ops.RNNAuxWeights))
	for i, backward := range []bool{false, true} {
		tensors := r.in[int(ops.RNNWeights)+i*int(ops.RNNBackward):]
		if all[i], err = r.rnn(a.Act, input[i], aux, r.in[int(ops.RNNAuxWeights)+i], tensors, backward); err != nil {
			return err
		}
	}
	r.finishAll(n, r.merged(a.Merge, all, all[0][r.length-1], all[1][0])...)
	return nil
}

// rnn goes through the steps of a cell, whose tensors begin with weights, recurrent weights, bias and state. input and
// aux, None for none, are rows of all steps.
func (r *recurrence) rnn(act ops.CellActivation, input, aux, auxWeights ir.ID, tensors []ir.ID, backward bool) ([]ir.ID, error) {
	weights, recurrent, bias, h := tensors[0], tensors[1], tensors[2], tensors[3]
	units := r.graph.T(h).Shape[1]
	if err := r.takeConstants(units); err != nil {
		return nil, err
	}
	zero := r.constant(units, 0)
	sum := r.product(input, weights, bias)
	if aux != ir.None {
		sum = r.add(sum, r.product(aux, auxWeights, zero))
	}
	fromInput := r.steps(sum, r.length)
	return r.run(backward, func(t int) ir.ID {
		h = r.activate(act, r.add(fromInput[t], r.product(h, recurrent, zero)))
		return h
	})
}
