package ops_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// runtimeParam is a TENSOR_INT32 that a request gives.
func runtimeParam(d ...uint32) nn.Operand {
	return nn.Operand{Type: nn.TensorInt32, Dims: d, Lifetime: nn.SubgraphInput}
}

func TestMean(t *testing.T) {
	x := f32(2, 3, 5, 7)
	runInfer(t, []inferCase{
		{name: "image", call: call(nn.OpMean, f32(), x, []int32{2, 1}, 0), want: nn.Dims{2, 7}, attrs: ops.Mean{Axes: []int{1, 2}}, data: []int{0}},
		{name: "kept, named twice", call: call(nn.OpMean, f32(), x, []int32{-1, 3, 0}, 1), want: nn.Dims{1, 3, 5, 1}, attrs: ops.Mean{Axes: []int{0, 3}}},
		{name: "all", call: call(nn.OpMean, f32(), f32(3, 5), []int32{0, 1}, 0), want: nn.Dims{1}, attrs: ops.Mean{Axes: []int{0, 1}}},
		{name: "run time", call: call(nn.OpMean, f32(), x, runtimeParam(2), 0), err: ops.ErrNotConstant},
	})
	runBad(t, []badCase{
		{"axis", call(nn.OpMean, f32(), x, []int32{4}, 0)},
		{"negative axis", call(nn.OpMean, f32(), x, []int32{-5}, 0)},
		{"axis, keep dims at run time", call(nn.OpMean, f32(), x, []int32{4}, nn.Operand{Type: nn.Int32, Lifetime: nn.SubgraphInput})},
	})
}

func TestReshapes(t *testing.T) {
	x := f32(1, 3, 1, 10)
	runInfer(t, []inferCase{
		{name: "reshape", call: call(nn.OpReshape, f32(), x, []int32{5, 6}), want: nn.Dims{5, 6}, data: []int{0}},
		{name: "one open", call: call(nn.OpReshape, f32(), x, []int32{5, -1, 2}), want: nn.Dims{5, 3, 2}},
		{name: "at run time, stated", call: call(nn.OpReshape, f32(2, 15), x, runtimeParam(2)), want: nn.Dims{2, 15}},
		{name: "at run time", call: call(nn.OpReshape, f32(), x, runtimeParam(2)), err: ops.ErrNotConstant},
		{name: "squeeze all", call: call(nn.OpSqueeze, f32(), x, omitted(nn.TensorInt32)), want: nn.Dims{3, 10}, data: []int{0}},
		{name: "squeeze one", call: call(nn.OpSqueeze, f32(), x, []int32{-2}), want: nn.Dims{1, 3, 10}},
		{name: "squeeze to nothing", call: call(nn.OpSqueeze, f32(), f32(1, 1), []int32{0, 1}), want: nn.Dims{1}},
		{name: "squeeze, stated", call: call(nn.OpSqueeze, f32(3, 1, 10), x, runtimeParam(1)), want: nn.Dims{3, 1, 10}},
		{name: "expand", call: call(nn.OpExpandDims, i32(), i32(3, 5), -1), want: nn.Dims{3, 5, 1}, attrs: ops.ExpandDims{Axis: 2}},
		{name: "expand first", call: call(nn.OpExpandDims, u8(), u8(3, 5), -3), want: nn.Dims{1, 3, 5}, attrs: ops.ExpandDims{Axis: 0}},
	})
	runBad(t, []badCase{
		{"elements", call(nn.OpReshape, f32(), x, []int32{5, 5})},
		{"no whole number", call(nn.OpReshape, f32(), x, []int32{7, -1})},
		{"two open", call(nn.OpReshape, f32(), x, []int32{-1, -1})},
		{"size 0", call(nn.OpReshape, f32(), x, []int32{0, 30})},
		{"size -2", call(nn.OpReshape, f32(), x, []int32{-2, 15})},
		{"product overflows", call(nn.OpReshape, f32(), x, []int32{1 << 30, 1 << 30, 1 << 30})},
		{"rank 9", call(nn.OpReshape, f32(), x, []int32{1, 1, 1, 1, 1, 1, 1, 1, 30})},
		{"stated otherwise", call(nn.OpReshape, f32(2, 16), x, runtimeParam(2))},
		{"shape omitted", call(nn.OpReshape, f32(), x, omitted(nn.TensorInt32))},
		{"squeeze of 3", call(nn.OpSqueeze, f32(), x, []int32{1})},
		{"squeeze axis", call(nn.OpSqueeze, f32(), x, []int32{4})},
		{"expand axis", call(nn.OpExpandDims, f32(), x, 5)},
	})
}

