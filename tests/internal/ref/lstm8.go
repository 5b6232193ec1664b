package ref

import (
	"math"
	"math/bits"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(nn.OpQuantizedLstm, kernel{inputs: []int{32}, optional: []int{1, 5, 9, 10, 11, 12, 16, 17, 20, 21, 22, 23, 24, 25}, runs: lstm8})
}

// lstm8Cell is a QUANTIZED_LSTM: TensorFlow Lite's integer LSTM of 8 bits with 16-bit states, in which gates are numbers of 16 bits.
type lstm8Cell struct {
	*call
	batch, inputs, units, outputs int
}

func lstm8(c *call) []*Tensor {
	x, h, state := c.in[0], c.in[18], c.in[19]
	l := &lstm8Cell{c, x.Shape[0], x.Shape[1], state.Shape[1], h.Shape[1]}
	for i, want := range map[int]nn.OperandType{0: nn.TensorQuant8AsymmSigned, 2: nn.TensorQuant8Symm, 13: nn.TensorInt32, 19: nn.TensorQuant16Symm} {
		if c.in[i].Type != want {
			refuse("input %d is %s", i, c.in[i].Type)
		}
	}
	exponent := math.Round(math.Log2(state.Scale))
	if math.Abs(exponent-math.Log2(state.Scale)) >= 1e-3 || exponent > -9 || exponent < -15 {
		refuse("cell state of scale %v", state.Scale)
	}
	optional := func(i int) float64 {
		if c.in[i] == nil {
			return 0
		}
		return c.real(i)
	}
	next := New(state.Format(), l.batch, l.units)
	forget, cell := l.gate(1, 10, state), l.gate(2, -1, state)
	var input []int64
	if c.in[1] != nil {
		input = l.gate(0, 9, state)
	}
	cellClip := int64(min(float32(optional(24))/float32(state.Scale), 32767))
	for i := range next.V {
		keep := fixed16{forget[i], 3}.sigmoid().raw
		take := 32767 - keep
		if input != nil {
			take = fixed16{input[i], 3}.sigmoid().raw
		}
		taken := roundingShift(take*fixed16{cell[i], 3}.tanh().raw, 30+int(exponent))
		v := saturate16(roundingShift(keep*int64(state.V[i]), 15) + taken)
		if cellClip > 0 {
			v = min(max(v, -cellClip), cellClip)
		}
		next.V[i] = float64(v)
	}
	output := l.gate(3, 11, next)
	hiddenZero, hiddenScale := int64(c.int(30)), float32(c.real(31))
	scale := newMultiplier(float64(float32(math.Pow(2, -15)/float64(hiddenScale)*math.Pow(2, -15))), DoubleRounding)
	hidden := make([]int64, len(output))
	for i := range hidden {
		v := fixed16{output[i], 3}.sigmoid().raw * fixed16{int64(next.V[i]), 15 + int(exponent)}.tanh().raw
		hidden[i] = min(max(scale.apply(v)+hiddenZero, -128), 127)
	}
	y := New(h.Format(), l.batch, l.outputs)
	weights := c.in[16]
	if weights == nil {
		for i := range y.V {
			y.V[i] = float64(hidden[i])
		}
		return []*Tensor{y, next, y}
	}
	projClip := int64(min(float32(optional(25))/float32(h.Scale), 127))
	scale = newMultiplier(float64(float32(weights.Scale)*hiddenScale/float32(h.Scale)), DoubleRounding)
	for i := range y.V {
		b, o := i/l.outputs, i%l.outputs
		var sum int64
		if c.in[17] != nil {
			sum = int64(c.in[17].V[o])
		}
		for u := range l.units {
			sum += (hidden[b*l.units+u] - hiddenZero) * int64(weights.V[o*l.units+u])
		}
		v := min(max(scale.apply(int64(int32(sum)))+int64(h.ZeroPoint), -128), 127)
		if projClip > 0 {
			v = min(max(v, -projClip), projClip)
		}
		y.V[i] = float64(v)
	}
	return []*Tensor{y, next, y}
}

