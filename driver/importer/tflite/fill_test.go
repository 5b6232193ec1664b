package tflite

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
	"github.com/nngpu/nngpu/driver/nn"
)

func TestFills(t *testing.T) {
	q := g.PerTensor(0.5, 3)
	value := func(want float32) func(*testing.T, *nn.Model) {
		return func(t *testing.T, m *nn.Model) {
			op := m.Main.Operations[0]
			require.Equal(t, []float32{want}, constantFloats(t, m, op.Inputs[1]))
		}
	}
	i32 := func(shape ...int) g.Tensor { return shaped(g.Int32, none, shape...) }
	runTranslations(t, []translation{
		{name: "floats", want: "FILL", build: func(n *net) int {
			n.input(g.Float32, none, 1)
			return n.op(g.OpFill, nil, f32(2, 3), n.longs([]int{2}, 2, 3), n.floats())
		}, check: value(0)},
		{name: "of a number that is computed", want: "RESHAPE TILE", build: func(n *net) int {
			return n.op(g.OpFill, nil, shaped(g.Int8, q, 2, 3), n.ints([]int{2}, 2, 3), n.input(g.Int8, q))
		}, check: lastInts(1, 2, 3)},
		{name: "of another type", err: "a value of type INT32", build: func(n *net) int {
			n.input(g.Float32, none, 1)
			return n.op(g.OpFill, nil, f32(2), n.ints([]int{1}, 2), n.ints(nil, 7))
		}},
		{name: "of two numbers", err: "2 values for shape", build: func(n *net) int {
			return n.op(g.OpFill, nil, f32(2), n.ints([]int{1}, 2), n.input(g.Float32, none, 2))
		}},
		{name: "of an empty shape", err: "size 0", build: func(n *net) int {
			n.input(g.Float32, none, 1)
			return n.op(g.OpFill, nil, f32(1), n.ints([]int{1}, 0), n.floats())
		}},
		{name: "of 2^62 floats", err: "FILL", build: func(n *net) int {
			n.input(g.Float32, none, 1)
			return n.op(g.OpFill, nil, f32(), n.ints([]int{2}, 1<<30, 1<<30), n.floats())
		}},
		{name: "zeros", want: "FILL", build: func(n *net) int { return n.op(g.OpZerosLike, nil, i32(5, 7), n.input(g.Int32, none, 5, 7)) }},
		{name: "zeros of booleans", err: "TENSOR_BOOL8 instead of", build: func(n *net) int {
			return n.op(g.OpZerosLike, nil, shaped(g.Bool, none, 5), n.input(g.Bool, none, 5))
		}},
		{name: "a range", want: "ADD", build: func(n *net) int {
			r := n.op(g.OpRange, nil, i32(4), n.ints(nil, 7), n.ints(nil, -4), n.ints(nil, -3))
			return n.op(g.OpAdd, nil, i32(4), n.input(g.Int32, none, 4), r)
		}, check: lastInts(1, 7, 4, 1, -2)},
		{name: "an empty range", err: "numbers from 1 to 1 by 1", build: func(n *net) int {
			n.input(g.Float32, none, 1)
			return n.op(g.OpRange, nil, i32(), n.ints(nil, 1), n.ints(nil, 1), n.ints(nil, 1))
		}},
		{name: "a range by nothing", err: "by 0", build: func(n *net) int {
			n.input(g.Float32, none, 1)
			return n.op(g.OpRange, nil, i32(), n.ints(nil, 1), n.ints(nil, 5), n.ints(nil, 0))
		}},
		{name: "a range in the other direction", err: "from 1 to 5 by -1", build: func(n *net) int {
			n.input(g.Float32, none, 1)
			return n.op(g.OpRange, nil, i32(), n.ints(nil, 1), n.ints(nil, 5), n.ints(nil, -1))
		}},
		{name: "a range without end", err: "numbers from", build: func(n *net) int {
			n.input(g.Float32, none, 1)
			return n.op(g.OpRange, nil, i32(), n.ints(nil, 0), n.ints(nil, 1<<31-1), n.ints(nil, 1))
		}},
		{name: "a range of the data", err: "input 1 (limit) is not a single constant", build: func(n *net) int {
			return n.op(g.OpRange, nil, i32(), n.ints(nil, 0), n.input(g.Int32, none), n.ints(nil, 1))
		}},
	})
}

func TestMultinomial(t *testing.T) {
	draw := func(n *net, out g.Tensor, count int) int {
		return n.op(149, nil, out, n.input(g.Float32, none, 2, 7), count)
	}
	runTranslations(t, []translation{
		{name: "samples", want: "RANDOM_MULTINOMIAL", build: func(n *net) int { return draw(n, shaped(g.Int64, none, 2, 5), n.ints(nil, 5)) },
			check: lastInts(2, 0, 0)},
		{name: "no samples", err: "samples 0", build: func(n *net) int { return draw(n, shaped(g.Int32, none, 2, 1), n.ints(nil, 0)) }},
		{name: "as many as the data say", err: "not a constant", build: func(n *net) int {
			return draw(n, shaped(g.Int32, none, 2, 1), n.input(g.Int32, none, 1))
		}},
		{name: "floats", err: "TENSOR_FLOAT32", build: func(n *net) int { return draw(n, f32(2, 5), n.ints(nil, 5)) }},
	})
}

