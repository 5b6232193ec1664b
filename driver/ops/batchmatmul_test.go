package ops_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

func TestBatchMatmul(t *testing.T) {
	const op = nn.OpBatchMatmul
	runInfer(t, []inferCase{
		{name: "a matrix", call: call(op, f32(), f32(3, 4), f32(4, 5), false, false), want: nn.Dims{3, 5}, attrs: ops.BatchMatmul{}, data: []int{0, 1}},
		{name: "left swapped", call: call(op, f32(), f32(2, 4, 3), f32(2, 4, 5), true, false), want: nn.Dims{2, 3, 5}, attrs: ops.BatchMatmul{Left: true}},
		{name: "right swapped", call: call(op, i32(), i32(2, 6, 3, 4), i32(2, 6, 5, 4), false, true), want: nn.Dims{2, 6, 3, 5}, attrs: ops.BatchMatmul{Right: true}},
		{name: "both", call: call(op, f32(), f32(4, 3), f32(5, 4), true, true), want: nn.Dims{3, 5}, attrs: ops.BatchMatmul{Left: true, Right: true}},
		{name: "flag of the request", call: call(op, f32(), f32(4, 3), f32(5, 4), true, nn.Operand{Type: nn.Bool, Lifetime: nn.SubgraphInput}), err: ops.ErrNotConstant},
	})
	runBad(t, []badCase{
		{"vectors", call(op, f32(), f32(4), f32(4), false, false)},
		{"rank 5", call(op, f32(), f32(1, 1, 1, 3, 4), f32(1, 1, 1, 4, 5), false, false)},
		{"two ranks", call(op, f32(), f32(1, 3, 4), f32(4, 5), false, false)},
		{"two batches", call(op, f32(), f32(2, 3, 4), f32(1, 4, 5), false, false)},
		{"depths", call(op, f32(), f32(3, 4), f32(4, 5), true, false)},
		{"unsigned bytes", call(op, u8(), u8(3, 4), u8(4, 5), false, false)},
		{"two types", call(op, f32(), f32(3, 4), i32(4, 5), false, false)},
		{"three inputs", call(op, f32(), f32(3, 4), f32(4, 5), false)},
	})
}
