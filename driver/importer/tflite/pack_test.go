package tflite

import (
	"testing"

	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
)

// parts adds an operator with several outputs and returns them.
func (n *net) parts(code g.Operator, o g.Options, outputs []g.Tensor, inputs ...int) []int {
	op := g.Op{Code: code, Options: o, Inputs: inputs}
	for _, y := range outputs {
		op.Outputs = append(op.Outputs, n.tensor(y))
	}
	n.g.Operators = append(n.g.Operators, op)
	return op.Outputs
}

func TestPacks(t *testing.T) {
	q := g.PerTensor(0.5, 3)
	runTranslations(t, []translation{
		{name: "packed", want: "PACK", build: func(n *net) int {
			x := n.input(g.Float32, none, 2, 3)
			return n.op(g.OpPack, g.PackOptions{ValuesCount: 2, Axis: -1}, f32(2, 3, 2), x, x)
		}, check: lastInts(0, 2)},
		{name: "packed numbers", want: "PACK RESHAPE", build: func(n *net) int {
			x := n.input(g.Int32, none)
			return n.op(g.OpPack, g.PackOptions{ValuesCount: 3}, shaped(g.Int32, none, 3), x, x, n.ints(nil, 7))
		}, check: lastInts(1, 3)},
		{name: "packed, another number", err: "2 inputs for 3 values", build: func(n *net) int {
			x := n.input(g.Float32, none, 2)
			return n.op(g.OpPack, g.PackOptions{ValuesCount: 3}, f32(3, 2), x, x)
		}},
		{name: "packed, axis outside", err: "axis 2 of rank 2", build: func(n *net) int {
			x := n.input(g.Float32, none, 2)
			return n.op(g.OpPack, g.PackOptions{ValuesCount: 2, Axis: 2}, f32(2, 2), x, x)
		}},
		{name: "packed, of two scales", err: "PACK", build: func(n *net) int {
			return n.op(g.OpPack, g.PackOptions{ValuesCount: 2}, shaped(g.Int8, q, 2, 2), n.input(g.Int8, q, 2), n.input(g.Int8, g.PerTensor(1, 0), 2))
		}},
		{name: "packed, of two shapes", err: "dimensions [3]", build: func(n *net) int {
			return n.op(g.OpPack, g.PackOptions{ValuesCount: 2}, f32(2, 2), n.input(g.Float32, none, 2), n.input(g.Float32, none, 3))
		}},
		{name: "unpacked", want: "SPLIT RESHAPE RESHAPE RESHAPE", build: func(n *net) int {
			return n.parts(g.OpUnpack, g.UnpackOptions{Num: 3, Axis: -1}, []g.Tensor{f32(2), f32(2), f32(2)}, n.input(g.Float32, none, 2, 3))[2]
		}, check: lastInts(1, 2)},
		{name: "unpacked to numbers", want: "SPLIT RESHAPE RESHAPE", build: func(n *net) int {
			y := shaped(g.Int8, q)
			return n.parts(g.OpUnpack, g.UnpackOptions{Num: 2}, []g.Tensor{y, y}, n.input(g.Int8, q, 2))[1]
		}, check: lastInts(1, 1)},
		{name: "unpacked to one", want: "RESHAPE", build: func(n *net) int {
			return n.op(g.OpUnpack, g.UnpackOptions{Num: 1, Axis: 1}, f32(2, 3), n.input(g.Float32, none, 2, 1, 3))
		}},
		{name: "unpacked to too few", err: "2 outputs of dimension 1 of [2 3]", build: func(n *net) int {
			return n.parts(g.OpUnpack, g.UnpackOptions{Num: 2, Axis: 1}, []g.Tensor{f32(2), f32(2)}, n.input(g.Float32, none, 2, 3))[0]
		}},
		{name: "unpacked, another number", err: "2 outputs for 3 values", build: func(n *net) int {
			return n.parts(g.OpUnpack, g.UnpackOptions{Num: 3, Axis: 0}, []g.Tensor{f32(3), f32(3)}, n.input(g.Float32, none, 2, 3))[0]
		}},
		{name: "parts of sizes", want: "SLICE SLICE SLICE", build: func(n *net) int {
			return n.parts(g.OpSplitV, g.SplitVOptions{NumSplits: 3}, []g.Tensor{f32(2, 1), f32(2, 4), f32(2, 2)},
				n.input(g.Float32, none, 2, 7), n.ints([]int{3}, 1, -1, 2), n.ints(nil, -1))[2]
		}, check: lastInts(1, 0, 5)},
		{name: "parts beyond the axis", err: "parts of sizes [4 4] of 7", build: func(n *net) int {
			return n.parts(g.OpSplitV, g.SplitVOptions{NumSplits: 2}, []g.Tensor{f32(4), f32(4)}, n.input(g.Float32, none, 7), n.ints([]int{2}, 4, 4), n.ints(nil, 0))[1]
		}},
		{name: "parts that are open twice", err: "parts of sizes [-1 -1]", build: func(n *net) int {
			return n.parts(g.OpSplitV, g.SplitVOptions{NumSplits: 2}, []g.Tensor{f32(4), f32(3)}, n.input(g.Float32, none, 7), n.ints([]int{2}, -1, -1), n.ints(nil, 0))[1]
		}},
		{name: "parts of nothing", err: "parts of sizes [7 0]", build: func(n *net) int {
			return n.parts(g.OpSplitV, g.SplitVOptions{NumSplits: 2}, []g.Tensor{f32(7), f32(1)}, n.input(g.Float32, none, 7), n.ints([]int{2}, 7, 0), n.ints(nil, 0))[1]
		}},
	})
}

