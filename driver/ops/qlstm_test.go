package ops_test

import (
	"slices"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

func TestLSTM16(t *testing.T) {
	tensor := func(t nn.OperandType, scale float32, zero int32, d ...uint32) nn.Operand {
		return nn.Operand{Type: t, Dims: d, Scale: scale, ZeroPoint: zero, Lifetime: nn.SubgraphInput}
	}
	u8 := func(scale float32, zero int32, d ...uint32) nn.Operand {
		return tensor(nn.TensorQuant8Asymm, scale, zero, d...)
	}
	value := func(d ...uint32) nn.Operand { return u8(1.0/128, 128, d...) }
	w, r, bias := u8(0.5, 7, 4, 3), u8(0.5, 7, 4, 4), tensor(nn.TensorInt32, 0.5/128, 0, 4)
	state := tensor(nn.TensorQuant16Symm, 1.0/2048, 0, 2, 4)
	args := slices.Concat([]any{value(2, 3)}, slices.Repeat([]any{w}, 4), slices.Repeat([]any{r}, 4), slices.Repeat([]any{bias}, 4),
		[]any{state, value(2, 4)})
	lstm := func(other map[int]any, outs ...nn.Operand) *ops.Call {
		list := slices.Clone(args)
		for i, a := range other {
			list[i] = a
		}
		c := call(nn.OpQuantized16BitLstm, outs[0], list...)
		for _, o := range outs[1:] {
			c.Graph.Operands = append(c.Graph.Operands, o)
			c.Op.Outputs = append(c.Op.Outputs, uint32(len(c.Graph.Operands)-1))
		}
		return c
	}
	next, y := tensor(nn.TensorQuant16Symm, 1.0/2048, 0), value()
	runShapes(t, map[string]struct {
		call *ops.Call
		want []nn.Dims
	}{"plain": {lstm(nil, next, y), []nn.Dims{{2, 4}, {2, 4}}}})
	runBad(t, []badCase{
		{"one output", lstm(nil, next)},
		{"outputs in another order", lstm(nil, y, next)},
		{"signed input", lstm(map[int]any{0: tensor(nn.TensorQuant8AsymmSigned, 1.0/128, 0, 2, 3)}, next, y)},
		{"float input", lstm(map[int]any{0: f32(2, 3)}, next, y)},
		{"scale of the input", lstm(map[int]any{0: u8(1.0/64, 128, 2, 3)}, next, y)},
		{"zero point of the input", lstm(map[int]any{0: u8(1.0/128, 0, 2, 3)}, next, y)},
		{"scale of one gate's weights", lstm(map[int]any{3: u8(0.25, 7, 4, 3)}, next, y)},
		{"zero point of one gate's weights", lstm(map[int]any{8: u8(0.5, 8, 4, 4)}, next, y)},
		{"scale of a bias", lstm(map[int]any{9: tensor(nn.TensorInt32, 0.5, 0, 4)}, next, y)},
		{"scale of the cell state", lstm(map[int]any{13: tensor(nn.TensorQuant16Symm, 1.0/1024, 0, 2, 4)}, next, y)},
		{"scale of the new cell state", lstm(nil, tensor(nn.TensorQuant16Symm, 1.0/1024, 0), y)},
		{"zero point of the result", lstm(nil, next, u8(1.0/128, 127))},
		{"8-bit cell state", lstm(map[int]any{13: value(2, 4)}, next, y)},
		{"float bias", lstm(map[int]any{9: f32(4)}, next, y)},
		{"input size", lstm(map[int]any{1: u8(0.5, 7, 4, 5)}, next, y)},
		{"units", lstm(map[int]any{12: tensor(nn.TensorInt32, 0.5/128, 0, 5)}, next, y)},
		{"batch", lstm(map[int]any{14: value(3, 4)}, next, y)},
		{"rank", lstm(map[int]any{0: value(2, 3, 1)}, next, y)},
	})
}
