package importer

import (
	"testing"

	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
	"github.com/nngpu/nngpu/driver/nn"
)

// picked are elements of the numbers 0, 1, 2, ...: those at rows[i] + columns[k] for all i and k.
func picked(rows, columns []int) []byte {
	var v []float32
	for _, r := range rows {
		for _, c := range columns {
			v = append(v, float32(r+c))
		}
	}
	return floats(v...)
}

// TestSlices: the input is 0, 1, 2, ... of dimensions [5, 7].
func TestSlices(t *testing.T) {
	type ints = []int32
	slice := func(name string, o g.StridedSliceOptions, shape []int, begin, end, strides ints, rows, columns []int) expectation {
		return expectation{name: name, build: func(n *net) ([]int, [][]byte) {
			x := n.floats([]int{5, 7}, count(35)...)
			z := n.input(g.Int32, []int{5, 7}, int32s(integers(35)...))
			lists := []int{n.vector(begin...), n.vector(end...), n.vector(strides...)}
			y := n.op(g.OpStridedSlice, o, one(g.Float32, shape...), append([]int{x}, lists...)...)
			w := n.op(g.OpStridedSlice, o, one(g.Int32, shape...), append([]int{z}, lists...)...)
			want := picked(rows, columns)
			return append(y, w...), [][]byte{want, asInts(want)}
		}}
	}
	every := []int{0, 1, 2, 3, 4, 5, 6}
	runAll(t, []expectation{
		slice("by two, from the end", g.StridedSliceOptions{}, []int{2, 2}, ints{1, -3}, ints{4, -1}, ints{2, 1}, []int{7, 21}, []int{4, 5}),
		slice("backward", g.StridedSliceOptions{EndMask: 1}, []int{3, 3}, ints{-1, 5}, ints{9, 0}, ints{-2, -2}, []int{28, 14, 0}, []int{5, 3, 1}),
		slice("beyond both ends", g.StridedSliceOptions{}, []int{2, 7}, ints{3, -99}, ints{99, 99}, ints{1, 1}, []int{21, 28}, every),
		slice("one row", g.StridedSliceOptions{ShrinkAxisMask: 1}, []int{7}, ints{-2}, ints{0}, ints{1}, []int{21}, every),
		slice("one element", g.StridedSliceOptions{ShrinkAxisMask: 3}, nil, ints{2, 3}, ints{3, 4}, ints{1, 1}, []int{14}, []int{3}),
		slice("one column behind an ellipsis", g.StridedSliceOptions{EllipsisMask: 1, ShrinkAxisMask: 2}, []int{5}, ints{0, 6}, ints{0, 7}, ints{1, 1},
			[]int{0, 7, 14, 21, 28}, []int{6}),
		slice("new axes", g.StridedSliceOptions{NewAxisMask: 5}, []int{1, 2, 1, 7}, ints{0, 1, 0}, ints{0, 3, 0}, ints{1, 1, 1}, []int{7, 14}, every),
		slice("lengths", g.StridedSliceOptions{Offset: true}, []int{2, 3}, ints{1, 2}, ints{2, 3}, ints{1, 1}, []int{7, 14}, []int{2, 3, 4}),
		slice("by 2^31-1", g.StridedSliceOptions{}, []int{1, 7}, ints{3, 0}, ints{5, 7}, ints{1<<31 - 1, 1}, []int{21}, every),
	})
}