func TestTranspose(t *testing.T) {
	x := f32(2, 3, 5)
	runInfer(t, []inferCase{
		{name: "permuted", call: call(nn.OpTranspose, f32(), x, []int32{2, 0, 1}), want: nn.Dims{5, 2, 3}, attrs: ops.Transpose{Perm: []int{2, 0, 1}}, data: []int{0}},
		{name: "reversed", call: call(nn.OpTranspose, f32(), x, omitted(nn.TensorInt32)), want: nn.Dims{5, 3, 2}, attrs: ops.Transpose{Perm: []int{2, 1, 0}}},
		{name: "at run time", call: call(nn.OpTranspose, f32(), x, runtimeParam(3)), err: ops.ErrNotConstant},
	})
	runBad(t, []badCase{
		{"twice", call(nn.OpTranspose, f32(), x, []int32{0, 0, 1})},
		{"short", call(nn.OpTranspose, f32(), x, []int32{0, 1})},
		{"negative", call(nn.OpTranspose, f32(), x, []int32{0, 1, -1})},
	})
}

func TestConcatenation(t *testing.T) {
	runInfer(t, []inferCase{
		{name: "three", call: call(nn.OpConcatenation, f32(), f32(2, 3, 5), f32(2, 7, 5), f32(2, 1, 5), 1), want: nn.Dims{2, 11, 5}, attrs: ops.Concatenation{Axis: 1}, data: []int{0, 1, 2}},
		{name: "one, negative axis", call: call(nn.OpConcatenation, f32(), f32(2, 3), -1), want: nn.Dims{2, 3}, attrs: ops.Concatenation{Axis: 1}},
		{name: "scales differ", call: call(nn.OpConcatenation, u8(), u8(3), scaled(u8(5), 0.1, 9), 0), want: nn.Dims{8}, attrs: ops.Concatenation{Axis: 0}},
	})
	runBad(t, []badCase{
		{"axis only", call(nn.OpConcatenation, f32(), 0)},
		{"sizes", call(nn.OpConcatenation, f32(), f32(2, 3), f32(3, 3), 1)},
		{"ranks", call(nn.OpConcatenation, f32(), f32(2, 3), f32(3), 0)},
		{"axis", call(nn.OpConcatenation, f32(), f32(2, 3), f32(2, 3), 2)},
		{"rank 5", call(nn.OpConcatenation, f32(), f32(1, 1, 1, 1, 2), f32(1, 1, 1, 1, 2), 4)},
		{"signedness", call(nn.OpConcatenation, u8(), u8(3), s8(3), 0)},
		{"sum too large", call(nn.OpConcatenation, u8(), u8(1<<31), u8(1<<31), 0)},
	})
}