// gate is gate g of all rows before its activation. peephole is the input with its weights of the state, below 0 for none.
func (l *lstm8Cell) gate(g, peephole int, state *Tensor) []int64 {
	x, h, w, r, bias, norm := l.in[0], l.in[18], l.in[1+g], l.in[5+g], l.in[12+g], l.in[20+g]
	scale := float32(l.real(26 + g))
	ofInput := newMultiplier(float64(float32(w.Scale)*float32(x.Scale)/scale), DoubleRounding)
	ofState := newMultiplier(float64(float32(r.Scale)*float32(h.Scale)/scale), DoubleRounding)
	gate := make([]int64, l.batch*l.units)
	for i := range gate {
		b, u := i/l.units, i%l.units
		var sum, stateSum int64
		if norm == nil {
			sum = int64(bias.V[u])
		}
		for k := range l.inputs {
			sum += int64(x.V[b*l.inputs+k]-float64(x.ZeroPoint)) * int64(w.V[u*l.inputs+k])
		}
		for k := range l.outputs {
			stateSum += int64(h.V[b*l.outputs+k]-float64(h.ZeroPoint)) * int64(r.V[u*l.outputs+k])
		}
		v := saturate16(ofInput.apply(int64(int32(sum))))
		v = saturate16(v + ofState.apply(stateSum))
		if peephole >= 0 && l.in[peephole] != nil {
			p := l.in[peephole]
			m := newMultiplier(float64(float32(math.Exp2(math.Round(math.Log2(state.Scale)))*p.Scale/float64(scale))), DoubleRounding)
			v = saturate16(v + m.apply(int64(state.V[i])*int64(p.V[u])))
		}
		gate[i] = v
	}
	if norm != nil {
		for b := range l.batch {
			normalise16(gate[b*l.units:][:l.units], norm, bias)
		}
	}
	return gate
}

// normalise16 is TensorFlow Lite's layer normalisation of 16-bit numbers.
func normalise16(v []int64, weights, bias *Tensor) {
	n := int64(len(v))
	var sum, squares int64
	for _, x := range v {
		sum += x
		squares += x * x
	}
	mean := sum * 1024 / n
	variance := int64(int32((squares*(1<<20/n) - mean*mean) / (1 << 20)))
	if variance < 1 {
		variance = max(1, int64(10_000*float32(weights.Scale)))
	}
	inverse := inverseRoot(variance)
	scale := newMultiplier(float64(float32(weights.Scale)*4096), DoubleRounding)
	for i, x := range v {
		y := int64(int32(inverse.apply(1024*x-mean)*int64(weights.V[i]) + int64(bias.V[i])))
		if y > 0 {
			y = (y + 512) / 1024
		} else {
			y = (y - 512) / 1024
		}
		v[i] = saturate16(scale.apply(y))
	}
}

// inverseRoot is GetInvSqrtQuantizedMultiplierExp: 1 / sqrt(v).
func inverseRoot(v int64) multiplier {
	if v <= 1 {
		return multiplier{m: math.MaxInt32}
	}
	right := 11
	for v >= 1<<29 {
		v /= 4
		right++
	}
	pairs := (bits.LeadingZeros32(uint32(v))-1)/2 - 1
	right -= pairs
	v <<= 2 * pairs
	half := roundingShift(v>>1, 1)
	saturated := func(x int64, left int) int64 { return min(max(x<<left, math.MinInt32), math.MaxInt32) }
	x := int64(1 << 28)
	for range 5 {
		cube := saturated(doublingHighMul(doublingHighMul(x, x), x), 6)
		x = saturated(doublingHighMul(1<<28+1<<27, x)-doublingHighMul(half, cube), 3)
	}
	m := doublingHighMul(x, 1518500250)
	if right < 0 {
		m, right = m<<-right, 0
	}
	return multiplier{m: m, shift: -right}
}