func TestTiles(t *testing.T) {
	q := g.PerTensor(0.5, 3)
	runTranslations(t, []translation{
		{name: "tiled", want: "TILE", build: func(n *net) int {
			return n.op(g.OpTile, nil, shaped(g.Int8, q, 4, 9), n.input(g.Int8, q, 2, 3), n.longs([]int{2}, 2, 3))
		}, check: lastInts(1, 2, 3)},
		{name: "tiled to nothing", err: "multiple 0", build: func(n *net) int {
			return n.op(g.OpTile, nil, f32(4), n.input(g.Float32, none, 2), n.ints([]int{1}, 0))
		}},
		{name: "tiled by other ranks", err: "multiples has 1 elements for rank 2", build: func(n *net) int {
			return n.op(g.OpTile, nil, f32(4, 3), n.input(g.Float32, none, 2, 3), n.ints([]int{1}, 2))
		}},
		{name: "broadcast", want: "RESHAPE TILE", build: func(n *net) int {
			return n.op(g.OpBroadcastTo, nil, f32(4, 2, 3), n.input(g.Float32, none, 2, 1), n.ints([]int{3}, 4, 2, 3))
		}, check: lastInts(1, 4, 1, 3)},
		{name: "broadcast of other sizes", err: "[2] for shape [3]", build: func(n *net) int {
			return n.op(g.OpBroadcastTo, nil, f32(3), n.input(g.Float32, none, 2), n.ints([]int{1}, 3))
		}},
		{name: "broadcast to fewer dimensions", err: "for shape [2]", build: func(n *net) int {
			return n.op(g.OpBroadcastTo, nil, f32(2), n.input(g.Float32, none, 1, 2), n.ints([]int{1}, 2))
		}},
		{name: "reversed", want: "REVERSE REVERSE", build: func(n *net) int {
			return n.op(g.OpReverseV2, nil, f32(2, 3, 4), n.input(g.Float32, none, 2, 3, 4), n.ints([]int{2}, -1, 0))
		}, check: lastInts(1, 0)},
		{name: "reversed twice", err: "axis 0 named twice", build: func(n *net) int {
			return n.op(g.OpReverseV2, nil, f32(2, 3), n.input(g.Float32, none, 2, 3), n.ints([]int{2}, -2, 0))
		}},
		{name: "reversed outside", err: "axis 2 of rank 2", build: func(n *net) int {
			return n.op(g.OpReverseV2, nil, f32(2, 3), n.input(g.Float32, none, 2, 3), n.ints([]int{1}, 2))
		}},
		{name: "all", want: "REDUCE_ALL", build: func(n *net) int {
			return n.op(g.OpReduceAll, g.ReducerOptions{KeepDims: true}, shaped(g.Bool, none, 1, 3), n.input(g.Bool, none, 2, 3), n.ints(nil, 0))
		}},
		{name: "numbers of booleans", want: "FILL FILL SELECT", build: func(n *net) int {
			return n.op(g.OpCast, nil, f32(2, 3), n.input(g.Bool, none, 2, 3))
		}},
		{name: "booleans of numbers", want: "NOT_EQUAL", build: func(n *net) int {
			return n.op(g.OpCast, nil, shaped(g.Bool, none, 2, 3), n.input(g.Uint8, q, 2, 3))
		}},
		{name: "long integers of floats", err: "FLOAT32 to INT64", build: func(n *net) int {
			return n.op(g.OpCast, nil, shaped(g.Int64, none, 2), n.input(g.Float32, none, 2))
		}},
		{name: "floats of long integers", want: "CAST", build: func(n *net) int {
			return n.op(g.OpCast, nil, f32(2), n.input(g.Int64, none, 2))
		}},
	})
}
