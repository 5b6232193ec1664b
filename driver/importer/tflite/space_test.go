package tflite

import (
	"testing"

	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
)

func TestSpace(t *testing.T) {
	q := g.PerTensor(0.5, 3)
	pairs := func(n *net, x ...int32) int { return n.ints([]int{len(x) / 2, 2}, x...) }
	runTranslations(t, []translation{
		{name: "to depth", want: "SPACE_TO_DEPTH", build: func(n *net) int {
			return n.op(g.OpSpaceToDepth, g.SpaceToDepthOptions{BlockSize: 2}, shaped(g.Int8, q, 1, 2, 3, 20), n.input(g.Int8, q, 1, 4, 6, 5))
		}, check: lastInts(1, 2)},
		{name: "to space", want: "DEPTH_TO_SPACE", build: func(n *net) int {
			return n.op(g.OpDepthToSpace, g.DepthToSpaceOptions{BlockSize: 3}, f32(1, 12, 18, 2), n.input(g.Float32, none, 1, 4, 6, 18))
		}, check: lastInts(1, 3)},
		{name: "block that does not divide", err: "3 does not divide", build: func(n *net) int {
			return n.op(g.OpSpaceToDepth, g.SpaceToDepthOptions{BlockSize: 3}, f32(1, 2, 3, 20), n.input(g.Float32, none, 1, 4, 6, 5))
		}},
		{name: "no block", err: "block size 0", build: func(n *net) int {
			return n.op(g.OpDepthToSpace, nil, f32(1, 4, 6, 4), n.input(g.Float32, none, 1, 4, 6, 4))
		}},
		{name: "another scale", err: "SPACE_TO_DEPTH", build: func(n *net) int {
			return n.op(g.OpSpaceToDepth, g.SpaceToDepthOptions{BlockSize: 2}, shaped(g.Int8, g.PerTensor(1, 3), 1, 2, 3, 20), n.input(g.Int8, q, 1, 4, 6, 5))
		}},
		{name: "to batch", want: "SPACE_TO_BATCH_ND", build: func(n *net) int {
			return n.op(g.OpSpaceToBatchND, nil, f32(6, 3, 2, 5), n.input(g.Float32, none, 1, 4, 5, 5), n.ints([]int{2}, 2, 3), pairs(n, 0, 2, 1, 0))
		}, check: lastInts(2, 0, 2, 1, 0)},
		{name: "to batch, one dimension", want: "RESHAPE SPACE_TO_BATCH_ND RESHAPE", build: func(n *net) int {
			return n.op(g.OpSpaceToBatchND, nil, f32(2, 3, 5), n.input(g.Float32, none, 1, 4, 5), n.ints([]int{1}, 2), pairs(n, 1, 1))
		}, check: lastInts(1, 2, 3, 5)},
		{name: "from batch", want: "BATCH_TO_SPACE_ND", build: func(n *net) int {
			return n.op(g.OpBatchToSpaceND, nil, f32(1, 4, 6, 5), n.input(g.Float32, none, 6, 2, 2, 5), n.ints([]int{2}, 2, 3), pairs(n, 0, 0, 0, 0))
		}, check: lastInts(1, 2, 3)},
		{name: "cropped", want: "BATCH_TO_SPACE_ND SLICE", build: func(n *net) int {
			return n.op(g.OpBatchToSpaceND, nil, f32(1, 3, 3, 5), n.input(g.Float32, none, 6, 2, 2, 5), n.ints([]int{2}, 2, 3), pairs(n, 0, 1, 2, 1))
		}, check: lastInts(2, -1, 3, 3, -1)},
		{name: "cropped, one dimension", want: "RESHAPE BATCH_TO_SPACE_ND SLICE RESHAPE", build: func(n *net) int {
			return n.op(g.OpBatchToSpaceND, nil, shaped(g.Int8, q, 1, 3, 5), n.input(g.Int8, q, 2, 2, 5), n.ints([]int{1}, 2), pairs(n, 1, 0))
		}, check: lastInts(1, 1, 3, 5)},
		{name: "crops of everything", err: "crops [2 2 0 0]", build: func(n *net) int {
			return n.op(g.OpBatchToSpaceND, nil, f32(1, 1, 6, 5), n.input(g.Float32, none, 6, 2, 2, 5), n.ints([]int{2}, 2, 3), pairs(n, 2, 2, 0, 0))
		}},
		{name: "negative crops", err: "crops [-1 0 0 0]", build: func(n *net) int {
			return n.op(g.OpBatchToSpaceND, nil, f32(1, 5, 6, 5), n.input(g.Float32, none, 6, 2, 2, 5), n.ints([]int{2}, 2, 3), pairs(n, -1, 0, 0, 0))
		}},
		{name: "block of another rank", err: "a block of 1 and paddings of 4 sizes for rank 4", build: func(n *net) int {
			return n.op(g.OpSpaceToBatchND, nil, f32(2, 2, 5, 5), n.input(g.Float32, none, 1, 4, 5, 5), n.ints([]int{1}, 2), pairs(n, 0, 0, 0, 0))
		}},
		{name: "rank 2", err: "for rank 2", build: func(n *net) int {
			return n.op(g.OpSpaceToBatchND, nil, f32(2, 5), n.input(g.Float32, none, 1, 5), n.ints([]int{0}), pairs(n))
		}},
		{name: "block of the data", err: "not a constant", build: func(n *net) int {
			return n.op(g.OpSpaceToBatchND, nil, f32(6, 3, 2, 5), n.input(g.Float32, none, 1, 4, 5, 5), n.input(g.Int32, none, 2), pairs(n, 0, 2, 1, 0))
		}},
	})
}
