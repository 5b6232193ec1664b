package tflite

import (
	"testing"

	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
)

// strided adds a STRIDED_SLICE of a tensor of the output's type.
func (n *net) strided(o g.StridedSliceOptions, out g.Tensor, shape []int, begin, end, strides []int32) int {
	list := func(v []int32) int { return n.ints([]int{len(v)}, v...) }
	return n.op(g.OpStridedSlice, o, out, n.input(out.Type, out.Quant, shape...), list(begin), list(end), list(strides))
}

func TestStridedSlice(t *testing.T) {
	q := g.PerTensor(0.5, 3)
	i32 := func(shape ...int) g.Tensor { return shaped(g.Int32, none, shape...) }
	type ints = []int32
	runTranslations(t, []translation{
		{name: "positions", want: "STRIDED_SLICE", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{}, f32(2, 2), []int{5, 7}, ints{1, -3}, ints{4, -1}, ints{2, 1})
		}, check: lastInts(2, 4, -1)},
		{name: "masks", want: "STRIDED_SLICE", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{BeginMask: 1, EndMask: 3}, shaped(g.Int8, q, 5, 4), []int{5, 7}, ints{9, 3}, ints{0, 0}, ints{1, 1})
		}, check: lastInts(5, 3)},
		{name: "backward to the first", want: "STRIDED_SLICE", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{EndMask: 1}, f32(3), []int{5}, ints{-1}, ints{0}, ints{-2})
		}, check: lastInts(5, 1)},
		{name: "dropped, end ignored", want: "STRIDED_SLICE", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{ShrinkAxisMask: 2}, f32(5), []int{5, 7}, ints{0, -1}, ints{5, 0}, ints{1, 1})
		}, check: lastInts(6, 2)},
		{name: "everything dropped", want: "STRIDED_SLICE", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{ShrinkAxisMask: 3}, f32(), []int{5, 7}, ints{2, 2}, ints{3, 3}, ints{1, 1})
		}},
		{name: "ellipsis", want: "STRIDED_SLICE", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{EllipsisMask: 2}, f32(2, 3, 4, 1), []int{5, 3, 4, 7}, ints{1, 0, 3}, ints{3, 0, 4}, ints{1, 1, 1})
		}, check: lastInts(1, 1, 0, 0, 3)},
		{name: "new axes", want: "STRIDED_SLICE RESHAPE", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{NewAxisMask: 5, EllipsisMask: 8}, f32(1, 3, 1, 7), []int{5, 7}, ints{0, 1, 0, 0}, ints{0, 4, 0, 0}, ints{1, 1, 1, 1})
		}, check: lastInts(1, 1, 3, 1, 7)},
		{name: "new axis wins over dropping", want: "STRIDED_SLICE RESHAPE", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{NewAxisMask: 1, ShrinkAxisMask: 1}, f32(1, 5), []int{5}, ints{0}, ints{0}, ints{1})
		}, check: lastInts(1, 1, 5)},
		{name: "ends as lengths", want: "STRIDED_SLICE", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{Offset: true}, f32(4), []int{7}, ints{-4}, ints{4}, ints{1})
		}, check: lastInts(2, 7)},
		{name: "integers", want: "SLICE", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{EndMask: 1}, i32(3, 2), []int{5, 7}, ints{2, 1}, ints{0, 3}, ints{1, 1})
		}, check: lastInts(2, -1, 2)},
		{name: "integers by strides", want: "SLICE GATHER GATHER RESHAPE", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{ShrinkAxisMask: 4}, i32(2, 3), []int{5, 7, 3}, ints{4, 1, 1}, ints{0, 7, 2}, ints{-2, 2, 1})
		}, check: lastInts(1, 2, 3)},
		{name: "integers, all backward", want: "GATHER", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{BeginMask: 1, EndMask: 1}, i32(4), []int{4}, ints{0}, ints{0}, ints{-1})
		}, check: lastInts(2, 3, 2, 1, 0)},
		{name: "stride 2^31-1", want: "STRIDED_SLICE", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{}, f32(1), []int{5}, ints{3}, ints{5}, ints{1<<31 - 1})
		}, check: lastInts(3, 1<<31-1)},

		{name: "nothing left", err: "nothing is left of 5", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{}, f32(1), []int{5}, ints{3}, ints{3}, ints{1})
		}},
		{name: "nothing left backward", err: "nothing is left of 5", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{}, f32(1), []int{5}, ints{1}, ints{4}, ints{-1})
		}},
		{name: "stride 0", err: "stride 0", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{}, f32(1), []int{5}, ints{1}, ints{4}, ints{0})
		}},
		{name: "dropped outside", err: "position 5 of 5", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{ShrinkAxisMask: 1}, f32(), []int{5}, ints{5}, ints{6}, ints{1})
		}},
		{name: "dropped backward", err: "with stride -1", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{ShrinkAxisMask: 1}, f32(), []int{5}, ints{2}, ints{1}, ints{-1})
		}},
		{name: "two ellipses", err: "two ellipses", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{EllipsisMask: 3}, f32(5), []int{5}, ints{0, 0}, ints{0, 0}, ints{1, 1})
		}},
		{name: "too many positions", err: "2 positions for rank 1", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{}, f32(5), []int{5}, ints{0, 0}, ints{1, 1}, ints{1, 1})
		}},
		{name: "lists of two lengths", err: "1, 2 and 1 positions and strides", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{}, f32(5), []int{5}, ints{0}, ints{1, 1}, ints{1})
		}},
		{name: "another scale", err: "STRIDED_SLICE", build: func(n *net) int {
			x := n.input(g.Int8, q, 5)
			return n.op(g.OpStridedSlice, nil, shaped(g.Int8, none, 2), x, n.ints([]int{1}, 0), n.ints([]int{1}, 2), n.ints([]int{1}, 1))
		}},
		{name: "positions of the data", err: "input 1 (begin): not a constant", build: func(n *net) int {
			return n.op(g.OpStridedSlice, nil, f32(2), n.input(g.Float32, none, 5), n.input(g.Int32, none, 1), n.ints([]int{1}, 2), n.ints([]int{1}, 1))
		}},
		{name: "many integers by strides", err: "exceed the size of the file", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{EndMask: 1}, i32(1<<28), []int{1 << 29}, ints{0}, ints{0}, ints{2})
		}},
		{name: "booleans", want: "FILL FILL SELECT STRIDED_SLICE NOT_EQUAL", build: func(n *net) int {
			return n.strided(g.StridedSliceOptions{}, shaped(g.Bool, none, 2), []int{5}, ints{0}, ints{2}, ints{1})
		}},
	})
}
