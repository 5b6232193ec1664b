package ref

import "github.com/nngpu/nngpu/driver/nn"

func init() {
	register(nn.OpRnn, kernel{inputs: []int{6}, runs: rnnStep})
	register(nn.OpUnidirectionalSequenceRnn, kernel{inputs: []int{7}, runs: sequenceRNN})
	register(nn.OpBidirectionalSequenceRnn, kernel{inputs: []int{15}, optional: []int{9, 10, 11}, runs: bidirectionalRNN})
}

// rnnCell has its tensors, and activation c.
type rnnCell struct {
	weights, recurrent, bias, state, aux *Tensor
	act                                  Function
}

// run goes through a sequence and returns the last state.
func (r *rnnCell) run(q sequence, x, aux *Tensor, backward bool, y *Tensor, at int) *Tensor {
	last := New(r.state.Format(), r.state.Shape...)
	for b := range q.batch {
		h := stateOf(r.state, b)
		q.walk(b, backward, y, at, func(t int) []float64 {
			sum := product(r.weights, q.row(x, t, b))
			addTo(sum, product(r.recurrent, h))
			addTo(sum, r.bias.V)
			if r.aux != nil {
				addTo(sum, product(r.aux, q.row(aux, t, b)))
			}
			for u := range sum {
				sum[u] = r.act(sum[u])
			}
			h = sum
			return h
		})
		setState(last, b, h)
	}
	return last
}

// rnn is the cell whose tensors begin at input i; act is the place of the activation.
func (c *call) rnn(i, act int) *rnnCell {
	f := cellActivations[c.int(act)]
	if f == nil {
		refuse("activation %d", c.int(act))
	}
	in := c.in[i:]
	floatTensors(c.in[0], in[0], in[1], in[2], in[3])
	return &rnnCell{weights: in[0], recurrent: in[1], bias: in[2], state: in[3], act: f}
}

func rnnStep(c *call) []*Tensor {
	r := c.rnn(1, 5)
	y := New(c.out, c.in[4].Shape...)
	state := r.run(sequenceOf(c.in[0], true), c.in[0], nil, false, y, 0)
	return []*Tensor{state, y}
}

func sequenceRNN(c *call) []*Tensor {
	r := c.rnn(1, 5)
	x := c.in[0]
	q := sequenceOf(x, c.int(6) == 1)
	y := New(c.out, q.shape(x, r.state.Shape[1])...)
	state := r.run(q, x, nil, false, y, 0)
	return []*Tensor{y, state}[:c.results]
}

func bidirectionalRNN(c *call) []*Tensor {
	both := linked(c.in[0], c.in[9], c.in[10], c.flag(13), c.flag(14))
	y, at := both.results(c.out, c.in[4].Shape[1], c.in[8].Shape[1])
	var states [2]*Tensor
	for i, at := range []int{0, at} {
		r := c.rnn(1+4*i, 12)
		r.aux = c.in[10+i]
		states[i] = r.run(both.q, both.inputs[i], both.aux, i == 1, y[i], at)
	}
	return both.together(c.results, y, states[:]...)
}
