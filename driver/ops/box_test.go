package ops_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// q16 are boxes of 16 bits.
func q16(d ...uint32) nn.Operand {
	return nn.Operand{Type: nn.TensorQuant16Asymm, Dims: d, Scale: ops.BoxScale}
}

func TestRegions(t *testing.T) {
	roi := ops.Roi{Size: [2]int{2, 3}, Ratio: [2]float32{0.5, 4}}
	nchw := roi
	nchw.NCHW = true
	runInfer(t, []inferCase{
		{name: "align", call: call(nn.OpRoiAlign, f32(), f32(2, 7, 9, 5), f32(11, 4), i32(11), 2, 3, float32(0.5), float32(4), 0, 6, false),
			want: nn.Dims{11, 2, 3, 5}, attrs: ops.RoiAlign{Roi: roi, Samples: [2]int{0, 6}}, data: []int{0, 1, 2}},
		{name: "align, NCHW, of other scale", call: call(nn.OpRoiAlign, scaled(u8(), 3, 3), u8(2, 5, 7, 9), q16(11, 4), i32(11), 2, 3, float32(0.5), float32(4), 0, 6, true),
			want: nn.Dims{11, 5, 2, 3}, attrs: ops.RoiAlign{Roi: nchw, Samples: [2]int{0, 6}}},
		{name: "pooling", call: call(nn.OpRoiPooling, f16(), f16(2, 7, 9, 5), f16(11, 4), i32(11), 2, 3, half(0x3800), half(0x4400), false),
			want: nn.Dims{11, 2, 3, 5}, attrs: ops.RoiPooling{Roi: roi}, data: []int{0, 1, 2}},
		{name: "size of the request", call: call(nn.OpRoiPooling, f32(), f32(2, 7, 9, 5), f32(11, 4), i32(11), 2,
			nn.Operand{Type: nn.Int32, Lifetime: nn.SubgraphInput}, float32(1), float32(1), false), err: ops.ErrNotConstant},
		{name: "open boxes", call: call(nn.OpRoiPooling, f32(), f32(2, 7, 9, 5), f32(0, 4), i32(11), 2, 2, float32(1), float32(1), false), err: ops.ErrOpenShape},
	})
	align := func(out nn.Operand, args ...any) *ops.Call {
		return call(nn.OpRoiAlign, out, append(args, 2, 3, float32(1), float32(1), 0, 0, false)...)
	}
	x := f32(2, 7, 9, 5)
	runBad(t, []badCase{
		{"boxes of three numbers", align(f32(), x, f32(11, 3), i32(11))},
		{"as many images as not boxes", align(f32(), x, f32(11, 4), i32(10))},
		{"boxes of other type", align(f32(), x, f16(11, 4), i32(11))},
		{"8-bit boxes", align(u8(), u8(2, 7, 9, 5), u8(11, 4), i32(11))},
		{"boxes of other scale", align(u8(), u8(2, 7, 9, 5), scaled(q16(11, 4), 0.25, 0), i32(11))},
		{"boxes of other zero point", align(u8(), u8(2, 7, 9, 5), scaled(q16(11, 4), 0.125, 1), i32(11))},
		{"rank 3", align(f32(), f32(7, 9, 5), f32(11, 4), i32(11))},
		{"integers", align(i32(), i32(2, 7, 9, 5), f32(11, 4), i32(11))},
		{"no height", call(nn.OpRoiAlign, f32(), x, f32(1, 4), i32(1), 0, 3, float32(1), float32(1), 0, 0, false)},
		{"ratio 0", call(nn.OpRoiAlign, f32(), x, f32(1, 4), i32(1), 2, 3, float32(0), float32(1), 0, 0, false)},
		{"fewer samples than none", call(nn.OpRoiAlign, f32(), x, f32(1, 4), i32(1), 2, 3, float32(1), float32(1), -1, 0, false)},
		{"no layout", call(nn.OpRoiAlign, f32(), x, f32(1, 4), i32(1), 2, 3, float32(1), float32(1), 0, 0)},
		{"maxima of other scale", call(nn.OpRoiPooling, scaled(u8(), 3, 3), u8(2, 7, 9, 5), q16(11, 4), i32(11), 2, 3, float32(1), float32(1), false)},
	})
}

