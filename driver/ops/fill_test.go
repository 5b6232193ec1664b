package ops_test

import (
	"math"
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

func TestFill(t *testing.T) {
	open := nn.Operand{Type: nn.Float32, Lifetime: nn.SubgraphInput}
	runInfer(t, []inferCase{
		{name: "floats", call: call(nn.OpFill, f32(), []int32{2, 3}, float32(1.5)), want: nn.Dims{2, 3}, attrs: ops.Fill{Bits: 0x3fc00000}},
		{name: "infinite", call: call(nn.OpFill, f32(), []int32{1}, float32(math.Inf(-1))), want: nn.Dims{1}, attrs: ops.Fill{Bits: 0xff800000}},
		{name: "halves", call: call(nn.OpFill, f16(), []int32{7}, half(0xc000)), want: nn.Dims{7}, attrs: ops.Fill{Bits: 0xc000}},
		{name: "integers", call: call(nn.OpFill, i32(), []int32{1, 2, 3, 4, 5}, -2), want: nn.Dims{1, 2, 3, 4, 5}, attrs: ops.Fill{Bits: 0xfffffffe}},
		{name: "at run time, stated", call: call(nn.OpFill, f32(2, 3), runtimeParam(2), float32(0)), want: nn.Dims{2, 3}, attrs: ops.Fill{}},
		{name: "of open rank, stated", call: call(nn.OpFill, i32(2, 3), runtimeParam(0), 9), want: nn.Dims{2, 3}, attrs: ops.Fill{Bits: 9}},
		{name: "at run time", call: call(nn.OpFill, f32(), runtimeParam(2), float32(0)), err: ops.ErrNotConstant},
		{name: "value at run time", call: call(nn.OpFill, f32(2, 3), []int32{2, 3}, open), err: ops.ErrNotConstant},
	})
	runBad(t, []badCase{
		{"size 0", call(nn.OpFill, f32(), []int32{2, 0}, float32(1))},
		{"size -1", call(nn.OpFill, f32(), []int32{-1}, float32(1))},
		{"rank 9", call(nn.OpFill, f32(), []int32{1, 1, 1, 1, 1, 1, 1, 1, 1}, float32(1))},
		{"16 GiB", call(nn.OpFill, f32(), []int32{1 << 16, 1 << 16}, float32(1))},
		{"value of another type", call(nn.OpFill, f32(), []int32{2}, 1)},
		{"halves for floats", call(nn.OpFill, f32(), []int32{2}, half(1))},
		{"bytes", call(nn.OpFill, u8(), []int32{2}, 1)},
		{"no value", call(nn.OpFill, f32(), []int32{2})},
		{"float shape", call(nn.OpFill, f32(), f32(2), float32(1))},
		{"another rank than the output", call(nn.OpFill, f32(2, 3), runtimeParam(3), float32(1))},
	})
	row := ops.Lookup(nn.OpFill)
	if !row.RunTime(0) || row.RunTime(1) {
		t.Error("the shape may be known only at run time, and the value may not")
	}
	if reshape := ops.Lookup(nn.OpReshape); reshape.RunTime(0) || !reshape.RunTime(1) {
		t.Error("of RESHAPE, it is the second input")
	}
}
