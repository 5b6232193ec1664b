package ops_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

var unit = [2]int{1, 1}

func TestConvolutions(t *testing.T) {
	same, valid := int(nn.PaddingSame), int(nn.PaddingValid)
	bias := func(n uint32) nn.Operand { return scaled(i32(n), 0.25, 0) }
	runInfer(t, []inferCase{
		{
			name: "same, stride 2, even input", call: call(nn.OpConv2D, f32(), f32(1, 8, 7, 3), f32(5, 3, 3, 3), f32(5), same, 2, 2, 1),
			want:  nn.Dims{1, 4, 4, 5},
			attrs: ops.Conv{Stride: [2]int{2, 2}, Dilation: unit, Act: nn.ActRelu, Pad: ops.Pad{Bottom: 1, Left: 1, Right: 1}},
			data:  []int{0, 1, 2},
		},
		{
			name: "explicit, width first", call: call(nn.OpConv2D, f32(), f32(2, 11, 13, 3), f32(5, 2, 3, 3), f32(5), 1, 2, 3, 4, 5, 6, 3),
			want:  nn.Dims{2, 3, 3, 5},
			attrs: ops.Conv{Stride: [2]int{6, 5}, Dilation: unit, Act: nn.ActRelu6, Pad: ops.Pad{Left: 1, Right: 2, Top: 3, Bottom: 4}},
		},
		{
			name: "10 inputs, implicit, dilated, NCHW", call: call(nn.OpConv2D, f16(), f16(1, 3, 9, 17), f16(2, 3, 3, 3), f16(2), same, 1, 1, 0, true, 3, 2),
			want:  nn.Dims{1, 2, 9, 17},
			attrs: ops.Conv{Stride: unit, Dilation: [2]int{2, 3}, NCHW: true, Pad: ops.Pad{Top: 2, Bottom: 2, Left: 3, Right: 3}},
		},
		{
			name: "13 inputs", call: call(nn.OpConv2D, f32(), f32(1, 9, 9, 1), f32(1, 3, 3, 1), f32(1), 0, 0, 0, 0, 1, 1, 0, false, 4, 4),
			want:  nn.Dims{1, 1, 1, 1},
			attrs: ops.Conv{Stride: unit, Dilation: [2]int{4, 4}},
		},
		{
			name: "per channel", call: call(nn.OpConv2D, scaled(s8(), 0.01, 7), s8(1, 5, 5, 3), channels(0, 7, 5, 5, 3), i32(7), valid, 1, 1, 0),
			want:  nn.Dims{1, 1, 1, 7},
			attrs: ops.Conv{Stride: unit, Dilation: unit},
		},
		{
			name: "depthwise, multiplier 2, same", call: call(nn.OpDepthwiseConv2D, u8(), u8(1, 7, 6, 3), u8(1, 3, 5, 6), bias(6), same, 2, 3, 2, 0),
			want:  nn.Dims{1, 3, 3, 6},
			attrs: ops.DepthwiseConv{Conv: ops.Conv{Stride: [2]int{3, 2}, Dilation: unit, Pad: ops.Pad{Top: 1, Bottom: 1, Left: 1, Right: 2}}, Multiplier: 2},
		},
		{
			name: "depthwise, 11 inputs, implicit", call: call(nn.OpDepthwiseConv2D, f32(), f32(1, 7, 7, 3), f32(1, 3, 3, 3), f32(3), valid, 1, 1, 1, 0, false, 2, 2),
			want:  nn.Dims{1, 3, 3, 3},
			attrs: ops.DepthwiseConv{Conv: ops.Conv{Stride: unit, Dilation: [2]int{2, 2}}, Multiplier: 1},
		},
		{
			name: "depthwise, 11 inputs, explicit", call: call(nn.OpDepthwiseConv2D, f32(), f32(1, 7, 7, 3), f32(1, 3, 3, 3), f32(3), 0, 1, 0, 1, 2, 2, 1, 0),
			want:  nn.Dims{1, 3, 3, 3},
			attrs: ops.DepthwiseConv{Conv: ops.Conv{Stride: [2]int{2, 2}, Dilation: unit, Pad: ops.Pad{Right: 1, Bottom: 1}}, Multiplier: 1},
		},
		{
			name: "grouped, explicit, NCHW", call: call(nn.OpGroupedConv2D, f32(), f32(1, 6, 9, 7), f32(9, 2, 3, 2), f32(9), 1, 2, 3, 4, 5, 6, 3, 3, true),
			want:  nn.Dims{1, 9, 3, 2},
			attrs: ops.GroupedConv{Conv: ops.Conv{Stride: [2]int{6, 5}, Dilation: unit, Act: nn.ActRelu6, NCHW: true, Pad: ops.Pad{Left: 1, Right: 2, Top: 3, Bottom: 4}}, Groups: 3},
			data:  []int{0, 1, 2},
		},
		{
			name: "grouped, same, per channel", call: call(nn.OpGroupedConv2D, scaled(s8(), 0.01, 7), s8(1, 5, 5, 6), channels(0, 4, 3, 3, 3), i32(4), same, 1, 2, 2, 0, false),
			want:  nn.Dims{1, 3, 5, 4},
			attrs: ops.GroupedConv{Conv: ops.Conv{Stride: [2]int{2, 1}, Dilation: unit, Pad: ops.Pad{Top: 1, Bottom: 1, Left: 1, Right: 1}}, Groups: 2},
		},
		{
			name: "transposed, explicit", call: call(nn.OpTransposeConv2D, u8(), u8(2, 3, 4, 5), u8(6, 3, 4, 5), bias(6), 1, 2, 1, 0, 3, 2, 1, false),
			want:  nn.Dims{2, 6, 10, 6},
			attrs: ops.TransposeConv{Stride: [2]int{2, 3}, Act: nn.ActRelu, Pad: ops.Pad{Top: 1, Left: 1}},
			data:  []int{0, 1, 2},
		},
		{
			name: "transposed, same, NCHW", call: call(nn.OpTransposeConv2D, f16(), f16(1, 5, 3, 4), f16(6, 3, 3, 5), f16(6), []int32{1, 6, 5, 8}, same, 2, 2, 0, true),
			want: nn.Dims{1, 6, 5, 8}, attrs: ops.TransposeConv{Stride: [2]int{2, 2}, NCHW: true, Pad: ops.Pad{Top: 1}},
		},
		{
			name: "transposed, valid, an output with room behind", call: call(nn.OpTransposeConv2D, f32(), f32(1, 2, 2, 5), f32(6, 2, 3, 5), f32(6), []int32{1, 6, 5, 6}, valid, 2, 3, 0, false),
			want: nn.Dims{1, 6, 5, 6}, attrs: ops.TransposeConv{Stride: [2]int{3, 2}},
		},
		{name: "open height", call: call(nn.OpConv2D, f32(), f32(1, 0, 7, 3), f32(5, 3, 3, 3), f32(5), same, 2, 2, 1), err: ops.ErrOpenShape},
		{name: "open rank", call: call(nn.OpConv2D, f32(), f32(), f32(5, 3, 3, 3), f32(5), same, 2, 2, 1), err: ops.ErrOpenShape},
		{
			name: "stride at run time", err: ops.ErrNotConstant,
			call: call(nn.OpConv2D, f32(), f32(1, 8, 7, 3), f32(5, 3, 3, 3), f32(5), same, nn.Operand{Type: nn.Int32, Lifetime: nn.SubgraphInput}, 2, 1),
		},
	})
	x, w, b := f32(1, 8, 7, 3), f32(5, 3, 3, 3), f32(5)
	runBad(t, []badCase{
		{"9 inputs", call(nn.OpConv2D, f32(), x, w, b, same, 1, 1, 0, false, 1)},
		{"12 inputs", call(nn.OpConv2D, f32(), x, w, b, 0, 0, 0, 0, 1, 1, 0, false, 1)},
		{"scheme", call(nn.OpConv2D, f32(), x, w, b, 0, 1, 1, 0)},
		{"stride 0", call(nn.OpConv2D, f32(), x, w, b, same, 0, 1, 0)},
		{"activation", call(nn.OpConv2D, f32(), x, w, b, same, 1, 1, 4)},
		{"negative padding", call(nn.OpConv2D, f32(), x, w, b, 0, -1, 0, 0, 1, 1, 0)},
		{"channels", call(nn.OpConv2D, f32(), x, f32(5, 3, 3, 4), b, same, 1, 1, 0)},
		{"bias length", call(nn.OpConv2D, f32(), x, w, f32(4), same, 1, 1, 0)},
		{"window too large", call(nn.OpConv2D, f32(), x, f32(5, 9, 3, 3), b, valid, 1, 1, 0)},
		{"dilation overflows", call(nn.OpConv2D, f32(), x, f32(5, 3, 3, 3), b, valid, 1, 1, 0, false, 1<<31-1, 1<<31-1)},
		{"huge filter", call(nn.OpConv2D, f32(), x, f32(1, 1<<31, 1, 3), f32(1), same, 1, 1, 0)},
		{"rank 3", call(nn.OpConv2D, f32(), f32(8, 7, 3), w, b, same, 1, 1, 0)},
		{"mixed signedness", call(nn.OpConv2D, u8(), u8(1, 8, 7, 3), s8(5, 3, 3, 3), bias(5), same, 1, 1, 0)},
		{"bias scale", call(nn.OpConv2D, u8(), u8(1, 8, 7, 3), u8(5, 3, 3, 3), i32(5), same, 1, 1, 0)},
		{"float bias", call(nn.OpConv2D, u8(), u8(1, 8, 7, 3), u8(5, 3, 3, 3), b, same, 1, 1, 0)},
		{"per channel, wrong dimension", call(nn.OpConv2D, u8(), u8(1, 8, 7, 3), channels(3, 5, 3, 3, 3), i32(5), same, 1, 1, 0)},
		{"per channel, bias scale", call(nn.OpConv2D, u8(), u8(1, 8, 7, 3), channels(0, 5, 3, 3, 3), bias(5), same, 1, 1, 0)},
		{"depthwise filter", call(nn.OpDepthwiseConv2D, f32(), x, f32(2, 3, 3, 3), f32(3), same, 1, 1, 1, 0)},
		{"depthwise multiplier", call(nn.OpDepthwiseConv2D, f32(), x, f32(1, 3, 3, 6), f32(6), same, 1, 1, 1, 0)},
		{"grouped, 0 groups", call(nn.OpGroupedConv2D, f32(), x, w, b, same, 1, 1, 0, 0, false)},
		{"grouped, no layout", call(nn.OpGroupedConv2D, f32(), x, w, b, same, 1, 1, 1, 0)},
		{"grouped, channels", call(nn.OpGroupedConv2D, f32(), x, w, b, same, 1, 1, 2, 0, false)},
		{"grouped, output channels", call(nn.OpGroupedConv2D, f32(), x, f32(5, 3, 3, 1), b, same, 1, 1, 3, 0, false)},
		{"grouped, bias length", call(nn.OpGroupedConv2D, f32(), x, f32(6, 3, 3, 1), b, same, 1, 1, 3, 0, false)},
		{"grouped, per channel, wrong dimension", call(nn.OpGroupedConv2D, u8(), u8(1, 8, 7, 3), channels(3, 3, 3, 3, 1), i32(3), same, 1, 1, 3, 0, false)},
		{"transposed, nothing left", call(nn.OpTransposeConv2D, f32(), x, w, b, 5, 5, 0, 0, 1, 1, 0, false)},
		{"transposed, channels", call(nn.OpTransposeConv2D, f32(), x, f32(5, 3, 3, 4), b, 0, 0, 0, 0, 1, 1, 0, false)},
		{"transposed, huge", call(nn.OpTransposeConv2D, f32(), x, w, b, 0, 0, 0, 0, 1<<31-1, 1<<31-1, 0, false)},
		{"transposed, shape of rank 3", call(nn.OpTransposeConv2D, f32(), x, w, b, []int32{8, 7, 5}, same, 1, 1, 0, false)},
		{"transposed, other images", call(nn.OpTransposeConv2D, f32(), x, w, b, []int32{2, 8, 7, 5}, same, 1, 1, 0, false)},
		{"transposed, other channels", call(nn.OpTransposeConv2D, f32(), x, w, b, []int32{1, 8, 7, 3}, same, 1, 1, 0, false)},
		{"transposed, too low", call(nn.OpTransposeConv2D, f32(), x, w, b, []int32{1, 14, 14, 5}, same, 2, 2, 0, false)},
		{"transposed, too wide", call(nn.OpTransposeConv2D, f32(), x, w, b, []int32{1, 17, 14, 5}, valid, 2, 2, 0, false)},
		{"transposed, stride 0", call(nn.OpTransposeConv2D, f32(), x, w, b, []int32{1, 8, 7, 5}, same, 0, 1, 0, false)},
		{"depthwise multiplier 0", call(nn.OpDepthwiseConv2D, f32(), x, f32(1, 3, 3, 3), f32(3), same, 1, 1, 0, 0)},
	})
}

