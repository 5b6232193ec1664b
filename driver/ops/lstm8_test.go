package ops_test

import (
	"slices"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

func TestLSTM8(t *testing.T) {
	tensor := func(t nn.OperandType, scale float32, zero int32, d ...uint32) nn.Operand {
		return nn.Operand{Type: t, Dims: d, Scale: scale, ZeroPoint: zero, Lifetime: nn.ConstantReference}
	}
	s8 := func(d ...uint32) nn.Operand { return tensor(nn.TensorQuant8AsymmSigned, 0.5, 7, d...) }
	weights := func(d ...uint32) nn.Operand { return tensor(nn.TensorQuant8Symm, 0.25, 0, d...) }
	q16 := func(d ...uint32) nn.Operand { return tensor(nn.TensorQuant16Symm, 1.0/2048, 0, d...) }
	bias := func(d ...uint32) nn.Operand { return tensor(nn.TensorInt32, 0, 0, d...) }
	w, r, p, none8, none16, noneBias := weights(4, 3), weights(4, 5), q16(4), omitted(nn.TensorQuant8Symm), omitted(nn.TensorQuant16Symm), omitted(nn.TensorInt32)
	real := func(v float32) any { return v }
	args := slices.Concat([]any{s8(2, 3)}, slices.Repeat([]any{w}, 4), slices.Repeat([]any{r}, 4), slices.Repeat([]any{p}, 3),
		slices.Repeat([]any{bias(4)}, 4), []any{weights(5, 4), bias(5), s8(2, 5), q16(2, 4)}, slices.Repeat([]any{p}, 4),
		[]any{real(1), real(2), real(3), real(4), real(5), real(6), -7, real(8)})
	state, y := q16(), s8()
	lstm := func(other map[int]any, outs ...nn.Operand) *ops.Call {
		list := slices.Clone(args)
		for i, a := range other {
			list[i] = a
		}
		if outs == nil {
			outs = []nn.Operand{y, state, y}
		}
		c := call(nn.OpQuantizedLstm, outs[0], list...)
		for _, o := range outs[1:] {
			c.Graph.Operands = append(c.Graph.Operands, o)
			c.Op.Outputs = append(c.Op.Outputs, uint32(len(c.Graph.Operands)-1))
		}
		return c
	}
	coupled := map[int]any{1: none8, 5: none8, 9: none16, 12: noneBias, 20: none16, 26: real(0)}
	plain := map[int]any{9: none16, 10: none16, 11: none16, 16: none8, 17: noneBias, 20: none16, 21: none16, 22: none16, 23: none16,
		24: omitted(nn.Float32), 25: omitted(nn.Float32), 5: weights(4, 4), 6: weights(4, 4), 7: weights(4, 4), 8: weights(4, 4), 18: s8(2, 4)}
	runShapes(t, map[string]struct {
		call *ops.Call
		want []nn.Dims
	}{
		"all":               {lstm(nil), []nn.Dims{{2, 5}, {2, 4}, {2, 5}}},
		"coupled":           {lstm(coupled), []nn.Dims{{2, 5}, {2, 4}, {2, 5}}},
		"plain":             {lstm(plain), []nn.Dims{{2, 4}, {2, 4}, {2, 4}}},
		"a scale near 2^-n": {lstm(map[int]any{19: tensor(nn.TensorQuant16Symm, 3.05176e-05, 0, 2, 4)}, y, tensor(nn.TensorQuant16Symm, 3.05176e-05, 0), y), []nn.Dims{{2, 5}, {2, 4}, {2, 5}}},
	})
	inf, err := ops.Lookup(nn.OpQuantizedLstm).Infer(lstm(nil))
	if want := (ops.LSTM8{CellClip: 1, ProjClip: 2, Scales: [4]float32{3, 4, 5, 6}, HiddenScale: 8, HiddenZero: -7}); err != nil || inf.Attrs != want {
		t.Errorf("%+v, %v; want %+v", inf.Attrs, err, want)
	}
	runBad(t, []badCase{
		{"two outputs", lstm(nil, y, state)},
		{"outputs in another order", lstm(nil, state, y, y)},
		{"unsigned input", lstm(map[int]any{0: u8(2, 3)})},
		{"weights that are not symmetric", lstm(map[int]any{2: s8(4, 3)})},
		{"8-bit cell state", lstm(map[int]any{19: s8(2, 4)})},
		{"float bias", lstm(map[int]any{13: f32(4)})},
		{"cell state of scale 1/256", lstm(map[int]any{19: tensor(nn.TensorQuant16Symm, 1.0/256, 0, 2, 4)}, y, tensor(nn.TensorQuant16Symm, 1.0/256, 0), y)},
		{"cell state of scale 1/65536", lstm(map[int]any{19: tensor(nn.TensorQuant16Symm, 1.0/65536, 0, 2, 4)}, y, tensor(nn.TensorQuant16Symm, 1.0/65536, 0), y)},
		{"cell state of scale 0.0009", lstm(map[int]any{19: tensor(nn.TensorQuant16Symm, 0.0009, 0, 2, 4)}, y, tensor(nn.TensorQuant16Symm, 0.0009, 0), y)},
		{"other scale of the new cell state", lstm(nil, y, tensor(nn.TensorQuant16Symm, 1.0/1024, 0), y)},
		{"other zero point of the result", lstm(nil, y, state, scaled(s8(), 0.5, 6))},
		{"other scale of the output state", lstm(nil, scaled(s8(), 1, 7), state, y)},
		{"recurrent weights of the input gate only", lstm(map[int]any{1: none8})},
		{"half a peephole", lstm(map[int]any{11: none16})},
		{"projection bias without weights", lstm(map[int]any{16: none8})},
		{"output size without a projection", lstm(map[int]any{16: none8, 17: noneBias})},
		{"normalised in part", lstm(map[int]any{22: none16})},
		{"input size", lstm(map[int]any{2: weights(4, 2)})},
		{"units", lstm(map[int]any{14: bias(5)})},
		{"batch", lstm(map[int]any{18: s8(3, 5)})},
		{"scale 0 of a gate", lstm(map[int]any{27: real(0)})},
		{"scale 0 of the input gate", lstm(map[int]any{26: real(0)})},
		{"negative scale", lstm(map[int]any{29: real(-1)})},
		{"hidden scale 0", lstm(map[int]any{31: real(0)})},
		{"hidden zero point of 9 bits", lstm(map[int]any{30: 128})},
		{"negative clip", lstm(map[int]any{24: real(-1)})},
		{"no scale", lstm(map[int]any{28: omitted(nn.Float32)})},
	})
}
