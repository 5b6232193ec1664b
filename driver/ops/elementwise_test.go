package ops_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

func TestBinary(t *testing.T) {
	runInfer(t, []inferCase{
		{name: "bias-like", call: call(nn.OpAdd, f32(), f32(2, 3, 5), f32(5), 1), want: nn.Dims{2, 3, 5}, attrs: ops.Arithmetic{Act: nn.ActRelu}, data: []int{0, 1}},
		{name: "both sides", call: call(nn.OpSub, u8(), u8(7, 1, 3), u8(1, 5, 1), 0), want: nn.Dims{7, 5, 3}},
		{name: "second larger", call: call(nn.OpMaximum, i32(), i32(3), i32(2, 1)), want: nn.Dims{2, 3}},
		{name: "output scale below the product", call: call(nn.OpMul, scaled(u8(), 0.01, 0), u8(3), u8(3), 0), want: nn.Dims{3}},
		{name: "rank 5", call: call(nn.OpMul, f32(), f32(1, 2, 3, 4, 5), f32(5), 0), want: nn.Dims{1, 2, 3, 4, 5}},
		{name: "prelu", call: call(nn.OpPrelu, u8(), u8(1, 3, 5, 7), scaled(u8(7), 0.25, 50)), want: nn.Dims{1, 3, 5, 7}},
		{name: "squared difference", call: call(nn.OpSquaredDifference, s8(), s8(2, 3), s8(3)), want: nn.Dims{2, 3}},
		{name: "open", call: call(nn.OpPow, f32(), f32(0, 3), f32(3)), err: ops.ErrOpenShape},
	})
	runBad(t, []badCase{
		{"shapes", call(nn.OpAdd, f32(), f32(2, 3), f32(2), 0)},
		{"types", call(nn.OpAdd, f32(), f32(2, 3), f16(3), 0)},
		{"signedness", call(nn.OpAdd, u8(), u8(3), s8(3), 0)},
		{"activation of integers", call(nn.OpMul, i32(), i32(3), i32(3), 1)},
		{"quantised division", call(nn.OpDiv, u8(), u8(3), u8(3), 0)},
		{"integer power", call(nn.OpPow, i32(), i32(3), i32(3))},
		{"no activation", call(nn.OpAdd, f32(), f32(3), f32(3))},
		{"squared difference with activation", call(nn.OpSquaredDifference, f32(), f32(3), f32(3), 0)},
		{"rank 9", call(nn.OpAdd, f32(), f32(1, 1, 1, 1, 1, 1, 1, 1, 2), f32(2), 0)},
		{"too large", call(nn.OpAdd, f32(), f32(1<<16, 1), f32(1, 1<<16), 0)},
	})
}

func TestComparison(t *testing.T) {
	for _, op := range []nn.OperationType{nn.OpEqual, nn.OpNotEqual, nn.OpLessEqual, nn.OpGreater, nn.OpGreaterEqual} {
		runInfer(t, []inferCase{{name: op.String(), call: call(op, b8(), u8(3, 5), scaled(u8(5), 7, 200)), want: nn.Dims{3, 5}}})
		runBad(t, []badCase{{op.String() + " of two types", call(op, b8(), f32(3), f16(3))}})
	}
	runInfer(t, []inferCase{
		{name: "both sides", call: call(nn.OpLess, b8(), f32(7, 1, 3), f32(5, 1)), want: nn.Dims{7, 5, 3}, data: []int{0, 1}},
		{name: "two scales", call: call(nn.OpLess, b8(), u8(3), scaled(u8(3), 7, 200)), want: nn.Dims{3}},
		{name: "booleans", call: call(nn.OpLess, b8(), b8(3), b8(2, 1)), want: nn.Dims{2, 3}},
		{name: "rank 5", call: call(nn.OpLess, b8(), i32(1, 2, 3, 4, 5), i32(5)), want: nn.Dims{1, 2, 3, 4, 5}},
		{name: "open", call: call(nn.OpLess, b8(), f16(0, 3), f16(3)), err: ops.ErrOpenShape},
	})
	runBad(t, []badCase{
		{"shapes", call(nn.OpLess, b8(), f32(2, 3), f32(2))},
		{"types", call(nn.OpLess, b8(), f32(2, 3), i32(3))},
		{"signedness", call(nn.OpLess, b8(), u8(3), s8(3))},
		{"result", call(nn.OpLess, f32(), f32(3), f32(3))},
		{"one input", call(nn.OpLess, b8(), f32(3))},
		{"activation", call(nn.OpLess, b8(), f32(3), f32(3), 0)},
	})
}

