package ops_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// TestRuntimeParams: paddings, permutations and axes that are known only at run time.
func TestRuntimeParams(t *testing.T) {
	both := []int{0, 1}
	open := nn.Operand{Type: nn.Int32, Lifetime: nn.SubgraphInput}
	cases := []struct {
		inferCase
		dims nn.Dims
	}{
		{inferCase{name: "pad", call: call(nn.OpPad, f32(3, 8), f32(3, 5), runtimeParam(2, 2)), want: nn.Dims{3, 8}}, nn.Dims{2, 2}},
		{inferCase{name: "pad, zero point", call: call(nn.OpPad, u8(9), u8(5), runtimeParam(1, 2)), want: nn.Dims{9}, attrs: ops.Padding{Value: 3}}, nn.Dims{1, 2}},
		{inferCase{name: "pad, open paddings", call: call(nn.OpPad, f32(3, 8), f32(3, 5), runtimeParam(0, 2)), want: nn.Dims{3, 8}}, nn.Dims{2, 2}},
		{inferCase{name: "value", call: call(nn.OpPadV2, f16(9), f16(5), runtimeParam(1, 2), half(0xc000)), want: nn.Dims{9}, attrs: ops.Padding{Value: -2}}, nn.Dims{1, 2}},
		{inferCase{name: "reflect", call: call(nn.OpMirrorPad, f32(7), f32(3), runtimeParam(1, 2), 0), want: nn.Dims{7}}, nn.Dims{1, 2}},
		{inferCase{name: "symmetric", call: call(nn.OpMirrorPad, f32(9), f32(3), runtimeParam(1, 2), 1), want: nn.Dims{9}, attrs: ops.MirrorPadding{Symmetric: true}}, nn.Dims{1, 2}},
		{inferCase{name: "transpose", call: call(nn.OpTranspose, f32(5, 2, 5), f32(2, 5, 5), runtimeParam(3)), want: nn.Dims{5, 2, 5}}, nn.Dims{3}},
		{inferCase{name: "transpose, of open length", call: call(nn.OpTranspose, f32(5, 2), f32(2, 5), runtimeParam(0)), want: nn.Dims{5, 2}}, nn.Dims{2}},
		{inferCase{name: "mean", call: call(nn.OpMean, f32(2, 7), f32(2, 3, 5, 7), runtimeParam(2), 0), want: nn.Dims{2, 7}}, nn.Dims{2}},
		{inferCase{name: "mean, kept", call: call(nn.OpMean, f32(2, 1, 5), f32(2, 3, 5), runtimeParam(9), 1), want: nn.Dims{2, 1, 5}}, nn.Dims{9}},
		{inferCase{name: "mean of all", call: call(nn.OpMean, u8(1), u8(3, 5), runtimeParam(2), 0), want: nn.Dims{1}}, nn.Dims{2}},
	}
	var infer []inferCase
	for _, tc := range cases {
		tc.data = both
		infer = append(infer, tc.inferCase)
	}
	runInfer(t, infer)
	for _, tc := range cases {
		inf, err := ops.Lookup(tc.call.Op.Type).Infer(tc.call)
		if err != nil || inf.RuntimeParam != 1 || !inf.RuntimeDims.Equal(tc.dims) {
			t.Errorf("%s: %+v, %v", tc.name, inf, err)
		}
	}
	runInfer(t, []inferCase{
		{name: "output partly open", call: call(nn.OpPad, f32(3, 0), f32(3, 5), runtimeParam(2, 2)), err: ops.ErrNotConstant},
		{name: "value too", call: call(nn.OpPadV2, u8(9), u8(5), runtimeParam(1, 2), open), err: ops.ErrNotConstant},
		{name: "value only", call: call(nn.OpPadV2, u8(9), u8(5), [][2]int32{{2, 2}}, open), err: ops.ErrNotConstant},
		{name: "mode too", call: call(nn.OpMirrorPad, u8(9), u8(5), runtimeParam(1, 2), open), err: ops.ErrNotConstant},
		{name: "keep dims too", call: call(nn.OpMean, f32(2), f32(2, 3), runtimeParam(1), open), err: ops.ErrNotConstant},
		{name: "number of axes", call: call(nn.OpMean, f32(2), f32(2, 3), runtimeParam(0), 0), err: ops.ErrOpenShape},
	})
	runBad(t, []badCase{
		{"smaller", call(nn.OpPad, f32(3, 4), f32(3, 5), runtimeParam(2, 2))},
		{"another rank", call(nn.OpPad, f32(3, 5, 1), f32(3, 5), runtimeParam(2, 2))},
		{"paddings of another rank", call(nn.OpPad, f32(3, 8), f32(3, 5), runtimeParam(3, 2))},
		{"reflect too far", call(nn.OpMirrorPad, f32(8), f32(3), runtimeParam(1, 2), 0)},
		{"symmetric too far", call(nn.OpMirrorPad, f32(10), f32(3), runtimeParam(1, 2), 1)},
		{"runtime paddings, mode", call(nn.OpMirrorPad, f32(5), f32(3), runtimeParam(1, 2), 2)},
		{"runtime paddings, value", call(nn.OpPadV2, u8(9), u8(5), runtimeParam(1, 2), 256)},
		{"no permutation", call(nn.OpTranspose, f32(5, 3), f32(2, 5), runtimeParam(2))},
		{"short permutation", call(nn.OpTranspose, f32(5, 2), f32(2, 5), runtimeParam(1))},
		{"no set of axes", call(nn.OpMean, f32(3, 2), f32(2, 3), runtimeParam(1), 0)},
		{"axes kept and gone", call(nn.OpMean, f32(1, 2), f32(2, 3), runtimeParam(1), 0)},
		{"too many axes", call(nn.OpMean, f32(2), f32(2, 3), runtimeParam(1<<11), 0)},
	})
}
