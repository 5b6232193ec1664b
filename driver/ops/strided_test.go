package ops_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

func TestStridedSlice(t *testing.T) {
	x := f32(4, 5, 6)
	slice := func(x nn.Operand, begin, end, strides []int32, beginMask, endMask, shrink int) *ops.Call {
		return call(nn.OpStridedSlice, f32(), x, begin, end, strides, beginMask, endMask, shrink)
	}
	ones := []int32{1, 1, 1}
	runInfer(t, []inferCase{
		{name: "middle", call: slice(x, []int32{1, 0, 2}, []int32{3, 5, 5}, ones, 0, 0, 0), want: nn.Dims{2, 5, 3},
			attrs: ops.StridedSlice{Begin: []int{1, 0, 2}, Stride: []int{1, 1, 1}, Size: []int{2, 5, 3}}, data: []int{0}},
		{name: "strides", call: slice(x, []int32{0, 0, 1}, []int32{4, 5, 6}, []int32{2, 3, 5}, 0, 0, 0), want: nn.Dims{2, 2, 1},
			attrs: ops.StridedSlice{Begin: []int{0, 0, 1}, Stride: []int{2, 3, 5}, Size: []int{2, 2, 1}}},
		{name: "from the end", call: slice(x, []int32{-3, -1, -100}, []int32{-1, 100, 2}, ones, 0, 0, 0), want: nn.Dims{2, 1, 2},
			attrs: ops.StridedSlice{Begin: []int{1, 4, 0}, Stride: []int{1, 1, 1}, Size: []int{2, 1, 2}}},
		{name: "backwards", call: slice(x, []int32{-1, 100, 4}, []int32{-100, 0, 1}, []int32{-1, -2, -2}, 0, 0, 0), want: nn.Dims{4, 2, 2},
			attrs: ops.StridedSlice{Begin: []int{3, 4, 4}, Stride: []int{-1, -2, -2}, Size: []int{4, 2, 2}}},
		{name: "masks", call: slice(x, []int32{3, 3, 3}, []int32{1, 1, 1}, []int32{1, -1, 2}, 7, 7, 0), want: nn.Dims{4, 5, 3},
			attrs: ops.StridedSlice{Begin: []int{0, 4, 0}, Stride: []int{1, -1, 2}, Size: []int{4, 5, 3}}},
		{name: "extreme", call: slice(x, []int32{-0x80000000, 0x7fffffff, 0}, []int32{0x7fffffff, -0x80000000, 6}, []int32{0x7fffffff, -0x80000000, 1}, 0, 0, 0),
			want: nn.Dims{1, 1, 6}, attrs: ops.StridedSlice{Begin: []int{0, 4, 0}, Stride: []int{0x7fffffff, -0x80000000, 1}, Size: []int{1, 1, 6}}},
		{name: "dropped", call: slice(x, []int32{1, 0, -1}, []int32{2, 5, 6}, ones, 0, 0, 5), want: nn.Dims{5},
			attrs: ops.StridedSlice{Begin: []int{1, 0, 5}, Stride: []int{1, 1, 1}, Size: []int{1, 5, 1}}},
		{name: "all dropped", call: slice(x, []int32{1, 2, 3}, []int32{2, 3, 4}, ones, 0, 0, 7), want: nn.Dims{1},
			attrs: ops.StridedSlice{Begin: []int{1, 2, 3}, Stride: []int{1, 1, 1}, Size: []int{1, 1, 1}}},
		{name: "begin at run time", call: call(nn.OpStridedSlice, f32(2, 5, 3), x, runtimeParam(3), ones, ones, 0, 0, 0), err: ops.ErrNotConstant},
		{name: "open", call: slice(f32(0, 3), []int32{0, 0}, []int32{1, 1}, []int32{1, 1}, 0, 0, 0), err: ops.ErrOpenShape},
	})
	runBad(t, []badCase{
		{"begin of another rank", slice(x, []int32{0, 0}, ones, ones, 0, 0, 0)},
		{"end of another rank", slice(x, ones, []int32{2, 2, 2, 2}, ones, 0, 0, 0)},
		{"strides of another rank", slice(x, []int32{0, 0, 0}, ones, []int32{1}, 0, 0, 0)},
		{"stride 0", slice(x, []int32{0, 0, 0}, ones, []int32{1, 0, 1}, 0, 0, 0)},
		{"nothing", slice(x, []int32{2, 0, 0}, []int32{2, 5, 6}, ones, 0, 0, 0)},
		{"the wrong way", slice(x, []int32{0, 0, 0}, []int32{4, 5, 6}, []int32{-1, 1, 1}, 0, 0, 0)},
		{"behind the end", slice(x, []int32{4, 0, 0}, []int32{9, 5, 6}, ones, 0, 0, 0)},
		{"two positions dropped", slice(x, []int32{0, 0, 0}, []int32{2, 5, 6}, ones, 0, 0, 1)},
		{"dropped backwards", slice(x, []int32{1, 0, 0}, []int32{0, 5, 6}, []int32{-1, 1, 1}, 0, 0, 1)},
		{"integers", call(nn.OpStridedSlice, i32(), i32(3), []int32{0}, []int32{1}, []int32{1}, 0, 0, 0)},
		{"scale", call(nn.OpStridedSlice, scaled(u8(), 3, 3), u8(3), []int32{0}, []int32{1}, []int32{1}, 0, 0, 0)},
		{"no shrink mask", call(nn.OpStridedSlice, f32(), x, ones, ones, ones, 0, 0)},
	})
}

