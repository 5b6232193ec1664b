package differential

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/ops"
)

// lstm8Model is a random QUANTIZED_LSTM: its sizes, its optional parts, its scales and which of its tensors are inputs.
func lstm8Model(rng *rand.Rand) *nn.Model {
	var b nn.Builder
	some := func() bool { return rng.IntN(2) == 0 }
	batch, inputs, units := 1+rng.Uint32N(5), 1+rng.Uint32N(40), 1+rng.Uint32N(40)
	gated, peephole, norm, projected, fed := some(), some(), some(), some(), some()
	outputs := units
	if projected {
		outputs = 1 + rng.Uint32N(40)
	}
	scale := func(low, high float64) float32 { return float32(math.Exp2(low + rng.Float64()*(high-low))) }
	sizes := map[byte]uint32{'B': batch, 'I': inputs, 'U': units, 'O': outputs}
	shapes := []string{"BI", "UI", "UI", "UI", "UI", "UO", "UO", "UO", "UO", "U", "U", "U", "U", "U", "U", "U", "OU", "O", "BO", "BU", "U", "U", "U", "U"}
	cell, out, zero := float32(math.Ldexp(1, -9-rng.IntN(7))), scale(-8, -5), int32(rng.IntN(256)-128)
	var in []uint32
	for i, shape := range shapes {
		t, has := ops.LSTMTensor(i), true
		switch t {
		case ops.LSTMInputWeights, ops.LSTMRecurrentWeights, ops.LSTMBias:
			has = gated
		case ops.LSTMPeepholeInput:
			has = peephole && gated
		case ops.LSTMPeepholeForget, ops.LSTMPeepholeOutput:
			has = peephole
		case ops.LSTMProjectionWeights:
			has = projected
		case ops.LSTMProjectionBias:
			has = projected && some()
		case ops.LSTMNormWeights:
			has = norm && gated
		}
		if t > ops.LSTMNormWeights {
			has = norm
		}
		typ := ops.LSTM8Type(i)
		if !has {
			in = append(in, b.Omitted(typ))
			continue
		}
		var dims nn.Dims
		for _, letter := range []byte(shape) {
			dims = append(dims, sizes[letter])
		}
		var s float32
		var z int32
		switch {
		case t == ops.LSTMCellState:
			s = cell
		case t == ops.LSTMOutputState:
			s, z = out, zero
		case t == ops.LSTMInput:
			s, z = scale(-8, -6), int32(rng.IntN(256)-128)
		case typ == nn.TensorQuant16Symm:
			s = scale(-16, -13)
		case typ == nn.TensorQuant8Symm:
			s = scale(-8, -6)
		}
		if fed || t == ops.LSTMInput || t == ops.LSTMOutputState || t == ops.LSTMCellState {
			in = append(in, b.Input(typ, dims, s, z))
		} else {
			in = append(in, b.Const(typ, dims, s, z, RandomValue(typ, dims, rng)))
		}
	}
	clip := func(most float32) uint32 {
		switch rng.IntN(3) {
		case 0:
			return b.Omitted(nn.Float32)
		case 1:
			return b.Scalar(float32(0))
		}
		return b.Scalar(rng.Float32() * most)
	}
	in = append(in, clip(cell*30000), clip(out*100))
	for range 4 {
		in = append(in, b.Scalar(scale(-12, -7)))
	}
	hiddenZero, hidden := int32(rng.IntN(41)-20), scale(-8, -6)
	in = append(in, b.Scalar(hiddenZero), b.Scalar(hidden))
	results := []uint32{
		b.Temp(nn.TensorQuant8AsymmSigned, nn.Dims{batch, outputs}, out, zero),
		b.Temp(nn.TensorQuant16Symm, nn.Dims{batch, units}, cell, 0),
		b.Temp(nn.TensorQuant8AsymmSigned, nn.Dims{batch, outputs}, out, zero),
	}
	b.Op(nn.OpQuantizedLstm, in, results)
	for _, y := range results {
		b.Output(y)
	}
	return nntest.Build(&b)
}

// TestLSTM8Sweep: every bit of the states and the result, with all combinations of what a cell may lack.
func TestLSTM8Sweep(t *testing.T) {
	eachSeed(t, 200, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		m := lstm8Model(rng)
		t.Log(describe(m))
		Compare(t, d, m, Exact, seed)
	})
}

// TestLSTM8Variances: gates of one unit, whose variance is 0, and those of units that saturate in both directions.
func TestLSTM8Variances(t *testing.T) {
	eachSeed(t, 24, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		var b nn.Builder
		units := []uint32{1, 2, 3, 1000, 4099, 8192}[seed%6]
		q16, s8 := nn.TensorQuant16Symm, nn.TensorQuant8AsymmSigned
		in := []uint32{b.Input(s8, nn.Dims{1, 4}, 0.0078125, 0)}
		fixed := func(t nn.OperandType, scale float32, dims ...uint32) {
			in = append(in, b.Const(t, dims, scale, 0, RandomValue(t, dims, rng)))
		}
		left := func(n int, t nn.OperandType) {
			for range n {
				in = append(in, b.Omitted(t))
			}
		}
		symm := nn.TensorQuant8Symm
		left(1, symm)
		for range 3 {
			fixed(symm, 0.0078125, units, 4)
		}
		left(1, symm)
		for range 3 {
			fixed(symm, 0.0078125, units, 5)
		}
		left(3, q16)
		left(1, nn.TensorInt32)
		for range 3 {
			fixed(nn.TensorInt32, 0, units)
		}
		fixed(symm, 0.004, 5, units)
		left(1, nn.TensorInt32)
		in = append(in, b.Input(s8, nn.Dims{1, 5}, 0.01, 3), b.Input(q16, nn.Dims{1, units}, 1.0/2048, 0))
		left(1, q16)
		for range 3 {
			fixed(q16, 3e-5, units)
		}
		left(2, nn.Float32)
		gate := float32(math.Exp2(-float64(seed)))
		in = append(in, b.Scalar(gate), b.Scalar(gate), b.Scalar(gate), b.Scalar(gate), b.Scalar(0), b.Scalar(float32(0.007)))
		y := []uint32{b.Temp(s8, nn.Dims{1, 5}, 0.01, 3), b.Temp(q16, nn.Dims{1, units}, 1.0/2048, 0), b.Temp(s8, nn.Dims{1, 5}, 0.01, 3)}
		b.Op(nn.OpQuantizedLstm, in, y)
		b.Output(y[1])
		b.Output(y[2])
		Compare(t, d, nntest.Build(&b), Exact, seed)
	})
}