func TestUnary(t *testing.T) {
	runInfer(t, []inferCase{
		{name: "relu", call: call(nn.OpRelu6, s8(), s8(3, 5)), want: nn.Dims{3, 5}, data: []int{0}},
		{name: "tanh", call: call(nn.OpTanh, scaled(u8(), 1.0/128, 128), u8(7)), want: nn.Dims{7}},
		{name: "logistic", call: call(nn.OpLogistic, scaled(s8(), 1.0/256, -128), s8(7)), want: nn.Dims{7}},
		{name: "hard swish", call: call(nn.OpHardSwish, scaled(u8(), 0.1, 9), u8(7)), want: nn.Dims{7}},
		{name: "elu", call: call(nn.OpElu, f16(), f16(7), half(0x3e00)), want: nn.Dims{7}, attrs: ops.Elu{Alpha: 1.5}},
		{name: "cast", call: call(nn.OpCast, i32(), u8(7, 3)), want: nn.Dims{7, 3}},
		{name: "cast to itself", call: call(nn.OpCast, s8(), s8(7, 3)), want: nn.Dims{7, 3}},
		{name: "quantise", call: call(nn.OpQuantize, s8(), f16(7, 3)), want: nn.Dims{7, 3}},
		{name: "dequantise", call: call(nn.OpDequantize, f16(), channels(1, 7, 3)), want: nn.Dims{7, 3}},
	})
	runBad(t, []badCase{
		{"relu scale", call(nn.OpRelu, scaled(u8(), 0.25, 3), u8(7))},
		{"relu zero point", call(nn.OpRelu1, scaled(u8(), 0.5, 4), u8(7))},
		{"tanh scale", call(nn.OpTanh, scaled(u8(), 1.0/256, 128), u8(7))},
		{"logistic zero point", call(nn.OpLogistic, scaled(s8(), 1.0/256, 0), s8(7))},
		{"integer exp", call(nn.OpExp, i32(), i32(7))},
		{"elu scalar", call(nn.OpElu, f32(), f32(7), half(0x3e00))},
		{"cast signedness", call(nn.OpCast, s8(), u8(7))},
		{"quantise integers", call(nn.OpQuantize, u8(), i32(7))},
		{"dequantise to integers", call(nn.OpDequantize, i32(), u8(7))},
	})
}

func TestSoftmax(t *testing.T) {
	runInfer(t, []inferCase{
		{name: "default axis", call: call(nn.OpSoftmax, f32(), f32(2, 3, 5), float32(0.5)), want: nn.Dims{2, 3, 5}, attrs: ops.Softmax{Beta: 0.5, Axis: 2}},
		{name: "negative axis", call: call(nn.OpSoftmax, scaled(s8(), 1.0/256, -128), s8(2, 3, 5, 7), float32(1), -3), want: nn.Dims{2, 3, 5, 7}, attrs: ops.Softmax{Beta: 1, Axis: 1}},
		{name: "log", call: call(nn.OpLogSoftmax, f16(), f16(2, 3), half(0x3c00), 0), want: nn.Dims{2, 3}, attrs: ops.Softmax{Beta: 1, Axis: 0}},
	})
	runBad(t, []badCase{
		{"axis", call(nn.OpSoftmax, f32(), f32(2, 3), float32(1), 2)},
		{"beta", call(nn.OpSoftmax, f32(), f32(2, 3), float32(0))},
		{"negative beta", call(nn.OpSoftmax, f32(), f32(2, 3), float32(-1))},
		{"log beta", call(nn.OpLogSoftmax, f32(), f32(2, 3), float32(0), 1)},
		{"negative log beta", call(nn.OpLogSoftmax, f32(), f32(2, 3), float32(-1), 1)},
		{"half log beta", call(nn.OpLogSoftmax, f16(), f16(2, 3), half(0x8000), 0)},
		{"half beta of 8-bit", call(nn.OpSoftmax, scaled(u8(), 1.0/256, 0), u8(2, 3), half(0x3c00))},
		{"scale", call(nn.OpSoftmax, scaled(u8(), 1.0/128, 0), u8(2, 3), float32(1))},
		{"log without axis", call(nn.OpLogSoftmax, f32(), f32(2, 3), float32(1))},
		{"rank 5", call(nn.OpSoftmax, f32(), f32(1, 1, 1, 2, 3), float32(1))},
	})
}
