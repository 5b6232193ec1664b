package tflite

import (
	"testing"

	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
)

// shapedFiles are networks of operators whose parameters are lists of numbers, and of cells.
func shapedFiles(tb testing.TB) [][]byte {
	i32 := func(shape ...int) g.Tensor { return shaped(g.Int32, none, shape...) }
	var files [][]byte
	for _, build := range []func(n *net) int{
		func(n *net) int {
			x := n.input(g.Float32, none, 2, 3, 4)
			s := n.shapeOf(x, 3)
			first := n.op(g.OpStridedSlice, g.StridedSliceOptions{ShrinkAxisMask: 1}, i32(), s, n.ints([]int{1}, 0), n.ints([]int{1}, 1), n.ints([]int{1}, 1))
			to := n.op(g.OpPack, g.PackOptions{ValuesCount: 2}, i32(2), first, n.ints(nil, 12))
			x = n.op(g.OpReshape, nil, f32(2, 12), x, to)
			x = n.op(g.OpStridedSlice, g.StridedSliceOptions{NewAxisMask: 1, EllipsisMask: 2}, f32(1, 2, 4), x,
				n.ints([]int{3}, 0, 0, 1), n.ints([]int{3}, 0, 0, -1), n.ints([]int{3}, 1, 1, 3))
			x = n.op(g.OpTile, nil, f32(2, 2, 4), x, n.ints([]int{3}, 2, 1, 1))
			x = n.op(g.OpGatherND, nil, f32(3, 4), x, n.ints([]int{3, 2}, 0, 1, 1, 0, 1, 1))
			x = n.op(g.OpReverseV2, nil, f32(3, 4), x, n.longs([]int{1}, -1))
			parts := n.parts(g.OpSplitV, g.SplitVOptions{NumSplits: 2}, []g.Tensor{f32(3, 1), f32(3, 3)}, x, n.ints([]int{2}, 1, -1), n.ints(nil, 1))
			return n.op(g.OpGather, g.GatherOptions{Axis: 1, BatchDims: 1}, f32(3, 2), parts[1], n.ints([]int{3, 2}, 0, 1, 2, 1, 0, 2))
		},
		func(n *net) int {
			x := n.input(g.Int32, none, 4)
			r := n.op(g.OpRange, nil, i32(4), n.ints(nil, 0), n.ints(nil, 8), n.ints(nil, 2))
			f := n.op(g.OpFill, nil, i32(4), n.ints([]int{1}, 4), n.ints(nil, 3))
			x = n.op(g.OpFloorMod, nil, i32(4), n.op(g.OpAddN, nil, i32(4), x, r, f), f)
			x = n.op(g.OpStridedSlice, nil, i32(2), x, n.ints([]int{1}, 3), n.ints([]int{1}, 0), n.ints([]int{1}, -2))
			return n.op(g.OpCast, nil, f32(2), n.op(g.OpCast, nil, shaped(g.Bool, none, 2), x))
		},
		func(n *net) int {
			return n.lstm(g.UnidirectionalSequenceLSTMOptions{Activation: g.ActivationTanh}, nil)
		},
		func(n *net) int { return n.lstmCell(g.LSTMOptions{Activation: g.ActivationTanh}, f32(3, 4)) },
		func(n *net) int {
			return n.cell(g.OpUnidirectionalSequenceRNN, g.SequenceRNNOptions{}, []int{3, 5, 2}, []int{3, 5, 4})
		},
	} {
		n := &net{}
		files = append(files, n.file(tb, build(n)))
	}
	return files
}

// TestShapedFiles: they are sound, and stay harmless with a byte changed.
func TestShapedFiles(t *testing.T) {
	for i, data := range shapedFiles(t) {
		if _, err := importFile(data); err != nil {
			t.Errorf("file %d: %v", i, err)
		}
		for at := range data {
			for _, v := range []byte{0, 1, 127, 255} {
				b := append([]byte(nil), data...)
				b[at] = v
				mustNotPanic(t, b)
			}
		}
	}
}
