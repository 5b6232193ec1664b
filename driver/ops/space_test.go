package ops_test

import (
	"testing"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

func TestSpaceAndDepth(t *testing.T) {
	open := nn.Operand{Type: nn.Int32, Lifetime: nn.SubgraphInput}
	runInfer(t, []inferCase{
		{name: "to depth", call: call(nn.OpSpaceToDepth, f32(), f32(2, 6, 9, 5), 3), want: nn.Dims{2, 2, 3, 45}, attrs: ops.SpaceDepth{Block: 3}, data: []int{0}},
		{name: "to depth, NCHW", call: call(nn.OpSpaceToDepth, u8(), u8(2, 5, 6, 9), 3, true), want: nn.Dims{2, 45, 2, 3}, attrs: ops.SpaceDepth{Block: 3, NCHW: true}},
		{name: "a block of one", call: call(nn.OpSpaceToDepth, s8(), s8(2, 6, 9, 5), 1, false), want: nn.Dims{2, 6, 9, 5}, attrs: ops.SpaceDepth{Block: 1}},
		{name: "to space", call: call(nn.OpDepthToSpace, f16(), f16(2, 5, 7, 12), 2), want: nn.Dims{2, 10, 14, 3}, attrs: ops.SpaceDepth{Block: 2}, data: []int{0}},
		{name: "to space, NCHW", call: call(nn.OpDepthToSpace, s8(), s8(2, 12, 5, 7), 2, true), want: nn.Dims{2, 3, 10, 14}, attrs: ops.SpaceDepth{Block: 2, NCHW: true}},
		{name: "block of the request", call: call(nn.OpDepthToSpace, f32(1, 4, 4, 1), f32(1, 2, 2, 4), open), err: ops.ErrNotConstant},
		{name: "open", call: call(nn.OpSpaceToDepth, f32(), f32(1, 0, 4, 1), 2), err: ops.ErrOpenShape},
	})
	for _, op := range []nn.OperationType{nn.OpSpaceToDepth, nn.OpDepthToSpace} {
		runBad(t, []badCase{
			{"no block", call(op, f32(), f32(1, 4, 4, 4))},
			{"a block of nothing", call(op, f32(), f32(1, 4, 4, 4), 0)},
			{"negative", call(op, f32(), f32(1, 4, 4, 4), -2)},
			{"a block that does not divide", call(op, f32(), f32(1, 4, 6, 6), 3)},
			{"a block whose square overflows", call(op, f32(), f32(1, 4, 4, 4), 1<<31-1)},
			{"rank 3", call(op, f32(), f32(4, 4, 4), 2)},
			{"integers", call(op, i32(), i32(1, 4, 4, 4), 2)},
			{"scale", call(op, scaled(u8(), 1, 3), u8(1, 4, 4, 4), 2)},
			{"zero point", call(op, scaled(s8(), 0.5, 4), s8(1, 4, 4, 4), 2)},
		})
	}
	runBad(t, []badCase{{"result too large", call(nn.OpSpaceToDepth, f32(), f32(1, 1<<16, 1<<16, 1), 1<<16)}})
}

func TestSpaceAndBatch(t *testing.T) {
	none, some := [][2]int32{{0, 0}, {0, 0}}, [][2]int32{{1, 2}, {0, 3}}
	pad := ops.Pad{Top: 1, Bottom: 2, Right: 3}
	runInfer(t, []inferCase{
		{name: "to batch", call: call(nn.OpSpaceToBatchNd, f32(), f32(2, 6, 9, 5), []int32{2, 3}, none), want: nn.Dims{12, 3, 3, 5}, attrs: ops.SpaceBatch{Block: [2]int{2, 3}}, data: []int{0}},
		{name: "padded", call: call(nn.OpSpaceToBatchNd, u8(), u8(2, 5, 9, 5), []int32{2, 3}, some), want: nn.Dims{12, 4, 4, 5}, attrs: ops.SpaceBatch{Block: [2]int{2, 3}, Pad: pad}},
		{name: "padded, NCHW", call: call(nn.OpSpaceToBatchNd, s8(), s8(2, 5, 5, 9), []int32{2, 3}, some, true), want: nn.Dims{12, 5, 4, 4}, attrs: ops.SpaceBatch{Block: [2]int{2, 3}, Pad: pad, NCHW: true}},
		{name: "to space", call: call(nn.OpBatchToSpaceNd, f16(), f16(12, 3, 5, 7), []int32{2, 3}), want: nn.Dims{2, 6, 15, 7}, attrs: ops.SpaceBatch{Block: [2]int{2, 3}}, data: []int{0}},
		{name: "to space, NCHW", call: call(nn.OpBatchToSpaceNd, s8(), s8(12, 7, 3, 5), []int32{2, 3}, true), want: nn.Dims{2, 7, 6, 15}, attrs: ops.SpaceBatch{Block: [2]int{2, 3}, NCHW: true}},
		{name: "block of the request", call: call(nn.OpBatchToSpaceNd, f32(1, 4, 4, 1), f32(4, 2, 2, 1), runtimeParam(2)), err: ops.ErrNotConstant},
		{name: "paddings of the request", call: call(nn.OpSpaceToBatchNd, f32(4, 2, 2, 1), f32(1, 4, 4, 1), []int32{2, 2}, runtimeParam(2, 2)), err: ops.ErrNotConstant},
	})
	x := f32(4, 4, 4, 4)
	runBad(t, []badCase{
		{"block of one size", call(nn.OpSpaceToBatchNd, f32(), x, []int32{2}, none)},
		{"block of three sizes", call(nn.OpBatchToSpaceNd, f32(), x, []int32{2, 1, 1})},
		{"a block of nothing", call(nn.OpSpaceToBatchNd, f32(), x, []int32{2, 0}, none)},
		{"a negative block", call(nn.OpBatchToSpaceNd, f32(), x, []int32{-2, -2})},
		{"a scalar block", call(nn.OpBatchToSpaceNd, f32(), x, 2)},
		{"pixels that do not divide", call(nn.OpSpaceToBatchNd, f32(), x, []int32{3, 2}, none)},
		{"images that do not divide", call(nn.OpBatchToSpaceNd, f32(), x, []int32{2, 3})},
		{"images that divide by each, but not by both", call(nn.OpBatchToSpaceNd, f32(), x, []int32{4, 2})},
		{"no paddings", call(nn.OpSpaceToBatchNd, f32(), x, []int32{2, 2})},
		{"paddings of one dimension", call(nn.OpSpaceToBatchNd, f32(), x, []int32{2, 2}, [][2]int32{{0, 0}})},
		{"paddings of all dimensions", call(nn.OpSpaceToBatchNd, f32(), x, []int32{2, 2}, [][2]int32{{0, 0}, {0, 0}, {0, 0}, {0, 0}})},
		{"paddings of the request of another shape", call(nn.OpSpaceToBatchNd, f32(), x, []int32{2, 2}, runtimeParam(4, 2))},
		{"negative paddings", call(nn.OpSpaceToBatchNd, f32(), x, []int32{2, 2}, [][2]int32{{-1, 1}, {0, 0}})},
		{"too many images", call(nn.OpSpaceToBatchNd, f32(), f32(1<<16, 1<<16, 1<<16, 1), []int32{1 << 16, 1 << 16}, none)},
		{"a product that overflows", call(nn.OpBatchToSpaceNd, f32(), x, []int32{1<<31 - 1, 1<<31 - 1})},
		{"scale", call(nn.OpBatchToSpaceNd, scaled(u8(), 1, 3), u8(4, 1, 1, 1), []int32{2, 2})},
		{"rank 3", call(nn.OpSpaceToBatchNd, f32(), f32(4, 4, 4), []int32{2, 2}, none)},
	})
}

func TestChannelShuffle(t *testing.T) {
	runInfer(t, []inferCase{
		{name: "the last", call: call(nn.OpChannelShuffle, f32(), f32(2, 3, 6), 3, -1), want: nn.Dims{2, 3, 6}, attrs: ops.ChannelShuffle{Groups: 3, Axis: 2}, data: []int{0}},
		{name: "the first", call: call(nn.OpChannelShuffle, s8(), s8(8), 2, 0), want: nn.Dims{8}, attrs: ops.ChannelShuffle{Groups: 2}},
		{name: "each its own group", call: call(nn.OpChannelShuffle, u8(), u8(1, 2, 3, 4), 3, 2), want: nn.Dims{1, 2, 3, 4}, attrs: ops.ChannelShuffle{Groups: 3, Axis: 2}},
	})
	runBad(t, []badCase{
		{"groups that do not divide", call(nn.OpChannelShuffle, f32(), f32(2, 3, 6), 4, 2)},
		{"no groups", call(nn.OpChannelShuffle, f32(), f32(2, 3, 6), 0, 2)},
		{"more groups than elements", call(nn.OpChannelShuffle, f32(), f32(2, 3, 6), 12, 2)},
		{"axis", call(nn.OpChannelShuffle, f32(), f32(2, 3, 6), 3, 3)},
		{"axis before the first", call(nn.OpChannelShuffle, f32(), f32(2, 3, 6), 3, -4)},
		{"no axis", call(nn.OpChannelShuffle, f32(), f32(2, 3, 6), 3)},
		{"rank 5", call(nn.OpChannelShuffle, f32(), f32(1, 1, 2, 3, 6), 3, 4)},
		{"integers", call(nn.OpChannelShuffle, i32(), i32(6), 3, 0)},
		{"scale", call(nn.OpChannelShuffle, scaled(u8(), 1, 3), u8(6), 3, 0)},
	})
}