func integers(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// asInts are floats as integers.
func asInts(b []byte) []byte {
	var v []int32
	for i := range len(b) / 4 {
		v = append(v, int32(at(b, i)))
	}
	return int32s(v...)
}

func TestGathers(t *testing.T) {
	x := func(n *net) int { return n.floats([]int{3, 4, 2}, count(24)...) }
	runAll(t, []expectation{
		{name: "along the middle", build: func(n *net) ([]int, [][]byte) {
			return n.op(g.OpGather, g.GatherOptions{Axis: -2}, one(g.Float32, 3, 2, 2), x(n), n.input(g.Int32, []int{2}, int32s(3, 0))),
				[][]byte{floats(6, 7, 0, 1, 14, 15, 8, 9, 22, 23, 16, 17)}
		}},
		{name: "one place", build: func(n *net) ([]int, [][]byte) {
			return n.op(g.OpGather, g.GatherOptions{Axis: 1}, one(g.Float32, 3, 2), x(n), n.ints(nil, 2)), [][]byte{floats(4, 5, 12, 13, 20, 21)}
		}},
		{name: "in batches", build: func(n *net) ([]int, [][]byte) {
			return n.op(g.OpGather, g.GatherOptions{Axis: 1, BatchDims: 1}, one(g.Float32, 3, 2, 2), x(n), n.input(g.Int32, []int{3, 2}, int32s(3, 0, 1, 1, 0, 2))),
				[][]byte{floats(6, 7, 0, 1, 10, 11, 10, 11, 16, 17, 20, 21)}
		}},
		{name: "in batches of two dimensions", build: func(n *net) ([]int, [][]byte) {
			by := n.input(g.Int32, []int{3, 4}, int32s(1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1))
			return n.op(g.OpGather, g.GatherOptions{Axis: 2, BatchDims: 2}, one(g.Float32, 3, 4), x(n), by),
				[][]byte{floats(1, 2, 4, 7, 9, 11, 12, 14, 16, 19, 20, 23)}
		}},
		{name: "places of the largest", build: func(n *net) ([]int, [][]byte) {
			table := n.constant(g.Float32, []int{3}, floats(10, 20, 30))
			most := n.op(g.OpArgMax, g.ArgMaxOptions{OutputType: g.Int64}, one(g.Int64, 2), n.floats([]int{2, 3}, 1, 5, 2, 0, 3, 9), n.ints(nil, -1))
			return append(n.op(g.OpGather, nil, one(g.Float32, 2), table, most[0]), most[0]), [][]byte{floats(20, 30), int32s(1, 2)}
		}},
		{name: "by pairs", build: func(n *net) ([]int, [][]byte) {
			return n.op(g.OpGatherND, nil, one(g.Float32, 2, 2), x(n), n.input(g.Int32, []int{2, 2}, int32s(2, 1, 0, 3))), [][]byte{floats(18, 19, 6, 7)}
		}},
		{name: "by triples", build: func(n *net) ([]int, [][]byte) {
			return n.op(g.OpGatherND, nil, one(g.Float32, 3), x(n), n.ints([]int{3, 3}, 0, 0, 1, 1, 2, 0, 2, 3, 1)), [][]byte{floats(1, 12, 23)}
		}},
		{name: "by one triple", build: func(n *net) ([]int, [][]byte) {
			return n.op(g.OpGatherND, nil, one(g.Float32), x(n), n.vector(1, 1, 1)), [][]byte{floats(11)}
		}},
		{name: "rows", build: func(n *net) ([]int, [][]byte) {
			return n.op(g.OpEmbeddingLookup, nil, one(g.Float32, 2, 2), n.input(g.Int32, []int{2}, int32s(2, 0)), n.constant(g.Float32, []int{3, 2}, floats(count(6)...))),
				[][]byte{floats(4, 5, 0, 1)}
		}},
		{name: "quantised rows", build: func(n *net) ([]int, [][]byte) {
			table := n.tensor(g.Tensor{Type: g.Int8, Quant: g.PerTensor(0.5, 0), Shape: []int{2, 3}, Data: []byte{1, 0xFF, 3, 4, 5, 0xFA}})
			return n.op(g.OpEmbeddingLookup, nil, one(g.Float32, 2, 3), n.input(g.Int32, []int{2}, int32s(1, 0)), table), [][]byte{floats(2, 2.5, -3, 0.5, -0.5, 1.5)}
		}},
		{name: "by keys", build: func(n *net) ([]int, [][]byte) {
			return n.op(g.OpHashtableLookup, nil, []g.Tensor{{Shape: []int{3, 2}}, {Type: g.Uint8, Shape: []int{3}}},
					n.input(g.Int32, []int{3}, int32s(7, 3, -1)), n.vector(-1, 2, 7), n.constant(g.Float32, []int{3, 2}, floats(1, 2, 3, 4, 5, 6))),
				[][]byte{floats(5, 6, 0, 0, 1, 2), {1, 0, 1}}
		}},
		{name: "numbers by keys", build: func(n *net) ([]int, [][]byte) {
			return n.op(g.OpHashtableLookup, nil, []g.Tensor{{Shape: []int{3}, Type: g.Int32}, {Type: g.Uint8, Shape: []int{3}}},
				n.input(g.Int32, []int{3}, int32s(7, 3, -1)), n.vector(-1, 2, 7), n.vector(10, 20, 30)), [][]byte{int32s(30, 0, 10), {1, 0, 1}}
		}},
	})
}

func TestParts(t *testing.T) {
	runAll(t, []expectation{
		{name: "packed", build: func(n *net) ([]int, [][]byte) {
			x, y := n.floats([]int{2, 2}, 1, 2, 3, 4), n.floats([]int{2, 2}, 5, 6, 7, 8)
			return n.op(g.OpPack, g.PackOptions{ValuesCount: 2, Axis: -1}, one(g.Float32, 2, 2, 2), x, y), [][]byte{floats(1, 5, 2, 6, 3, 7, 4, 8)}
		}},
		{name: "packed numbers", build: func(n *net) ([]int, [][]byte) {
			return n.op(g.OpPack, g.PackOptions{ValuesCount: 2}, one(g.Int32, 2), n.input(g.Int32, nil, int32s(9)), n.ints(nil, 4)), [][]byte{int32s(9, 4)}
		}},
		{name: "unpacked", build: func(n *net) ([]int, [][]byte) {
			y := g.Tensor{Shape: []int{2}}
			return n.op(g.OpUnpack, g.UnpackOptions{Num: 3, Axis: 1}, []g.Tensor{y, y, y}, n.floats([]int{2, 3}, count(6)...)),
				[][]byte{floats(0, 3), floats(1, 4), floats(2, 5)}
		}},
		{name: "parts of sizes", build: func(n *net) ([]int, [][]byte) {
			return n.op(g.OpSplitV, g.SplitVOptions{NumSplits: 3}, []g.Tensor{{Shape: []int{2, 1}}, {Shape: []int{2, 2}}, {Shape: []int{2, 1}}},
					n.floats([]int{2, 4}, count(8)...), n.vector(1, -1, 1), n.ints(nil, 1)),
				[][]byte{floats(0, 4), floats(1, 2, 5, 6), floats(3, 7)}
		}},
		{name: "tiled", build: func(n *net) ([]int, [][]byte) {
			return n.op(g.OpTile, nil, one(g.Float32, 4, 3), n.floats([]int{2, 1}, 1, 2), n.vector(2, 3)), [][]byte{floats(1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2)}
		}},
		{name: "broadcast", build: func(n *net) ([]int, [][]byte) {
			return n.op(g.OpBroadcastTo, nil, one(g.Float32, 2, 2, 3), n.floats([]int{2, 1}, 1, 2), n.vector(2, 2, 3)),
				[][]byte{floats(1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2)}
		}},
		{name: "reversed", build: func(n *net) ([]int, [][]byte) {
			return n.op(g.OpReverseV2, nil, one(g.Float32, 2, 3), n.floats([]int{2, 3}, count(6)...), n.vector(1, -2)), [][]byte{floats(5, 4, 3, 2, 1, 0)}
		}},
		{name: "all", build: func(n *net) ([]int, [][]byte) {
			return n.op(g.OpReduceAll, g.ReducerOptions{}, one(g.Bool, 2), n.input(g.Bool, []int{2, 2}, []byte{1, 1, 1, 0}), n.vector(-1)), [][]byte{{1, 0}}
		}},
		{name: "booleans that are moved", build: func(n *net) ([]int, [][]byte) {
			x := n.input(g.Bool, []int{6}, []byte{1, 0, 1, 1, 0, 0})
			y := n.op(g.OpReshape, g.ReshapeOptions{NewShape: []int32{2, 3}}, one(g.Bool, 2, 3), x)[0]
			y = n.op(g.OpTranspose, nil, one(g.Bool, 3, 2), y, n.vector(1, 0))[0]
			z := n.op(g.OpConcatenation, g.ConcatenationOptions{Axis: 1}, one(g.Bool, 3, 4), y, y)[0]
			return []int{y, z}, [][]byte{{1, 1, 0, 0, 1, 0}, {1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 1, 0}}
		}},
		{name: "integers that are moved", build: func(n *net) ([]int, [][]byte) {
			x := n.input(g.Int32, []int{1, 2, 3}, int32s(1, 2, 3, 4, 5, 6))
			y := n.op(g.OpSqueeze, nil, one(g.Int32, 2, 3), x)[0]
			z := n.op(g.OpTranspose, nil, one(g.Int32, 3, 2), y, n.vector(1, 0))[0]
			w := n.op(g.OpConcatenation, g.ConcatenationOptions{Axis: 1}, one(g.Int32, 2, 6), y, y)[0]
			v := n.op(g.OpConcatenation, g.ConcatenationOptions{Axis: -2}, one(g.Int32, 3, 3), n.ints([]int{1, 3}, 7, 8, 9), y)[0]
			return []int{z, w, v}, [][]byte{int32s(1, 4, 2, 5, 3, 6), int32s(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6), int32s(7, 8, 9, 1, 2, 3, 4, 5, 6)}
		}},
		{name: "integers in three dimensions", build: func(n *net) ([]int, [][]byte) {
			x := n.input(g.Int32, []int{2, 3, 2}, int32s(integers(12)...))
			return n.op(g.OpTranspose, nil, one(g.Int32, 2, 2, 3), x, n.vector(2, 0, 1)), [][]byte{int32s(0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11)}
		}},
		{name: "numbers of booleans", build: func(n *net) ([]int, [][]byte) {
			x := n.input(g.Bool, []int{3}, []byte{1, 0, 1})
			return append(n.op(g.OpCast, nil, one(g.Float32, 3), x), n.op(g.OpCast, nil, one(g.Int32, 3), x)...), [][]byte{floats(1, 0, 1), int32s(1, 0, 1)}
		}},
		{name: "booleans of numbers", build: func(n *net) ([]int, [][]byte) {
			x, y := n.floats([]int{3}, 0, -0.5, 2), n.input(g.Int32, []int{2}, nn.Bytes([]int32{0, -7}))
			return append(n.op(g.OpCast, nil, one(g.Bool, 3), x), n.op(g.OpCast, nil, one(g.Bool, 2), y)...), [][]byte{{0, 1, 1}, {0, 1}}
		}},
	})
}