func TestFullyConnected(t *testing.T) {
	runInfer(t, []inferCase{
		{name: "rank 4", call: call(nn.OpFullyConnected, f32(), f32(3, 1, 2, 5), f32(7, 10), f32(7), 1), want: nn.Dims{3, 7}, attrs: ops.FullyConnected{Act: nn.ActRelu}, data: []int{0, 1, 2}},
		{name: "more rows", call: call(nn.OpFullyConnected, f32(), f32(6, 4), f32(7, 2), f32(7), 0), want: nn.Dims{12, 7}},
		{name: "per channel", call: call(nn.OpFullyConnected, s8(), s8(2, 5), channels(0, 7, 5), i32(7), 0), want: nn.Dims{2, 7}},
	})
	runBad(t, []badCase{
		{"no whole rows", call(nn.OpFullyConnected, f32(), f32(3, 5), f32(7, 10), f32(7), 0)},
		{"bias", call(nn.OpFullyConnected, f32(), f32(3, 10), f32(7, 10), f32(8), 0)},
		{"rank 1", call(nn.OpFullyConnected, f32(), f32(10), f32(7, 10), f32(7), 0)},
		{"per channel, dimension 1", call(nn.OpFullyConnected, s8(), s8(2, 5), channels(1, 7, 5), i32(7), 0)},
		{"bias omitted", call(nn.OpFullyConnected, f32(), f32(3, 10), f32(7, 10), omitted(nn.TensorFloat32), 0)},
	})
}