func TestSplit(t *testing.T) {
	parts := func(n int, args ...any) *ops.Call {
		c := call(nn.OpSplit, args[0].(nn.Operand), args...)
		for range n - 1 {
			c.Graph.Operands = append(c.Graph.Operands, args[0].(nn.Operand))
			c.Op.Outputs = append(c.Op.Outputs, uint32(len(c.Graph.Operands)-1))
		}
		for _, y := range c.Op.Outputs {
			c.Graph.Operands[y].Dims = nil
		}
		return c
	}
	c := parts(3, u8(2, 6, 5), -2, 3)
	row := ops.Lookup(nn.OpSplit)
	if err := row.Check(c); err != nil {
		t.Fatal(err)
	}
	inf, err := row.Infer(c)
	if err != nil || len(inf.Shapes) != 3 || !inf.Shapes[2].Equal(nn.Dims{2, 2, 5}) || inf.Attrs != (ops.Split{Axis: 1}) {
		t.Errorf("%+v, %v", inf, err)
	}
	scale := parts(2, u8(4), 0, 2)
	scale.Graph.Operands[scale.Op.Outputs[1]].Scale = 3
	typ := parts(2, f32(4), 0, 2)
	typ.Graph.Operands[typ.Op.Outputs[1]].Type = nn.TensorFloat16
	runBad(t, []badCase{
		{"outputs", parts(2, f32(6), 0, 3)},
		{"size", parts(3, f32(4), 0, 3)},
		{"axis", parts(2, f32(4), 1, 2)},
		{"scale of the second", scale},
		{"type of the second", typ},
		{"no number", parts(2, f32(4), 0)},
	})
}

func TestPads(t *testing.T) {
	p := [][2]int32{{0, 0}, {1, 2}}
	pads := [][2]int{{0, 0}, {1, 2}}
	runInfer(t, []inferCase{
		{name: "float", call: call(nn.OpPad, f32(), f32(3, 5), p), want: nn.Dims{3, 8}, attrs: ops.Padding{Pads: pads}, data: []int{0}},
		{name: "zero point", call: call(nn.OpPad, u8(), u8(3, 5), p), want: nn.Dims{3, 8}, attrs: ops.Padding{Pads: pads, Value: 3}},
		{name: "value", call: call(nn.OpPadV2, f16(), f16(3, 5), p, half(0xc000)), want: nn.Dims{3, 8}, attrs: ops.Padding{Pads: pads, Value: -2}},
		{name: "stored value", call: call(nn.OpPadV2, s8(), s8(3, 5), p, -128), want: nn.Dims{3, 8}, attrs: ops.Padding{Pads: pads, Value: -128}},
		{name: "reflect", call: call(nn.OpMirrorPad, i32(), i32(1, 3), p, 0), want: nn.Dims{1, 6}, attrs: ops.MirrorPadding{Pads: pads}},
		{name: "symmetric", call: call(nn.OpMirrorPad, f32(), f32(1, 2), p, 1), want: nn.Dims{1, 5}, attrs: ops.MirrorPadding{Pads: pads, Symmetric: true}},
		{name: "at run time", call: call(nn.OpPad, f32(), f32(3, 5), runtimeParam(2, 2)), err: ops.ErrNotConstant},
	})
	runBad(t, []badCase{
		{"negative", call(nn.OpPad, f32(), f32(3, 5), [][2]int32{{0, 0}, {-1, 2}})},
		{"rank", call(nn.OpPad, f32(), f32(3, 5, 7), p)},
		{"not pairs", call(nn.OpPad, f32(), f32(3, 5), []int32{0, 0, 1, 2})},
		{"shape of run-time paddings", call(nn.OpPad, f32(), f32(3, 5), runtimeParam(2, 3))},
		{"value out of range", call(nn.OpPadV2, u8(), u8(3, 5), p, 256)},
		{"float value for 8-bit", call(nn.OpPadV2, u8(), u8(3, 5), p, float32(0))},
		{"reflect too far", call(nn.OpMirrorPad, f32(), f32(1, 2), p, 0)},
		{"symmetric too far", call(nn.OpMirrorPad, f32(), f32(1, 1), p, 1)},
		{"mode", call(nn.OpMirrorPad, f32(), f32(1, 5), p, 2)},
		{"scale", call(nn.OpPad, scaled(u8(), 1, 3), u8(3, 5), p)},
	})
}