func TestReverse(t *testing.T) {
	x := f32(4, 5, 6)
	runInfer(t, []inferCase{
		{name: "middle", call: call(nn.OpReverse, f32(), x, []int32{1}), want: nn.Dims{4, 5, 6}, attrs: ops.Reverse{Axis: 1}, data: []int{0}},
		{name: "axis at run time", call: call(nn.OpReverse, f32(4, 5, 6), x, runtimeParam(1)), err: ops.ErrNotConstant},
	})
	runBad(t, []badCase{
		{"negative axis", call(nn.OpReverse, f32(), x, []int32{-1})},
		{"axis beyond", call(nn.OpReverse, f32(), x, []int32{3})},
		{"two axes", call(nn.OpReverse, f32(), x, []int32{0, 1})},
		{"rank 9", call(nn.OpReverse, f32(), f32(1, 1, 1, 1, 1, 1, 1, 1, 2), []int32{0})},
		{"another shape", call(nn.OpReverse, f32(), x, []int32{0}, 1)},
	})
}

func TestTile(t *testing.T) {
	x := f32(4, 1, 6)
	runInfer(t, []inferCase{
		{name: "tiles", call: call(nn.OpTile, f32(), x, []int32{1, 7, 2}), want: nn.Dims{4, 7, 12}, attrs: ops.Tile{Multiples: []int{1, 7, 2}}, data: []int{0}},
		{name: "at run time, stated", call: call(nn.OpTile, f32(8, 3, 6), x, runtimeParam(3)), want: nn.Dims{8, 3, 6}, attrs: ops.Tile{Multiples: []int{2, 3, 1}}},
		{name: "at run time", call: call(nn.OpTile, f32(), x, runtimeParam(3)), err: ops.ErrNotConstant},
	})
	runBad(t, []badCase{
		{"multiple 0", call(nn.OpTile, f32(), x, []int32{1, 0, 2})},
		{"negative multiple", call(nn.OpTile, f32(), x, []int32{1, 1, -2})},
		{"multiples of another rank", call(nn.OpTile, f32(), x, []int32{1, 2})},
		{"too large", call(nn.OpTile, f32(), x, []int32{0x7fffffff, 0x7fffffff, 1})},
		{"stated otherwise", call(nn.OpTile, f32(8, 3, 7), x, runtimeParam(3))},
		{"stated of another rank", call(nn.OpTile, f32(8, 3), x, runtimeParam(3))},
		{"two multiples at run time", call(nn.OpTile, f32(8, 3, 6), x, runtimeParam(2))},
		{"scale", call(nn.OpTile, scaled(u8(), 3, 3), u8(3), []int32{2})},
	})
}
