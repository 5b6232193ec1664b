package ops_test

import (
	"math"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

func TestL2Normalization(t *testing.T) {
	unit := func(o nn.Operand) nn.Operand {
		if o.Type == nn.TensorQuant8Asymm {
			return scaled(o, 1.0/128, 128)
		}
		return scaled(o, 1.0/128, 0)
	}
	runInfer(t, []inferCase{
		{name: "the last axis", call: call(nn.OpL2Normalization, f32(), f32(2, 3, 5)), want: nn.Dims{2, 3, 5}, attrs: ops.L2Normalization{Axis: 2}, data: []int{0}},
		{name: "from the end", call: call(nn.OpL2Normalization, unit(u8()), u8(2, 3, 5), -3), want: nn.Dims{2, 3, 5}, attrs: ops.L2Normalization{}},
		{name: "signed", call: call(nn.OpL2Normalization, unit(s8()), s8(7), 0), want: nn.Dims{7}, attrs: ops.L2Normalization{}},
		{name: "axis of the request", call: call(nn.OpL2Normalization, f32(3), f32(3), nn.Operand{Type: nn.Int32, Lifetime: nn.SubgraphInput}), err: ops.ErrNotConstant},
		{name: "open", call: call(nn.OpL2Normalization, f32(), f32(0, 3)), err: ops.ErrOpenShape},
	})
	runBad(t, []badCase{
		{"axis", call(nn.OpL2Normalization, f32(), f32(2, 3), 2)},
		{"axis before the first", call(nn.OpL2Normalization, f32(), f32(2, 3), -3)},
		{"float axis", call(nn.OpL2Normalization, f32(), f32(2, 3), float32(1))},
		{"rank 5", call(nn.OpL2Normalization, f32(), f32(1, 1, 1, 2, 3))},
		{"scale", call(nn.OpL2Normalization, scaled(u8(), 1.0/256, 128), u8(3))},
		{"zero point", call(nn.OpL2Normalization, scaled(s8(), 1.0/128, 128), s8(3))},
		{"integers", call(nn.OpL2Normalization, i32(), i32(3))},
	})
	if since := ops.Lookup(nn.OpL2Normalization).SinceType(nn.TensorQuant8Asymm); since != 3 {
		t.Errorf("8 bits since %v", since)
	}
}

func TestLocalResponse(t *testing.T) {
	one := float32(1)
	runInfer(t, []inferCase{
		{name: "the last axis", call: call(nn.OpLocalResponseNormalization, f32(), f32(2, 3, 5), 2, one, float32(0.5), float32(0.75)), want: nn.Dims{2, 3, 5},
			attrs: ops.LocalResponse{Radius: 2, Bias: 1, Alpha: 0.5, Beta: 0.75, Axis: 2}, data: []int{0}},
		{name: "halves, the first axis, no bias", call: call(nn.OpLocalResponseNormalization, f16(), f16(2, 3), 0, half(0), half(0x3800), half(0xbc00), -2), want: nn.Dims{2, 3},
			attrs: ops.LocalResponse{Alpha: 0.5, Beta: -1}},
	})
	x := f32(2, 3)
	runBad(t, []badCase{
		{"radius", call(nn.OpLocalResponseNormalization, f32(), x, -1, one, one, one)},
		{"axis", call(nn.OpLocalResponseNormalization, f32(), x, 1, one, one, one, 2)},
		{"no beta", call(nn.OpLocalResponseNormalization, f32(), x, 1, one, one)},
		{"halves for floats", call(nn.OpLocalResponseNormalization, f32(), x, 1, one, half(1), one)},
		{"floats for halves", call(nn.OpLocalResponseNormalization, f16(), f16(2, 3), 1, half(1), half(1), one)},
		{"infinite", call(nn.OpLocalResponseNormalization, f32(), x, 1, one, float32(math.Inf(1)), one)},
		{"bytes", call(nn.OpLocalResponseNormalization, u8(), u8(3), 1, one, one, one)},
		{"rank 5", call(nn.OpLocalResponseNormalization, f32(), f32(1, 1, 1, 2, 3), 1, one, one, one)},
	})
}

func TestInstanceNormalization(t *testing.T) {
	one := float32(1)
	runInfer(t, []inferCase{
		{name: "NHWC", call: call(nn.OpInstanceNormalization, f32(), f32(2, 3, 5, 7), one, float32(2), float32(0.5), false), want: nn.Dims{2, 3, 5, 7},
			attrs: ops.InstanceNormalization{Gamma: 1, Beta: 2, Epsilon: 0.5}, data: []int{0}},
		{name: "NCHW", call: call(nn.OpInstanceNormalization, f16(), f16(2, 3, 5, 7), half(0x3c00), half(0), half(0x3800), true), want: nn.Dims{2, 3, 5, 7},
			attrs: ops.InstanceNormalization{Gamma: 1, Epsilon: 0.5, NCHW: true}},
	})
	x := f32(2, 3, 5, 7)
	runBad(t, []badCase{
		{"no layout", call(nn.OpInstanceNormalization, f32(), x, one, one, one)},
		{"rank 3", call(nn.OpInstanceNormalization, f32(), f32(2, 3, 5), one, one, one, false)},
		{"halves for floats", call(nn.OpInstanceNormalization, f32(), x, one, half(1), one, false)},
		{"not a number", call(nn.OpInstanceNormalization, f32(), x, float32(math.NaN()), one, one, false)},
		{"bytes", call(nn.OpInstanceNormalization, u8(), u8(2, 3, 5, 7), one, one, one, false)},
	})
}