func TestPools(t *testing.T) {
	same, valid := int(nn.PaddingSame), int(nn.PaddingValid)
	runInfer(t, []inferCase{
		{
			name: "implicit", call: call(nn.OpMaxPool2D, u8(), u8(1, 7, 9, 3), same, 3, 2, 4, 3, 0),
			want: nn.Dims{1, 4, 3, 3},
			attrs: ops.Pool{Stride: [2]int{2, 3}, Window: [2]int{3, 4},
				Pad: ops.Pad{Top: 1, Bottom: 1, Left: 0, Right: 1}},
			data: []int{0},
		},
		{
			name: "explicit, NCHW", call: call(nn.OpAveragePool2D, f32(), f32(1, 3, 7, 9), 1, 0, 2, 1, 1, 2, 2, 3, 3, true),
			want: nn.Dims{1, 3, 4, 9},
			attrs: ops.Pool{Stride: [2]int{2, 1}, Window: [2]int{3, 2}, NCHW: true, Act: nn.ActRelu6,
				Pad: ops.Pad{Left: 1, Top: 2, Bottom: 1}},
		},
		{
			name: "global", call: call(nn.OpL2Pool2D, f32(), f32(1, 5, 5, 11), valid, 1, 1, 5, 5, 0, false),
			want: nn.Dims{1, 1, 1, 11}, attrs: ops.Pool{Stride: unit, Window: [2]int{5, 5}},
		},
	})
	runBad(t, []badCase{
		{"other scale", call(nn.OpAveragePool2D, scaled(u8(), 0.25, 3), u8(1, 7, 9, 3), same, 1, 1, 2, 2, 0)},
		{"quantised L2", call(nn.OpL2Pool2D, u8(), u8(1, 7, 9, 3), same, 1, 1, 2, 2, 0)},
		{"window 0", call(nn.OpMaxPool2D, f32(), f32(1, 7, 9, 3), same, 1, 1, 0, 2, 0)},
		{"padding as large as the window", call(nn.OpAveragePool2D, f32(), f32(1, 7, 9, 3), 2, 0, 0, 0, 1, 1, 2, 2, 0)},
		{"9 inputs", call(nn.OpAveragePool2D, f32(), f32(1, 7, 9, 3), 0, 0, 0, 0, 1, 1, 2, 2)},
		{"too large", call(nn.OpMaxPool2D, f32(), f32(1, 7, 9, 3), valid, 1, 1, 10, 2, 0)},
	})
}