func TestArithmeticOfOthers(t *testing.T) {
	i32 := func(shape ...int) g.Tensor { return shaped(g.Int32, none, shape...) }
	runTranslations(t, []translation{
		{name: "rounded quotient", want: "DIV FLOOR", build: func(n *net) int {
			x := n.input(g.Float32, none, 5)
			return n.op(g.OpFloorDiv, nil, f32(5), x, x)
		}},
		{name: "rounded quotient of integers", want: "DIV", build: func(n *net) int {
			x := n.input(g.Int32, none, 5)
			return n.op(g.OpFloorDiv, nil, i32(5), x, x)
		}},
		{name: "remainder of integers", want: "DIV MUL SUB", build: func(n *net) int {
			x := n.input(g.Int32, none, 5)
			return n.op(g.OpFloorMod, nil, i32(5), x, n.ints([]int{1}, 3))
		}},
		{name: "remainder of floats", err: "remainder of FLOAT32", build: func(n *net) int {
			x := n.input(g.Float32, none, 5)
			return n.op(g.OpFloorMod, nil, f32(5), x, x)
		}},
		{name: "rounded up", want: "NEG FLOOR NEG", build: func(n *net) int { return n.op(g.OpCeil, nil, f32(5), n.input(g.Float32, none, 5)) }},
		{name: "sum of three", want: "ADD ADD", build: func(n *net) int {
			x := n.input(g.Float32, none, 5)
			return n.op(g.OpAddN, nil, f32(5), x, x, x)
		}},
		{name: "sum of one", want: "RESHAPE", build: func(n *net) int { return n.op(g.OpAddN, nil, f32(5), n.input(g.Float32, none, 5)) }},
		{name: "sum of two shapes", err: "input 1 has shape [1]", build: func(n *net) int {
			return n.op(g.OpAddN, nil, f32(5), n.input(g.Float32, none, 5), n.input(g.Float32, none, 1))
		}},
		{name: "sum of bytes", err: "sum of INT8", build: func(n *net) int {
			return n.op(g.OpAddN, nil, shaped(g.Int8, none, 5), n.input(g.Int8, none, 5))
		}},
		{name: "cosine", want: "MUL SIN MUL MUL ADD", build: func(n *net) int { return n.op(g.OpCos, nil, f32(5), n.input(g.Float32, none, 5)) }},
		{name: "from 0 to 1", want: "RELU MINIMUM", build: func(n *net) int { return n.op(g.OpRelu0To1, nil, f32(5), n.input(g.Float32, none, 5)) }},
		{name: "from 0 to 1 of bytes", err: "RELU_0_TO_1 of INT8", build: func(n *net) int {
			return n.op(g.OpRelu0To1, nil, shaped(g.Int8, none, 5), n.input(g.Int8, none, 5))
		}},
		{name: "GELU", want: "MUL MUL MUL ADD MUL TANH MUL ADD MUL", build: func(n *net) int {
			return n.op(g.OpGelu, g.GeluOptions{Approximate: true}, f32(5), n.input(g.Float32, none, 5))
		}},
		{name: "GELU by the error function", err: "error function", build: func(n *net) int {
			return n.op(g.OpGelu, nil, f32(5), n.input(g.Float32, none, 5))
		}},
	})
}

// chain adds operators on the shape of x and returns the last result: the batch, the product of the rest, and -1 in place of the former.
func (n *net) shapeOf(x int, rank int) int {
	return n.op(g.OpShape, g.ShapeOptions{OutType: g.Int32}, shaped(g.Int32, none, rank), x)
}

