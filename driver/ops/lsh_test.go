package ops_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

func TestLSHProjection(t *testing.T) {
	project := func(hash, x, weights nn.Operand, typ any) *ops.Call {
		return call(nn.OpLshProjection, i32(), hash, x, weights, typ)
	}
	none := omitted(nn.TensorFloat32)
	runInfer(t, []inferCase{
		{name: "without offsets", call: project(f32(4, 2), i32(3, 2), none, 1), want: nn.Dims{4}, attrs: ops.LSH{Type: ops.LSHPacked}, data: []int{0, 1, 2}},
		{name: "dense, weighted", call: project(f16(4, 2), u8(3), f16(3), 2), want: nn.Dims{8}, attrs: ops.LSH{Type: ops.LSHDense}},
		{name: "sparse", call: project(f32(4, 2), f16(3, 2, 5), f32(3), 3), want: nn.Dims{4}, attrs: ops.LSH{Type: ops.LSHSparse}},
		{name: "all bits", call: project(f32(1, 32), f32(3), none, 3), want: nn.Dims{1}, attrs: ops.LSH{Type: ops.LSHSparse}},
		{name: "all bits of many", call: project(f32(1024, 22), f32(3), none, 3), want: nn.Dims{1024}, attrs: ops.LSH{Type: ops.LSHSparse}},
		{name: "type of the request", call: project(f32(4, 2), i32(3, 2), none, nn.Operand{Type: nn.Int32, Lifetime: nn.SubgraphInput}), err: ops.ErrNotConstant},
		{name: "open input", call: project(f32(4, 2), i32(0, 2), none, 2), err: ops.ErrOpenShape},
	})
	runBad(t, []badCase{
		{"type 0", project(f32(4, 2), i32(3, 2), none, 0)},
		{"type 4", project(f32(4, 2), i32(3, 2), none, 4)},
		{"hash of rank 1", project(f32(4), i32(3, 2), none, 2)},
		{"hash of integers", project(i32(4, 2), i32(3, 2), none, 2)},
		{"signed bytes", project(f32(4, 2), s8(3, 2), none, 2)},
		{"weights of other rows", project(f32(4, 2), i32(3, 2), f32(4), 2)},
		{"weights of rank 2", project(f32(4, 2), i32(3, 2), f32(3, 1), 2)},
		{"weights of another type", project(f32(4, 2), i32(3, 2), f16(3), 2)},
		{"no weights of another type", project(f32(4, 2), i32(3, 2), omitted(nn.TensorFloat16), 2)},
		{"33 bits", project(f32(1, 33), i32(3, 2), none, 1)},
		{"numbers beyond 32 bits", project(f32(1025, 22), i32(3, 2), none, 3)},
		{"float result", call(nn.OpLshProjection, f32(), f32(4, 2), i32(3, 2), none, 2)},
		{"no type", call(nn.OpLshProjection, i32(), f32(4, 2), i32(3, 2), none)},
	})
}