func TestResizes(t *testing.T) {
	x := f32(1, 7, 9, 3)
	runInfer(t, []inferCase{
		{name: "size", call: call(nn.OpResizeBilinear, f32(), x, 5, 13), want: nn.Dims{1, 13, 5, 3}, data: []int{0}},
		{name: "factor", call: call(nn.OpResizeBilinear, f32(), x, float32(0.7), float32(1.3)), want: nn.Dims{1, 9, 6, 3}},
		{
			name: "half factor, NCHW", call: call(nn.OpResizeNearestNeighbor, f16(), f16(1, 3, 7, 9), half(0x3800), half(0x4200), true, false, true),
			want: nn.Dims{1, 3, 21, 4}, attrs: ops.Resize{NCHW: true, HalfPixel: true},
		},
		{name: "align corners", call: call(nn.OpResizeBilinear, u8(), u8(1, 7, 9, 3), 5, 5, false, true), want: nn.Dims{1, 5, 5, 3}, attrs: ops.Resize{AlignCorners: true}},
	})
	runBad(t, []badCase{
		{"nearest with 3 inputs", call(nn.OpResizeNearestNeighbor, f32(), x, 5, 5)},
		{"size 0", call(nn.OpResizeBilinear, f32(), x, 0, 5)},
		{"size -1", call(nn.OpResizeBilinear, f32(), x, 5, -1)},
		{"factor to nothing", call(nn.OpResizeBilinear, f32(), x, float32(0.1), float32(1))},
		{"factor 0", call(nn.OpResizeBilinear, f32(), x, float32(0), float32(1))},
		{"factor too large", call(nn.OpResizeBilinear, f32(), x, float32(1e30), float32(1))},
		{"mixed", call(nn.OpResizeBilinear, f32(), x, 5, float32(1))},
		{"half factor on float32", call(nn.OpResizeBilinear, f32(), x, half(0x3800), half(0x3800))},
		{"both centers", call(nn.OpResizeBilinear, f32(), x, 5, 5, false, true, true)},
		{"other scale", call(nn.OpResizeBilinear, scaled(u8(), 1, 3), u8(1, 7, 9, 3), 5, 5)},
	})
}
