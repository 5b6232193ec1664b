package ops_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

func TestReductions(t *testing.T) {
	for _, op := range []nn.OperationType{nn.OpReduceMax, nn.OpReduceMin, nn.OpReduceProd, nn.OpReduceSum, nn.OpReduceAll, nn.OpReduceAny} {
		typ, other := f16, i32
		if op == nn.OpReduceAll || op == nn.OpReduceAny {
			typ, other = b8, f32
		}
		x := typ(2, 3, 5, 7)
		runInfer(t, []inferCase{
			{name: "image", call: call(op, typ(), x, []int32{2, 1}, false), want: nn.Dims{2, 7}, attrs: ops.Mean{Axes: []int{1, 2}}, data: []int{0}},
			{name: "kept, named twice", call: call(op, typ(), x, []int32{-1, 3, 0}, true), want: nn.Dims{1, 3, 5, 1}, attrs: ops.Mean{Axes: []int{0, 3}}},
			{name: "all", call: call(op, typ(), typ(3, 5), []int32{0, 1}, false), want: nn.Dims{1}, attrs: ops.Mean{Axes: []int{0, 1}}},
			{name: "axes of the request", call: call(op, typ(), x, runtimeParam(2), false), err: ops.ErrNotConstant},
			{name: "keep dims of the request", call: call(op, typ(), x, []int32{1}, nn.Operand{Type: nn.Bool, Lifetime: nn.SubgraphInput}), err: ops.ErrNotConstant},
		})
		runBad(t, []badCase{
			{"axis", call(op, typ(), x, []int32{4}, false)},
			{"negative axis", call(op, typ(), x, []int32{-5}, false)},
			{"keep dims a number", call(op, typ(), x, []int32{1}, 0)},
			{"no keep dims", call(op, typ(), x, []int32{1})},
			{"rank 5", call(op, typ(), typ(1, 1, 1, 1, 1), []int32{1}, false)},
			{"type", call(op, other(), other(2, 3), []int32{1}, false)},
			{"type of the result", call(op, other(), x, []int32{1}, false)},
		})
	}
	for _, op := range []nn.OperationType{nn.OpReduceMax, nn.OpReduceMin} {
		runBad(t, []badCase{{"another scale", call(op, scaled(u8(), 1, 3), u8(2, 3), []int32{1}, false)}})
	}
	for _, op := range []nn.OperationType{nn.OpReduceProd, nn.OpReduceSum} {
		runBad(t, []badCase{{"bytes", call(op, u8(), u8(2, 3), []int32{1}, false)}})
	}
}

func TestArg(t *testing.T) {
	for _, op := range []nn.OperationType{nn.OpArgmax, nn.OpArgmin} {
		runInfer(t, []inferCase{
			{name: "last", call: call(op, i32(), s8(2, 3, 5), -1), want: nn.Dims{2, 3}, attrs: ops.Arg{Axis: 2}, data: []int{0}},
			{name: "first", call: call(op, i32(), i32(2, 3, 5, 7, 9), 0), want: nn.Dims{3, 5, 7, 9}, attrs: ops.Arg{}},
			{name: "of a vector", call: call(op, i32(), f16(5), 0), want: nn.Dims{1}, attrs: ops.Arg{}},
			{name: "axis of the request", call: call(op, i32(), f16(5), nn.Operand{Type: nn.Int32, Lifetime: nn.SubgraphInput}), err: ops.ErrNotConstant},
		})
		runBad(t, []badCase{
			{"axis", call(op, i32(), f32(2, 3), 2)},
			{"negative axis", call(op, i32(), f32(2, 3), -3)},
			{"no axis", call(op, i32(), f32(2, 3))},
			{"booleans", call(op, i32(), b8(2, 3), 0)},
			{"float result", call(op, f32(), f32(2, 3), 0)},
		})
	}
}