func TestComputedShapes(t *testing.T) {
	i32 := func(shape ...int) g.Tensor { return shaped(g.Int32, none, shape...) }
	part := func(n *net, shape int, at int32) int {
		return n.op(g.OpStridedSlice, g.StridedSliceOptions{ShrinkAxisMask: 1}, i32(), shape, n.ints([]int{1}, at), n.ints([]int{1}, at+1), n.ints([]int{1}, 1))
	}
	runTranslations(t, []translation{
		{name: "flattened", want: "RESHAPE", build: func(n *net) int {
			x := n.input(g.Float32, none, 2, 3, 4)
			to := n.op(g.OpPack, g.PackOptions{ValuesCount: 2}, i32(2), part(n, n.shapeOf(x, 3), 0), n.ints(nil, -1))
			return n.op(g.OpReshape, nil, f32(2, 12), x, to)
		}, check: lastInts(1, 2, 12)},
		{name: "the last two joined", want: "RESHAPE", build: func(n *net) int {
			x := n.input(g.Float32, none, 2, 3, 4)
			s := n.shapeOf(x, 3)
			first := n.op(g.OpStridedSlice, g.StridedSliceOptions{BeginMask: 1}, i32(1), s, n.ints([]int{1}, 0), n.ints([]int{1}, 1), n.ints([]int{1}, 1))
			rest := n.op(g.OpSlice, nil, i32(2), s, n.ints([]int{1}, 1), n.ints([]int{1}, -1))
			all := n.op(g.OpReduceProd, g.ReducerOptions{KeepDims: true}, i32(1), rest, n.ints([]int{1}, 0))
			return n.op(g.OpReshape, nil, f32(2, 12), x, n.op(g.OpConcatenation, nil, i32(2), first, all))
		}, check: lastInts(1, 2, 12)},
		{name: "by arithmetic", want: "RESHAPE", build: func(n *net) int {
			x := n.input(g.Float32, none, 6, 4)
			s := n.parts(g.OpUnpack, g.UnpackOptions{Num: 2}, []g.Tensor{i32(), i32()}, n.shapeOf(x, 2))
			half := n.op(g.OpFloorDiv, nil, i32(), s[0], n.ints(nil, 2))
			double := n.op(g.OpMul, nil, i32(), n.op(g.OpCast, nil, i32(), s[1]), n.ints(nil, 2))
			return n.op(g.OpReshape, nil, f32(3, 8), x, n.op(g.OpPack, g.PackOptions{ValuesCount: 2}, i32(2), half, double))
		}, check: lastInts(1, 3, 8)},
		{name: "a fill of a shape", want: "FILL ADD", build: func(n *net) int {
			x := n.input(g.Float32, none, 6, 4)
			return n.op(g.OpAdd, nil, f32(6, 4), x, n.op(g.OpFill, nil, f32(6, 4), n.shapeOf(x, 2), n.floats()))
		}},
		{name: "positions along a dimension", want: "ADD", build: func(n *net) int {
			x := n.input(g.Int32, none, 2, 4)
			r := n.op(g.OpRange, nil, i32(4), n.ints(nil, 0), part(n, n.shapeOf(x, 2), 1), n.ints(nil, 1))
			return n.op(g.OpAdd, nil, i32(2, 4), x, r)
		}, check: lastInts(1, 0, 1, 2, 3)},
		{name: "the last axis by rank", want: "REDUCE_SUM", build: func(n *net) int {
			x := n.input(g.Float32, none, 2, 4)
			last := n.op(g.OpSub, nil, i32(), n.op(g.OpRank, nil, i32(), x), n.ints(nil, 1))
			return n.op(g.OpSum, nil, f32(2), x, last)
		}, check: lastInts(1, 1)},
		{name: "the shape itself", want: "RESHAPE", build: func(n *net) int { return n.shapeOf(n.input(g.Float32, none, 2, 3), 2) }},
		{name: "an overflow", err: "RESHAPE v1", build: func(n *net) int {
			x := n.input(g.Float32, none, 2, 4)
			s := n.op(g.OpMul, nil, i32(2), n.shapeOf(x, 2), n.ints([]int{1}, 1<<30))
			return n.op(g.OpReshape, nil, f32(2, 4), x, s)
		}},
		{name: "of rank 0", err: "rank 0 is empty", build: func(n *net) int { return n.shapeOf(n.input(g.Float32, none), 0) }},
		{name: "by a division by zero", err: "RESHAPE v1", build: func(n *net) int {
			x := n.input(g.Float32, none, 2, 4)
			return n.op(g.OpReshape, nil, f32(2, 4), x, n.op(g.OpFloorDiv, nil, i32(2), n.shapeOf(x, 2), n.ints([]int{1}, 0)))
		}},
	})
}

// TestReshapeOfComputedShapes: a network of which only RESHAPE follows from dimensions may have others.
func TestReshapeOfComputedShapes(t *testing.T) {
	flat := func(use func(n *net, x, to int) int) []byte {
		n := &net{}
		x := n.input(g.Float32, none, 1, 3, 4)
		s := n.shapeOf(x, 3)
		first := n.op(g.OpStridedSlice, g.StridedSliceOptions{ShrinkAxisMask: 1}, shaped(g.Int32, none), s, n.ints([]int{1}, 0), n.ints([]int{1}, 1), n.ints([]int{1}, 1))
		to := n.op(g.OpPack, g.PackOptions{ValuesCount: 2}, shaped(g.Int32, none, 2), first, n.ints(nil, 12))
		return n.file(t, use(n, x, to))
	}
	reshaped, err := Import(flat(func(n *net, x, to int) int { return n.op(g.OpReshape, nil, f32(1, 12), x, to) }))
	require.NoError(t, err)
	more, err := reshaped.Reshape([]nn.Dims{{5, 3, 4}})
	require.NoError(t, err)
	require.True(t, slices.Equal([]int{5, 12}, more.Outputs[0].Shape), more.Outputs[0].Shape)

	filled, err := Import(flat(func(n *net, _, to int) int { return n.op(g.OpFill, nil, f32(1, 12), to, n.floats()) }))
	require.NoError(t, err)
	_, err = filled.Reshape([]nn.Dims{{5, 3, 4}})
	require.ErrorIs(t, err, nn.ErrUnsupported)
}
