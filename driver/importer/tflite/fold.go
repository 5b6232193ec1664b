package tflite

import (
	"math"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// Files of networks with open dimensions compute sizes while they run: SHAPE, and arithmetic on a few integers until RESHAPE
// wants them. Here dimensions are known, and what follows from them and from constants alone is computed by the import.

// numbers are a few integers that are known: of rank 0 or 1.
type numbers struct {
	list   []int32
	scalar bool
	sized  bool // they follow from the dimensions of a tensor
}

// folds compute operators of known integers, by code; ok is false where one cannot be computed, and is translated.
var folds = map[int32]func(c *call, in []numbers) (out []numbers, ok bool){
	0: arithmeticOf(func(x, y int64) (int64, bool) { return x + y, true }), 2: foldConcatenation,
	18: arithmeticOf(func(x, y int64) (int64, bool) { return x * y, true }), 22: foldReshape, 36: foldGather,
	41: arithmeticOf(func(x, y int64) (int64, bool) { return x - y, true }),
	42: arithmeticOf(func(x, y int64) (int64, bool) {
		if y == 0 {
			return 0, false
		}
		return x / y, true
	}),
	43: foldScalar(true), 45: foldStridedSlice, 53: foldSame, 55: arithmeticOf(func(x, y int64) (int64, bool) { return max(x, y), true }),
	57: arithmeticOf(func(x, y int64) (int64, bool) { return min(x, y), true }),
	65: foldSlice, 70: foldScalar(false), 74: reductionOf(func(x, y int64) int64 { return x + y }),
	81: reductionOf(func(x, y int64) int64 { return x * y }), 82: reductionOf(func(x, y int64) int64 { return max(x, y) }),
	83: foldPack, 88: foldUnpack, 89: reductionOf(func(x, y int64) int64 { return min(x, y) }),
	90: arithmeticOf(func(x, y int64) (int64, bool) { return floorDiv(x, y), y != 0 }),
	95: arithmeticOf(func(x, y int64) (int64, bool) { return x - floorDiv(x, y)*y, y != 0 }),
}

// floorDiv is x / y rounded down, 0 for y = 0.
func floorDiv(x, y int64) int64 {
	if y == 0 {
		return 0
	}
	q := x / y
	if x%y != 0 && (x < 0) != (y < 0) {
		q--
	}
	return q
}

// known returns the numbers of input i, where they are constants of the file or were computed by the import.
func (c *call) known(i int) (x numbers, ok bool) {
	if !c.has(i) {
		return x, false
	}
	t, v := c.tensor(i), c.values[c.in[i]]
	if t.typ != typeInt32 && t.typ != typeInt64 || len(t.shape) > 1 || t.empty() {
		return x, false
	}
	x.sized = v.sized
	if v.operand < 0 {
		list, err := c.integers(t)
		if err != nil || len(list) == 0 {
			return x, false
		}
		x.list, x.scalar = list, len(t.shape) == 0
		return x, true
	}
	o := c.operand(uint32(v.operand))
	if n, err := o.Dims.Elements(); o.Type != nn.TensorInt32 || len(o.Dims) != 1 || err != nil || n > maxParameter {
		return x, false
	}
	b, err := c.Model.Value(o)
	if err != nil || b == nil {
		return x, false
	}
	x.list, err = nn.Values[int32](b)
	x.scalar = c.scalar(i)
	return x, err == nil
}

// fold computes the operator where all its inputs are known.
func (c *call) fold() (done bool) {
	f := folds[c.code.builtin]
	if f == nil {
		return false
	}
	for _, t := range c.out {
		if typ := c.file.tensors[t].typ; typ != typeInt32 && typ != typeInt64 {
			return false
		}
	}
	in := make([]numbers, len(c.in))
	sized := false
	for i := range c.in {
		var ok bool
		if in[i], ok = c.known(i); !ok {
			return false
		}
		sized = sized || in[i].sized
	}
	out, ok := f(c, in)
	if !ok || len(out) != len(c.out) {
		return false
	}
	for i, x := range out {
		x.sized = sized
		c.bindNumbers(c.out[i], x)
	}
	return true
}

// bindNumbers makes known numbers the value of a tensor.
func (c *call) bindNumbers(tensor int32, x numbers) {
	c.bindTo(tensor, c.int32s(nn.Dims{uint32(len(x.list))}, x.list))
	c.values[tensor].sized = x.sized
}

// arithmeticOf computes f of lists of one length, or a list and a single number.
func arithmeticOf(f func(x, y int64) (int64, bool)) func(*call, []numbers) ([]numbers, bool) {
	return func(c *call, in []numbers) ([]numbers, bool) {
		x, y := in[0], in[1]
		n := max(len(x.list), len(y.list))
		if c.options.int8(0) != 0 || len(x.list) != n && len(x.list) != 1 || len(y.list) != n && len(y.list) != 1 {
			return nil, false
		}
		out := numbers{scalar: x.scalar && y.scalar}
		for i := range n {
			v, ok := f(int64(x.list[i%len(x.list)]), int64(y.list[i%len(y.list)]))
			if !ok || v != int64(int32(v)) {
				return nil, false
			}
			out.list = append(out.list, int32(v))
		}
		return []numbers{out}, true
	}
}

// reductionOf reduces a list to one number.
func reductionOf(f func(x, y int64) int64) func(*call, []numbers) ([]numbers, bool) {
	return func(c *call, in []numbers) ([]numbers, bool) {
		x, axes := in[0].list, in[1].list
		if in[0].scalar || len(axes) != 1 || axes[0] != 0 && axes[0] != -1 {
			return nil, false
		}
		v := int64(x[0])
		for _, n := range x[1:] {
			if v = f(v, int64(n)); v < math.MinInt32 || v > math.MaxInt32 {
				return nil, false
			}
		}
		return []numbers{{list: []int32{int32(v)}, scalar: !c.options.bool(0)}}, true
	}
}

func foldConcatenation(c *call, in []numbers) ([]numbers, bool) {
	var out numbers
	for _, x := range in {
		if x.scalar {
			return nil, false
		}
		out.list = append(out.list, x.list...)
	}
	axis := c.options.int32(0, 0)
	return []numbers{out}, (axis == 0 || axis == -1) && c.options.int8(1) == 0 && len(out.list) <= maxParameter
}

func foldPack(c *call, in []numbers) ([]numbers, bool) {
	var out numbers
	for _, x := range in {
		if !x.scalar {
			return nil, false
		}
		out.list = append(out.list, x.list...)
	}
	return []numbers{out}, len(out.list) <= maxParameter
}

func foldUnpack(c *call, in []numbers) (out []numbers, ok bool) {
	for _, n := range in[0].list {
		out = append(out, numbers{list: []int32{n}, scalar: true})
	}
	return out, !in[0].scalar
}

// foldReshape leaves shapes of more than one dimension.
func foldReshape(c *call, in []numbers) ([]numbers, bool) {
	sizes := c.options.int32s(0)
	if len(in) > 1 {
		sizes = in[1].list
	}
	d, err := resolve(sizes, nn.Dims{uint32(len(in[0].list))})
	return []numbers{{list: in[0].list, scalar: len(sizes) == 0}}, err == nil && len(d) == 1 && len(sizes) <= 1
}

// foldScalar takes the only dimension off, or adds it.
func foldScalar(off bool) func(*call, []numbers) ([]numbers, bool) {
	return func(_ *call, in []numbers) ([]numbers, bool) {
		return []numbers{{list: in[0].list, scalar: off}}, len(in[0].list) == 1 && in[0].scalar != off
	}
}

func foldSame(_ *call, in []numbers) ([]numbers, bool) { return in, true }

func foldGather(c *call, in []numbers) ([]numbers, bool) {
	x, by := in[0], in[1]
	out := numbers{scalar: by.scalar}
	for _, i := range by.list {
		if x.scalar || i < 0 || int(i) >= len(x.list) {
			return nil, false
		}
		out.list = append(out.list, x.list[i])
	}
	return []numbers{out}, c.options.int32(gatherBatch, 0) == 0
}

func foldSlice(_ *call, in []numbers) ([]numbers, bool) {
	x, begin, size := in[0].list, int64(in[1].list[0]), int64(in[2].list[0])
	if size == -1 {
		size = int64(len(x)) - begin
	}
	if in[0].scalar || len(in[1].list) != 1 || len(in[2].list) != 1 || begin < 0 || size < 1 || begin+size > int64(len(x)) {
		return nil, false
	}
	return []numbers{{list: slices.Clone(x[begin : begin+size])}}, true
}

func foldStridedSlice(c *call, in []numbers) ([]numbers, bool) {
	s, err := c.strides()
	if err != nil || in[0].scalar {
		return nil, false
	}
	list, added, err := s.of([]int64{int64(len(in[0].list))})
	if err != nil {
		return nil, false
	}
	d := shape(list, added)
	out := numbers{scalar: len(d) == 0}
	for k := range list[0].count {
		out.list = append(out.list, in[0].list[list[0].begin+k*list[0].stride])
	}
	return []numbers{out}, len(d) <= 1
}
