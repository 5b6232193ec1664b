package tflite

import (
	"testing"

	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
)

func TestMovedBooleans(t *testing.T) {
	b := func(shape ...int) g.Tensor { return shaped(g.Bool, none, shape...) }
	runTranslations(t, []translation{
		{name: "once there and back", want: "FILL FILL SELECT RESHAPE NOT_EQUAL EXPAND_DIMS NOT_EQUAL TILE NOT_EQUAL", build: func(n *net) int {
			x := n.op(g.OpReshape, g.ReshapeOptions{NewShape: []int32{3, 2}}, b(3, 2), n.input(g.Bool, none, 6))
			x = n.op(g.OpExpandDims, nil, b(1, 3, 2), x, n.ints(nil, 0))
			return n.op(g.OpTile, nil, b(4, 3, 2), x, n.ints([]int{3}, 4, 1, 1))
		}},
		{name: "parts", want: "FILL FILL SELECT SPLIT NOT_EQUAL NOT_EQUAL", build: func(n *net) int {
			return n.split(1, 2, n.input(g.Bool, none, 3, 4), b(3, 2), b(3, 2))[1]
		}},
		{name: "by indices", want: "FILL FILL SELECT GATHER NOT_EQUAL", build: func(n *net) int {
			return n.op(g.OpGather, nil, b(2, 4), n.input(g.Bool, none, 3, 4), n.ints([]int{2}, 2, 0))
		}},
		{name: "to floats", err: "BOOL becomes FLOAT32", build: func(n *net) int {
			return n.op(g.OpReshape, g.ReshapeOptions{NewShape: []int32{3, 2}}, f32(3, 2), n.input(g.Bool, none, 6))
		}},
		{name: "with floats", err: "input 1: booleans and TENSOR_FLOAT32", build: func(n *net) int {
			return n.op(g.OpPack, g.PackOptions{ValuesCount: 2}, b(2, 3), n.input(g.Bool, none, 3), n.input(g.Float32, none, 3))
		}},
		{name: "of floats", err: "type TENSOR_BOOL8", build: func(n *net) int {
			return n.op(g.OpTile, nil, b(4), n.input(g.Float32, none, 2), n.ints([]int{1}, 2))
		}},
	})
}

func TestMovedIntegers(t *testing.T) {
	i32 := func(shape ...int) g.Tensor { return shaped(g.Int32, none, shape...) }
	join := func(n *net, axis int32, out g.Tensor, in ...int) int {
		return n.op(g.OpConcatenation, g.ConcatenationOptions{Axis: axis}, out, in...)
	}
	runTranslations(t, []translation{
		{name: "squeezed", want: "RESHAPE", build: func(n *net) int {
			return n.op(g.OpSqueeze, g.SqueezeOptions{SqueezeDims: []int32{-2}}, i32(2, 3), n.input(g.Int32, none, 2, 1, 3))
		}, check: lastInts(1, 2, 3)},
		{name: "squeezed, not 1", err: "axis 1 of [2 3] is not 1", build: func(n *net) int {
			return n.op(g.OpSqueeze, g.SqueezeOptions{SqueezeDims: []int32{1}}, i32(2), n.input(g.Int32, none, 2, 3))
		}},
		{name: "transposed", want: "RESHAPE GATHER RESHAPE", build: func(n *net) int {
			return n.op(g.OpTranspose, nil, i32(3, 2), n.input(g.Int32, none, 2, 3), n.ints([]int{2}, 1, 0))
		}},
		{name: "transposed by no permutation", err: "permutation [1 1]", build: func(n *net) int {
			return n.op(g.OpTranspose, nil, i32(3, 2), n.input(g.Int32, none, 2, 3), n.ints([]int{2}, 1, 1))
		}},
		{name: "transposed, millions", err: "exceed the size of the file", build: func(n *net) int {
			return n.op(g.OpTranspose, nil, i32(3<<20, 2), n.input(g.Int32, none, 2, 3<<20), n.ints([]int{2}, 1, 0))
		}},
		{name: "joined parts of one size", want: "PACK RESHAPE", build: func(n *net) int {
			x := n.input(g.Int32, none, 2, 3)
			return join(n, -1, i32(2, 6), x, x)
		}, check: lastInts(1, 2, 6)},
		{name: "joined parts of other sizes", want: "SPLIT PACK RESHAPE", build: func(n *net) int {
			return join(n, 1, i32(2, 4), n.input(g.Int32, none, 2, 3), n.input(g.Int32, none, 2, 1))
		}, check: lastInts(1, 2, 4)},
		{name: "joined, too many", err: "65 positions of INT32", build: func(n *net) int {
			return join(n, 0, i32(65), n.input(g.Int32, none, 64), n.input(g.Int32, none, 1))
		}},
		{name: "joined, of other shapes", err: "input 1 has shape [3]", build: func(n *net) int {
			return join(n, 0, i32(5), n.input(g.Int32, none, 2, 1), n.input(g.Int32, none, 3))
		}},
		{name: "joined with an activation", err: "an activation of INT32", build: func(n *net) int {
			x := n.input(g.Int32, none, 2)
			return n.op(g.OpConcatenation, g.ConcatenationOptions{Activation: g.ActivationRelu}, i32(4), x, x)
		}},
	})
}
