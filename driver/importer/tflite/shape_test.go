package tflite

import (
	"slices"
	"testing"

	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
	"github.com/nngpu/nngpu/driver/nn"
)

// lastInts checks input i of the last operation.
func lastInts(i int, want ...int32) func(*testing.T, *nn.Model) {
	return func(t *testing.T, m *nn.Model) {
		op := m.Main.Operations[len(m.Main.Operations)-1]
		if got := constantInts(t, m, op.Inputs[i]); !slices.Equal(got, want) {
			t.Errorf("input %d is %v, want %v", i, got, want)
		}
	}
}

func TestShapes(t *testing.T) {
	q := g.PerTensor(0.5, 3)
	open := func(t g.Tensor, signature ...int) g.Tensor { t.ShapeSignature = signature; return t }
	runTranslations(t, []translation{
		{name: "reshape by tensor", want: "RESHAPE", build: func(n *net) int {
			return n.op(g.OpReshape, nil, f32(3, 14), n.input(g.Float32, none, 2, 3, 7), n.ints([]int{2}, 3, -1))
		}, check: lastInts(1, 3, 14)},
		{name: "reshape by 64-bit tensor", want: "RESHAPE", build: func(n *net) int {
			return n.op(g.OpReshape, nil, f32(3, 14), n.input(g.Float32, none, 2, 3, 7), n.longs([]int{2}, 3, -1))
		}, check: lastInts(1, 3, 14)},
		{name: "reshape by options", want: "RESHAPE", build: func(n *net) int {
			return n.op(g.OpReshape, g.ReshapeOptions{NewShape: []int32{-1}}, f32(42), n.input(g.Float32, none, 2, 3, 7))
		}, check: lastInts(1, 42)},
		{name: "reshape by output", want: "RESHAPE", build: func(n *net) int {
			return n.op(g.OpReshape, nil, f32(6, 7), n.input(g.Float32, none, 2, 3, 7))
		}, check: lastInts(1, 6, 7)},
		{name: "reshape to rank 0", want: "RESHAPE", build: func(n *net) int {
			return n.op(g.OpReshape, g.ReshapeOptions{NewShape: []int32{0}}, f32(), n.input(g.Float32, none, 1, 1))
		}, check: lastInts(1, 1)},
		{name: "reshape by an empty tensor", want: "RESHAPE", build: func(n *net) int {
			s := n.tensor(g.Tensor{Type: g.Int32, Shape: []int{0}})
			return n.op(g.OpReshape, nil, f32(), n.input(g.Float32, none, 1, 1), s)
		}, check: lastInts(1, 1)},
		{name: "reshape by an open output", err: "shape is not a constant", build: func(n *net) int {
			return n.op(g.OpReshape, nil, open(f32(6, 7), -1, 7), n.input(g.Float32, none, 2, 3, 7))
		}},
		{name: "reshape by data", err: "input 1 (shape): not a constant", build: func(n *net) int {
			return n.op(g.OpReshape, nil, f32(6, 7), n.input(g.Float32, none, 2, 3, 7), n.input(g.Int32, none, 2))
		}},
		{name: "reshape of another size", err: "shape [5] for 42 elements", build: func(n *net) int {
			return n.op(g.OpReshape, g.ReshapeOptions{NewShape: []int32{5}}, f32(5), n.input(g.Float32, none, 2, 3, 7))
		}},
		{name: "64-bit shape out of range", err: "does not fit 32 bits", build: func(n *net) int {
			return n.op(g.OpReshape, nil, f32(42), n.input(g.Float32, none, 2, 3, 7), n.longs([]int{1}, 1<<32+42))
		}},
		{name: "reshape that changes the scale", err: "RESHAPE v1", build: func(n *net) int {
			return n.op(g.OpReshape, nil, shaped(g.Int8, g.PerTensor(1, 3), 6), n.input(g.Int8, q, 2, 3))
		}},
		{name: "open shapes follow the inputs", want: "RESHAPE", build: func(n *net) int {
			return n.op(g.OpReshape, g.ReshapeOptions{NewShape: []int32{-1, 7}}, open(f32(1, 7), -1, 7), n.input(g.Float32, none, 2, 3, 7))
		}},
		{name: "stale shape", err: "output has shape [5 7], the inputs give [6 7]", build: func(n *net) int {
			return n.op(g.OpReshape, g.ReshapeOptions{NewShape: []int32{-1, 7}}, f32(5, 7), n.input(g.Float32, none, 2, 3, 7))
		}},
		{name: "squeeze", want: "SQUEEZE", build: func(n *net) int {
			return n.op(g.OpSqueeze, g.SqueezeOptions{SqueezeDims: []int32{-2}}, f32(1, 3), n.input(g.Float32, none, 1, 1, 3))
		}, check: lastInts(1, -2)},
		{name: "squeeze all", want: "SQUEEZE", build: func(n *net) int {
			return n.op(g.OpSqueeze, nil, f32(3), n.input(g.Float32, none, 1, 1, 3))
		}, check: lastInts(1, 0, 1)},
		{name: "squeeze nothing", want: "RESHAPE", build: func(n *net) int {
			return n.op(g.OpSqueeze, nil, f32(2, 3), n.input(g.Float32, none, 2, 3))
		}},
		{name: "expand", want: "EXPAND_DIMS", build: func(n *net) int {
			return n.op(g.OpExpandDims, nil, f32(2, 3, 1), n.input(g.Float32, none, 2, 3), n.longs(nil, -1))
		}, check: lastInts(1, -1)},
		{name: "expand rank 0", want: "RESHAPE", build: func(n *net) int {
			return n.op(g.OpExpandDims, nil, f32(1), n.input(g.Float32, none), n.ints(nil, 0))
		}},
		{name: "joined", want: "CONCATENATION", build: func(n *net) int {
			x := n.input(g.Float32, none, 2, 3)
			return n.op(g.OpConcatenation, g.ConcatenationOptions{Axis: -1}, f32(2, 6), x, x)
		}, check: lastInts(2, 1)},
		{name: "transpose", want: "TRANSPOSE", build: func(n *net) int {
			return n.op(g.OpTranspose, nil, f32(7, 2, 3), n.input(g.Float32, none, 2, 3, 7), n.ints([]int{3}, 2, 0, 1))
		}, check: lastInts(1, 2, 0, 1)},
		{name: "concatenation", want: "CONCATENATION RELU6", build: func(n *net) int {
			x := n.input(g.Float32, none, 2, 3)
			return n.op(g.OpConcatenation, g.ConcatenationOptions{Axis: -1, Activation: g.ActivationRelu6}, f32(2, 8), x, x, n.floats(2, 2))
		}},
		{name: "split", want: "SPLIT RELU", build: func(n *net) int {
			y := n.split(-1, 2, n.input(g.Float32, none, 2, 6), f32(2, 3), f32(2, 3))
			return n.op(g.OpRelu, nil, f32(2, 3), y[1])
		}},
		{name: "split into other numbers", err: "2 outputs for 3 parts", build: func(n *net) int {
			return n.split(0, 3, n.input(g.Float32, none, 6), f32(3), f32(3))[0]
		}},
		{name: "split of other shapes", err: "output has shape [4], the inputs give [3]", build: func(n *net) int {
			return n.split(0, 2, n.input(g.Float32, none, 6), f32(3), f32(4))[0]
		}},
		{name: "split into one tensor twice", err: "is an output twice", build: func(n *net) int {
			y := n.split(0, 2, n.input(g.Float32, none, 6), f32(3))
			n.g.Operators[0].Outputs = append(n.g.Operators[0].Outputs, y[0])
			return y[0]
		}},
		{name: "split that does not divide", err: "axis 0 of [7] does not divide into 2 parts", build: func(n *net) int {
			return n.split(0, 2, n.input(g.Float32, none, 7), f32(3), f32(3))[0]
		}},
		{name: "slice", want: "SLICE", build: func(n *net) int {
			return n.op(g.OpSlice, nil, f32(2, 4), n.input(g.Float32, none, 5, 6), n.ints([]int{2}, 1, 2), n.longs([]int{2}, 2, -1))
		}, check: lastInts(2, 2, -1)},
		{name: "slice beyond the end", err: "3 positions from 4 on of 6", build: func(n *net) int {
			return n.op(g.OpSlice, nil, f32(2, 3), n.input(g.Float32, none, 5, 6), n.ints([]int{2}, 1, 4), n.ints([]int{2}, 2, 3))
		}},
		{name: "slice of an open begin", err: "not a constant", build: func(n *net) int {
			return n.op(g.OpSlice, nil, f32(3), n.input(g.Float32, none, 6), n.input(g.Int32, none, 1), n.ints(nil, 3))
		}},
		{name: "top k", want: "TOPK_V2 ABS", build: func(n *net) int {
			y := n.topK(n.input(g.Float32, none, 2, 6), n.ints(nil, 3), f32(2, 3), shaped(g.Int32, none, 2, 3))
			return n.op(g.OpAbs, nil, f32(2, 3), y[0])
		}},
		{name: "top k of more than there are", err: "the 7 largest of 6", build: func(n *net) int {
			return n.topK(n.input(g.Float32, none, 6), n.ints(nil, 7), f32(7), shaped(g.Int32, none, 7))[0]
		}},
		{name: "top k with an open k", err: "not a constant", build: func(n *net) int {
			return n.topK(n.input(g.Float32, none, 6), n.input(g.Int32, none, 1), f32(1), shaped(g.Int32, none, 1))[0]
		}},
		{name: "top k of two k", err: "2 numbers for k", build: func(n *net) int {
			return n.topK(n.input(g.Float32, none, 6), n.ints([]int{2}, 1, 2), f32(1), shaped(g.Int32, none, 1))[0]
		}},
		{name: "top k without indices", err: "1 outputs", build: func(n *net) int {
			return n.topK(n.input(g.Float32, none, 6), n.ints(nil, 1), f32(1))[0]
		}},
		{name: "top k with short indices", err: "INT16", build: func(n *net) int {
			return n.topK(n.input(g.Float32, none, 6), n.ints(nil, 1), f32(1), shaped(g.Int16, none, 1))[0]
		}},
		{name: "mean, no axes kept", want: "MEAN", build: func(n *net) int {
			return n.op(g.OpMean, g.ReducerOptions{}, f32(), n.input(g.Float32, none, 2, 3), n.ints([]int{2}, 0, 1))
		}},
		{name: "mean over one axis", want: "MEAN", build: func(n *net) int {
			return n.op(g.OpMean, g.ReducerOptions{KeepDims: true}, f32(2, 1), n.input(g.Float32, none, 2, 3), n.ints(nil, -1))
		}, check: lastInts(1, -1)},
		{name: "sum", want: "REDUCE_SUM", build: func(n *net) int {
			return n.op(g.OpSum, g.ReducerOptions{}, f32(2), n.input(g.Float32, none, 2, 3), n.ints(nil, -1))
		}, check: lastInts(1, -1)},
		{name: "largest", want: "REDUCE_MAX", build: func(n *net) int {
			return n.op(g.OpReduceMax, g.ReducerOptions{KeepDims: true}, shaped(g.Int8, q, 1, 3), n.input(g.Int8, q, 2, 3), n.ints(nil, 0))
		}},
		{name: "smallest", want: "REDUCE_MIN", build: func(n *net) int {
			return n.op(g.OpReduceMin, g.ReducerOptions{}, f32(2), n.input(g.Float32, none, 2, 3), n.ints(nil, 1))
		}, check: lastInts(1, 1)},
		{name: "smallest of another scale", err: "REDUCE_MIN", build: func(n *net) int {
			return n.op(g.OpReduceMin, g.ReducerOptions{}, shaped(g.Int8, g.PerTensor(1, 3), 3), n.input(g.Int8, q, 2, 3), n.ints(nil, 0))
		}},
		{name: "product, no axes kept", want: "REDUCE_PROD", build: func(n *net) int {
			return n.op(g.OpReduceProd, g.ReducerOptions{}, f32(), n.input(g.Float32, none, 2, 3), n.ints([]int{2}, 0, 1))
		}},
		{name: "any", want: "REDUCE_ANY", build: func(n *net) int {
			return n.op(g.OpReduceAny, g.ReducerOptions{}, shaped(g.Bool, none, 3), n.input(g.Bool, none, 2, 3), n.ints(nil, 0))
		}},
		{name: "axes of the data", err: "not a constant", build: func(n *net) int {
			return n.op(g.OpSum, g.ReducerOptions{}, f32(3), n.input(g.Float32, none, 2, 3), n.input(g.Int32, none, 1))
		}},
		{name: "place of the largest", want: "ARGMAX", build: func(n *net) int {
			return n.op(g.OpArgMax, g.ArgMaxOptions{OutputType: g.Int32}, shaped(g.Int32, none, 2), n.input(g.Int8, q, 2, 3), n.ints(nil, 1))
		}},
		{name: "place of the smallest", want: "ARGMIN", build: func(n *net) int {
			return n.op(g.OpArgMin, g.ArgMinOptions{OutputType: g.Int32}, shaped(g.Int32, none), n.input(g.Float32, none, 6), n.ints([]int{1}, 0))
		}},
		{name: "places of 64 bits", want: "ARGMAX", build: func(n *net) int {
			return n.op(g.OpArgMax, g.ArgMaxOptions{OutputType: g.Int64}, shaped(g.Int64, none, 2), n.input(g.Float32, none, 2, 3), n.ints(nil, 1))
		}},
		{name: "two axes", err: "2 numbers for axis", build: func(n *net) int {
			return n.op(g.OpArgMax, nil, shaped(g.Int32, none, 2), n.input(g.Float32, none, 2, 3), n.ints([]int{2}, 1, 0))
		}},
		{name: "pad", want: "PAD", build: func(n *net) int {
			return n.op(g.OpPad, nil, f32(5, 3), n.input(g.Float32, none, 2, 3), n.longs([]int{2, 2}, 1, 2, 0, 0))
		}, check: lastInts(1, 1, 2, 0, 0)},
		{name: "pad with a value", want: "PAD_V2", build: func(n *net) int {
			v := n.tensor(g.Tensor{Type: g.Int8, Quant: q, Data: []byte{0xF0}})
			return n.op(g.OpPadv2, nil, shaped(g.Int8, q, 5, 3), n.input(g.Int8, q, 2, 3), n.ints([]int{2, 2}, 1, 2, 0, 0), v)
		}, check: lastInts(2, -16)},
		{name: "pad value of another scale", err: "type and quantisation", build: func(n *net) int {
			v := n.tensor(g.Tensor{Type: g.Int8, Quant: g.PerTensor(1, 0), Data: []byte{0xF0}})
			return n.op(g.OpPadv2, nil, shaped(g.Int8, q, 5, 3), n.input(g.Int8, q, 2, 3), n.ints([]int{2, 2}, 1, 2, 0, 0), v)
		}},
		{name: "mirror pad", want: "MIRROR_PAD", build: func(n *net) int {
			return n.op(g.OpMirrorPad, g.MirrorPadOptions{Mode: g.Symmetric}, f32(5, 3), n.input(g.Float32, none, 2, 3), n.ints([]int{2, 2}, 1, 2, 0, 0))
		}, check: lastInts(2, 1)},
		{name: "resize bilinear", want: "RESIZE_BILINEAR", build: func(n *net) int {
			return n.op(g.OpResizeBilinear, g.ResizeBilinearOptions{HalfPixelCenters: true}, f32(1, 4, 9, 3), n.input(g.Float32, none, 1, 2, 3, 3), n.ints([]int{2}, 4, 9))
		}, check: lastInts(1, 9)},
		{name: "resize nearest", want: "RESIZE_NEAREST_NEIGHBOR", build: func(n *net) int {
			return n.op(g.OpResizeNearestNeighbor, g.ResizeNearestNeighborOptions{AlignCorners: true}, f32(1, 4, 9, 3), n.input(g.Float32, none, 1, 2, 3, 3), n.ints([]int{2}, 4, 9))
		}, check: lastInts(2, 4)},
	})
}
