package ops_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

func TestMultinomial(t *testing.T) {
	draw := func(out, logits nn.Operand, samples any, seeds nn.Operand) *ops.Call {
		return call(nn.OpRandomMultinomial, out, logits, samples, seeds)
	}
	runInfer(t, []inferCase{
		{name: "floats", call: draw(i32(), f32(3, 7), 11, i32(2)), want: nn.Dims{3, 11}, attrs: ops.Multinomial{Samples: 11}, data: []int{0, 2}},
		{name: "half floats", call: draw(i32(), f16(1, 1), 1, i32(2)), want: nn.Dims{1, 1}, attrs: ops.Multinomial{Samples: 1}},
		{name: "samples of the request", call: draw(i32(), f32(3, 7), nn.Operand{Type: nn.Int32, Lifetime: nn.SubgraphInput}, i32(2)), err: ops.ErrNotConstant},
		{name: "open batch", call: draw(i32(), f32(0, 7), 11, i32(2)), err: ops.ErrOpenShape},
	})
	runBad(t, []badCase{
		{"no samples", draw(i32(), f32(3, 7), 0, i32(2))},
		{"fewer than none", draw(i32(), f32(3, 7), -1, i32(2))},
		{"float samples", draw(i32(), f32(3, 7), float32(3), i32(2))},
		{"one seed", draw(i32(), f32(3, 7), 11, i32(1))},
		{"seeds of rank 2", draw(i32(), f32(3, 7), 11, i32(2, 1))},
		{"float seeds", draw(i32(), f32(3, 7), 11, f32(2))},
		{"logits of rank 1", draw(i32(), f32(7), 11, i32(2))},
		{"logits of bytes", draw(i32(), u8(3, 7), 11, i32(2))},
		{"float result", draw(f32(), f32(3, 7), 11, i32(2))},
		{"no seeds", call(nn.OpRandomMultinomial, i32(), f32(3, 7), 11)},
	})
}
