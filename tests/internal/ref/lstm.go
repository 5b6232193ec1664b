package ref

import (
	"math"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// lstmOptional are the inputs of UNIDIRECTIONAL_SEQUENCE_LSTM that may be left off.
var lstmOptional = []int{1, 5, 9, 10, 11, 12, 16, 17, 24, 25, 26, 27}

func init() {
	register(nn.OpLstm, kernel{inputs: []int{23, 27}, optional: []int{1, 5, 9, 10, 11, 12, 16, 17, 23, 24, 25, 26}, runs: lstmStep})
	register(nn.OpUnidirectionalSequenceLstm, kernel{inputs: []int{28}, optional: lstmOptional, runs: sequenceLSTM})
	register(nn.OpBidirectionalSequenceLstm, kernel{inputs: []int{61}, optional: []int{1, 5, 9, 10, 11, 12, 16, 17, 18, 22, 26, 27, 28, 29, 33, 34,
		39, 40, 41, 42, 43, 44, 45, 46, 47, 53, 54, 55, 56, 57, 58, 59, 60}, runs: bidirectionalLSTM})
}

// lstmGate is a gate of an LSTM: what goes into its activation.
type lstmGate struct {
	fromInput, fromAux, recurrent, peephole, norm, bias *Tensor
}

// sum is the gate's value before its activation for one row of a batch, each vector of the length of its matrix.
func (g *lstmGate) sum(x, aux, h, c []float64) []float64 {
	v := product(g.fromInput, x)
	if g.fromAux != nil {
		addTo(v, product(g.fromAux, aux))
	}
	for u, r := range product(g.recurrent, h) {
		v[u] += r
		if g.peephole != nil {
			v[u] += g.peephole.V[u] * c[u]
		}
	}
	if g.norm != nil {
		mean, variance := 0.0, 0.0
		for _, a := range v {
			mean += a / float64(len(v))
		}
		for _, a := range v {
			variance += (a - mean) * (a - mean) / float64(len(v))
		}
		for u := range v {
			v[u] = (v[u] - mean) / math.Sqrt(variance+1e-8) * g.norm.V[u]
		}
	}
	for u := range v {
		v[u] += g.bias.V[u]
	}
	return v
}

// clipped bounds the magnitude of v where there is a bound.
func clipped(v []float64, bound float64) {
	for i := range v {
		if bound > 0 {
			v[i] = min(max(v[i], -bound), bound)
		}
	}
}

// lstmCell has the gates, of which the input gate has no weights where it is coupled, and the projection.
type lstmCell struct {
	input, forget, cell, output lstmGate
	projection, projectionBias  *Tensor
	h, s                        *Tensor // states before the first step
	act                         Function
	cellClip, projClip          float64
}

// lstm is the cell whose tensors are at in, by their places among the inputs of LSTM, with the activation and the clips from
// input params on.
func (c *call) lstm(in func(i int) *Tensor, params int) *lstmCell {
	gate := func(k, peephole int) lstmGate {
		g := lstmGate{fromInput: in(1 + k), recurrent: in(5 + k), norm: in(23 + k), bias: in(12 + k)}
		if peephole > 0 {
			g.peephole = in(peephole)
		}
		return g
	}
	var all []*Tensor
	for i := range 27 {
		if i < 20 || i > 22 {
			all = append(all, in(i))
		}
	}
	l := &lstmCell{gate(0, 9), gate(1, 10), gate(2, 0), gate(3, 11), in(16), in(17), in(18), in(19),
		cellActivations[c.int(params)], c.real(params + 1), c.real(params + 2)}
	if l.act == nil || c.int(params) == 2 {
		refuse("activation %d", c.int(params))
	}
	floatTensors(all...)
	return l
}

// step changes the cell state s and returns the output, and the gates as LSTM gives them.
func (l *lstmCell) step(x, aux, h, s []float64) (y, gates []float64) {
	f, g := l.forget.sum(x, aux, h, s), l.cell.sum(x, aux, h, s)
	i := make([]float64, len(f))
	coupled := l.input.fromInput == nil
	if !coupled {
		i = l.input.sum(x, aux, h, s)
	}
	for u := range s {
		f[u], g[u] = logistic(f[u]), l.act(g[u])
		if i[u] = logistic(i[u]); coupled {
			i[u] = 1 - f[u]
		}
		s[u] = f[u]*s[u] + i[u]*g[u]
	}
	clipped(s, l.cellClip)
	o := l.output.sum(x, aux, h, s)
	for u := range o {
		o[u] = logistic(o[u])
	}
	if !coupled {
		gates = i
	}
	gates = slices.Concat(gates, g, f, o)
	for u := range o {
		o[u] *= l.act(s[u])
	}
	if l.projection == nil {
		return o, gates
	}
	y = product(l.projection, o)
	if l.projectionBias != nil {
		addTo(y, l.projectionBias.V)
	}
	clipped(y, l.projClip)
	return y, gates
}

// run goes through a sequence and returns the last states, and the gates of the last step.
func (l *lstmCell) run(q sequence, x, aux *Tensor, backward bool, y *Tensor, at int) (h, s, gates *Tensor) {
	h = New(y.Format(), l.h.Shape...)
	s = New(y.Format(), l.s.Shape...)
	n := 4 * l.s.Shape[1]
	if l.input.fromInput == nil {
		n = 3 * l.s.Shape[1]
	}
	gates = New(y.Format(), q.batch, n)
	for b := range q.batch {
		out, state := stateOf(l.h, b), stateOf(l.s, b)
		q.walk(b, backward, y, at, func(t int) []float64 {
			var g []float64
			out, g = l.step(q.row(x, t, b), q.row(aux, t, b), out, state)
			setState(gates, b, g)
			return out
		})
		setState(h, b, out)
		setState(s, b, state)
	}
	return h, s, gates
}

// lstmStep is LSTM.
func lstmStep(c *call) []*Tensor {
	l := c.lstm(func(i int) *Tensor {
		if i < len(c.in) {
			return c.in[i]
		}
		return nil
	}, 20)
	y := New(c.out, l.h.Shape...)
	h, s, gates := l.run(sequenceOf(c.in[0], true), c.in[0], nil, false, y, 0)
	return []*Tensor{gates, h, s, y}
}

// sequenceLSTM is UNIDIRECTIONAL_SEQUENCE_LSTM.
func sequenceLSTM(c *call) []*Tensor {
	l := c.lstm(func(i int) *Tensor {
		if i >= 23 {
			i++ // behind time major
		}
		return c.in[i]
	}, 20)
	x := c.in[0]
	q := sequenceOf(x, c.flag(23))
	y := New(c.out, q.shape(x, l.h.Shape[1])...)
	h, s, _ := l.run(q, x, nil, false, y, 0)
	if c.results != 1 && c.results != 3 {
		refuse("%d outputs", c.results)
	}
	return []*Tensor{y, h, s}[:c.results]
}

// bidirectionalLSTM is BIDIRECTIONAL_SEQUENCE_LSTM.
func bidirectionalLSTM(c *call) []*Tensor {
	both := linked(c.in[0], c.in[39], c.in[41], c.flag(52), c.flag(51))
	y, second := both.results(c.out, c.in[35].Shape[1], c.in[37].Shape[1])
	var states []*Tensor
	for i, at := range []int{0, second} {
		l := c.lstm(func(k int) *Tensor {
			switch {
			case k == 0:
				return both.inputs[i]
			case k < 18:
				return c.in[k+17*i]
			case k < 20:
				return c.in[k+17+2*i]
			}
			return c.in[k+30+4*i]
		}, 48)
		for g, gate := range []*lstmGate{&l.input, &l.forget, &l.cell, &l.output} {
			gate.fromAux = c.in[40+4*i+g]
		}
		h, s, _ := l.run(both.q, both.inputs[i], both.aux, i == 1, y[i], at)
		states = append(states, h, s)
	}
	return both.together(c.results, y, states...)
}
