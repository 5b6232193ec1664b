package ref

import "github.com/nngpu/nngpu/driver/nn"

func init() {
	register(nn.OpQuantized16BitLstm, kernel{inputs: []int{15}, runs: lstm16})
}

// lstm16 is QUANTIZED_16BIT_LSTM.
func lstm16(c *call) []*Tensor {
	x, state, h := c.in[0], c.in[13], c.in[14]
	if x.Type != nn.TensorQuant8Asymm || state.Type != nn.TensorQuant16Symm || c.out.Type != nn.TensorQuant16Symm {
		refuse("%s, %s and %s", x.Type, state.Type, c.out.Type)
	}
	batch, units, size := state.Shape[0], state.Shape[1], x.Shape[1]
	next := New(state.Format(), batch, units)
	y := New(h.Format(), batch, units)
	scale := newMultiplier(c.in[9].Scale*(1<<12), DoubleRounding)
	for b := range batch {
		for u := range units {
			gate := func(k int) fixed16 {
				sum := int64(c.in[9+k].V[u])
				// The reference implementation multiplies input and state, in this order, with recurrent and input weights.
				values := append(append([]float64(nil), x.V[b*size:][:size]...), h.V[b*units:][:units]...)
				weights := append(append([]float64(nil), c.in[5+k].V[u*units:][:units]...), c.in[1+k].V[u*size:][:size]...)
				for d, v := range values {
					sum += int64(v-128) * int64(weights[d]-float64(c.in[1].ZeroPoint))
				}
				return fixed16{saturate16(scale.apply(int64(int32(sum)))), 3}
			}
			taken := gate(0).sigmoid().times(gate(2).tanh())
			kept := gate(1).sigmoid().times(fixed16{int64(state.V[b*units+u]), 4})
			s := taken.rescale(4).plus(kept)
			out := gate(3).sigmoid().times(s.rescale(3).tanh())
			next.V[b*units+u] = float64(s.raw)
			y.V[b*units+u] = float64(128 + min(max(roundingShift(out.raw, 8), -128), 127))
		}
	}
	return []*Tensor{next, y}
}
