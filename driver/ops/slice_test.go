package ops_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

func TestSlice(t *testing.T) {
	x := f32(4, 5, 6)
	runInfer(t, []inferCase{
		{name: "middle", call: call(nn.OpSlice, f32(), x, []int32{1, 0, 2}, []int32{2, 5, 3}), want: nn.Dims{2, 5, 3},
			attrs: ops.Slice{Begin: []int{1, 0, 2}, Size: []int{2, 5, 3}}, data: []int{0}},
		{name: "to the end", call: call(nn.OpSlice, f32(), x, []int32{3, 0, 2}, []int32{-1, -1, -1}), want: nn.Dims{1, 5, 4},
			attrs: ops.Slice{Begin: []int{3, 0, 2}, Size: []int{1, 5, 4}}},
		{name: "begin at run time", call: call(nn.OpSlice, f32(2, 5, 3), x, runtimeParam(3), []int32{2, 5, 3}), err: ops.ErrNotConstant},
		{name: "size at run time", call: call(nn.OpSlice, f32(2, 5, 3), x, []int32{0, 0, 0}, runtimeParam(3)), err: ops.ErrNotConstant},
		{name: "open", call: call(nn.OpSlice, f32(), f32(0, 3), []int32{0, 0}, []int32{1, 1}), err: ops.ErrOpenShape},
	})
	runBad(t, []badCase{
		{"begin of another rank", call(nn.OpSlice, f32(), x, []int32{0, 0}, []int32{1, 1, 1})},
		{"size of another rank", call(nn.OpSlice, f32(), x, []int32{0, 0, 0}, []int32{1, 1, 1, 1})},
		{"negative begin", call(nn.OpSlice, f32(), x, []int32{-1, 0, 0}, []int32{1, 1, 1})},
		{"size -2", call(nn.OpSlice, f32(), x, []int32{0, 0, 0}, []int32{-2, 1, 1})},
		{"nothing", call(nn.OpSlice, f32(), x, []int32{0, 0, 0}, []int32{1, 0, 1})},
		{"nothing to the end", call(nn.OpSlice, f32(), x, []int32{4, 0, 0}, []int32{-1, 1, 1})},
		{"beyond the end", call(nn.OpSlice, f32(), x, []int32{0, 0, 4}, []int32{1, 1, 3})},
		{"far beyond the end", call(nn.OpSlice, f32(), x, []int32{0x7fffffff, 0, 0}, []int32{0x7fffffff, 1, 1})},
		{"scale", call(nn.OpSlice, scaled(u8(), 3, 3), u8(3), []int32{0}, []int32{1})},
		{"booleans", call(nn.OpSlice, b8(), b8(3), []int32{0}, []int32{1})},
		{"float begin", call(nn.OpSlice, f32(), x, f32(3), []int32{1, 1, 1})},
		{"no size", call(nn.OpSlice, f32(), x, []int32{0, 0, 0})},
	})
}

func TestLogical(t *testing.T) {
	for _, op := range []nn.OperationType{nn.OpLogicalAnd, nn.OpLogicalOr} {
		runInfer(t, []inferCase{{name: op.String(), call: call(op, b8(), b8(7, 1, 3), b8(5, 1)), want: nn.Dims{7, 5, 3}, data: []int{0, 1}}})
		runBad(t, []badCase{
			{op.String() + " of bytes", call(op, b8(), u8(3), u8(3))},
			{op.String() + " of one", call(op, b8(), b8(3))},
			{op.String() + " of other shapes", call(op, b8(), b8(3), b8(2))},
		})
	}
	runInfer(t, []inferCase{{name: "not", call: call(nn.OpLogicalNot, b8(), b8(7, 3)), want: nn.Dims{7, 3}, data: []int{0}}})
	runBad(t, []badCase{{"not of integers", call(nn.OpLogicalNot, b8(), i32(3))}, {"not of two", call(nn.OpLogicalNot, b8(), b8(3), b8(3))}})
}
