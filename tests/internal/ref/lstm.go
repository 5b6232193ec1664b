package ref

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// lstmOptional are the inputs of UNIDIRECTIONAL_SEQUENCE_LSTM that may be left off.
var lstmOptional = []int{1, 5, 9, 10, 11, 12, 16, 17, 24, 25, 26, 27}

func init() {
	register(nn.OpUnidirectionalSequenceLstm, kernel{inputs: []int{28}, optional: lstmOptional, runs: sequenceLSTM})
}

// lstmGate is a gate of an LSTM: what goes into its activation.
type lstmGate struct {
	fromInput, recurrent, peephole, norm, bias *Tensor
}

// sum is the gate's value before its activation for one row of a batch, each vector of the length of its matrix.
func (g *lstmGate) sum(x, h, c []float64) []float64 {
	v := product(g.fromInput, x)
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

// product is the matrix m, [n, len(x)], times x.
func product(m *Tensor, x []float64) []float64 {
	y := make([]float64, m.Shape[0])
	for u := range y {
		for i, v := range x {
			y[u] += m.V[u*len(x)+i] * v
		}
	}
	return y
}

// clipped bounds the magnitude of v where there is a bound.
func clipped(v []float64, bound float64) {
	for i := range v {
		if bound > 0 {
			v[i] = min(max(v[i], -bound), bound)
		}
	}
}

// lstmActivations are those of the cell, by the numbers of the NNAPI.
var lstmActivations = map[int]Function{
	0: func(x float64) float64 { return x },
	1: func(x float64) float64 { return max(x, 0) },
	3: func(x float64) float64 { return min(max(x, 0), 6) },
	4: math.Tanh,
	6: logistic,
}

// sequenceLSTM is UNIDIRECTIONAL_SEQUENCE_LSTM.
func sequenceLSTM(c *call) ([]*Tensor, error) {
	x, in := c.in[0], c.in
	act, known := lstmActivations[c.int(20)]
	if !known || !c.out.Type.IsFloat() || len(x.Shape) != 3 {
		return nil, fmt.Errorf("activation %d of %s %v", c.int(20), c.out.Type, x.Shape)
	}
	for i, t := range in {
		if t != nil && (i < 20 || i > 23) && t.Type != x.Type {
			return nil, fmt.Errorf("input %d of %s", i, t.Type)
		}
	}
	gate := func(k, peephole int) lstmGate {
		g := lstmGate{in[1+k], in[5+k], nil, in[24+k], in[12+k]}
		if peephole > 0 {
			g.peephole = in[peephole]
		}
		return g
	}
	input, forget, cell, output := gate(0, 9), gate(1, 10), gate(2, 0), gate(3, 11)
	steps, batch, stepAt, batchAt := x.Shape[0], x.Shape[1], x.Shape[1], 1
	if !c.flag(23) {
		steps, batch, stepAt, batchAt = x.Shape[1], x.Shape[0], 1, x.Shape[1]
	}
	size, units, outputs := x.Shape[2], in[19].Shape[1], in[18].Shape[1]
	y, err := New(c.out, x.Shape[0], x.Shape[1], outputs)
	if err != nil {
		return nil, err
	}
	lastH, errH := New(c.out, batch, outputs)
	lastC, errC := New(c.out, batch, units)
	if errH != nil || errC != nil {
		return nil, fmt.Errorf("states of %d and %d", outputs, units)
	}
	for b := range batch {
		h, s := append([]float64(nil), in[18].V[b*outputs:][:outputs]...), append([]float64(nil), in[19].V[b*units:][:units]...)
		for t := range steps {
			row := t*stepAt + b*batchAt
			v := x.V[row*size:][:size]
			f, g := forget.sum(v, h, s), cell.sum(v, h, s)
			var i []float64
			if in[1] != nil {
				i = input.sum(v, h, s)
			}
			for u := range s {
				forgotten := logistic(f[u])
				taken := 1 - forgotten
				if i != nil {
					taken = logistic(i[u])
				}
				s[u] = forgotten*s[u] + taken*act(g[u])
			}
			clipped(s, c.real(21))
			h = output.sum(v, h, s)
			for u := range h {
				h[u] = logistic(h[u]) * act(s[u])
			}
			if in[16] != nil {
				h = product(in[16], h)
				for o := range h {
					if in[17] != nil {
						h[o] += in[17].V[o]
					}
				}
				clipped(h, c.real(22))
			}
			for o, a := range h {
				y.V[row*outputs+o] = c.out.round(a)
			}
		}
		for o, a := range h {
			lastH.V[b*outputs+o] = c.out.round(a)
		}
		for u, a := range s {
			lastC.V[b*units+u] = c.out.round(a)
		}
	}
	if c.results != 1 && c.results != 3 {
		return nil, fmt.Errorf("%d outputs", c.results)
	}
	return []*Tensor{y, lastH, lastC}[:c.results], nil
}