func TestBoxes(t *testing.T) {
	runInfer(t, []inferCase{
		{name: "floats", call: call(nn.OpAxisAlignedBboxTransform, f32(), f32(3, 4), f32(3, 20), i32(3), f32(7, 2)), want: nn.Dims{3, 20}, data: []int{0, 1, 2, 3}},
		{name: "quantised", call: call(nn.OpAxisAlignedBboxTransform, q16(), q16(3, 4), s8(3, 4), i32(3), q16(7, 2)), want: nn.Dims{3, 4}},
	})
	transform := func(out, boxes, deltas, images, sizes nn.Operand) *ops.Call {
		return call(nn.OpAxisAlignedBboxTransform, out, boxes, deltas, images, sizes)
	}
	runBad(t, []badCase{
		{"boxes of three numbers", transform(f32(), f32(3, 3), f32(3, 4), i32(3), f32(1, 2))},
		{"deltas of five numbers", transform(f32(), f32(3, 4), f32(3, 5), i32(3), f32(1, 2))},
		{"deltas of other boxes", transform(f32(), f32(3, 4), f32(2, 4), i32(3), f32(1, 2))},
		{"images of other boxes", transform(f32(), f32(3, 4), f32(3, 4), i32(2), f32(1, 2))},
		{"sizes of three numbers", transform(f32(), f32(3, 4), f32(3, 4), i32(3), f32(1, 3))},
		{"float deltas of 16-bit boxes", transform(q16(), q16(3, 4), f32(3, 4), i32(3), q16(1, 2))},
		{"other scale", transform(scaled(q16(), 1, 0), q16(3, 4), u8(3, 4), i32(3), q16(1, 2))},
	})
	row := ops.Lookup(nn.OpHeatmapMaxKeypoint)
	keypoints := func(scores, places nn.Operand, args ...any) *ops.Call {
		c := call(nn.OpHeatmapMaxKeypoint, scores, args...)
		c.Graph.Operands = append(c.Graph.Operands, places)
		c.Op.Outputs = append(c.Op.Outputs, uint32(len(c.Graph.Operands)-1))
		return c
	}
	for _, c := range []*ops.Call{
		keypoints(f32(), f32(), f32(3, 8, 8, 5), f32(3, 4), false), keypoints(scaled(s8(), 3, 3), q16(), s8(3, 5, 8, 8), q16(3, 4), true),
	} {
		if err := row.Check(c); err != nil {
			t.Fatal(err)
		}
		inf, err := row.Infer(c)
		if err != nil || len(inf.Shapes) != 2 || !inf.Shapes[0].Equal(nn.Dims{3, 5}) || !inf.Shapes[1].Equal(nn.Dims{3, 5, 2}) {
			t.Errorf("%+v, %v", inf, err)
		}
	}
	runBad(t, []badCase{
		{"not square", keypoints(f32(), f32(), f32(3, 8, 7, 5), f32(3, 4), false)},
		{"of one element", keypoints(f32(), f32(), f32(3, 1, 1, 5), f32(3, 4), false)},
		{"boxes of others", keypoints(f32(), f32(), f32(3, 8, 8, 5), f32(2, 4), false)},
		{"places of other type", keypoints(f32(), f16(), f32(3, 8, 8, 5), f32(3, 4), false)},
		{"places of other scale", keypoints(u8(), scaled(q16(), 1, 0), u8(3, 8, 8, 5), q16(3, 4), false)},
		{"scores only", call(nn.OpHeatmapMaxKeypoint, f32(), f32(3, 8, 8, 5), f32(3, 4), false)},
	})
}
