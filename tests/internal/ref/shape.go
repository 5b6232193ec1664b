package ref

import (
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(nn.OpReshape, kernel{inputs: []int{2}, run: func(c *call) *Tensor { return Reshape(c.in[0], c.ints(1)) }})
	register(nn.OpSqueeze, kernel{inputs: []int{2}, optional: []int{1}, run: func(c *call) *Tensor { return Squeeze(c.in[0], c.ints(1)) }})
	register(nn.OpExpandDims, kernel{inputs: []int{2}, run: func(c *call) *Tensor { return ExpandDims(c.in[0], c.int(1)) }})
	register(nn.OpTranspose, kernel{inputs: []int{2}, optional: []int{1}, run: func(c *call) *Tensor {
		return Transpose(c.in[0], c.ints(1))
	}})
	register(nn.OpConcatenation, kernel{run: func(c *call) *Tensor {
		last := len(c.in) - 1
		// The one limit of rank that an invalid conformance model trespasses.
		if len(c.in[0].Shape) > 4 {
			refuse("rank %d", len(c.in[0].Shape))
		}
		return Concatenation(c.in[:last], c.int(last), c.out, c.ar)
	}})
	register(nn.OpFill, kernel{inputs: []int{2}, run: func(c *call) *Tensor {
		return Fill(c.out, c.ints(0), c.scalar(1, nn.Float16, nn.Float32, nn.Int32))
	}})
	register(nn.OpSlice, kernel{inputs: []int{3}, run: func(c *call) *Tensor { return Slice(c.in[0], c.ints(1), c.ints(2)) }})
	register(nn.OpSplit, kernel{inputs: []int{3}, runs: func(c *call) []*Tensor { return Split(c.in[0], c.int(1), c.int(2)) }})
}

// like returns a tensor with t's format, given shape and values.
func (t *Tensor) like(shape []int, v []float64) *Tensor {
	c := *t
	c.Shape, c.V = shape, v
	return &c
}

// normaliseAxis maps a possibly negative axis of a rank to [0, rank).
func normaliseAxis(a, rank int) int {
	if a < -rank || a >= rank {
		refuse("axis %d of rank %d", a, rank)
	}
	if a < 0 {
		a += rank
	}
	return a
}

// Reshape gives x the target shape; one entry may be -1 and is deduced.
func Reshape(x *Tensor, target []int) *Tensor {
	shape := append([]int(nil), target...)
	known, open := 1, -1
	for i, d := range shape {
		switch {
		case d == -1 && open >= 0:
			refuse("two open dimensions in %v", target)
		case d == -1:
			open = i
		case d < 0 || known > maxElements:
			refuse("target shape %v", target)
		default:
			known *= d
		}
	}
	if open >= 0 {
		if known == 0 || len(x.V)%known != 0 {
			refuse("%d elements do not fit %v", len(x.V), target)
		}
		shape[open] = len(x.V) / known
		known *= shape[open]
	}
	if known != len(x.V) {
		refuse("%d elements do not fit %v", len(x.V), target)
	}
	return x.like(shape, x.V)
}

// Squeeze removes the given axes, which must have size 1, or with nil all of size 1. A tensor of which
// nothing is left gets shape [1].
func Squeeze(x *Tensor, axes []int) *Tensor {
	drop := make([]bool, len(x.Shape))
	for i, d := range x.Shape {
		drop[i] = axes == nil && d == 1
	}
	for _, a := range axes {
		a := normaliseAxis(a, len(x.Shape))
		if x.Shape[a] != 1 {
			refuse("cannot squeeze dimension %d of %v", a, x.Shape)
		}
		drop[a] = true
	}
	shape := []int{}
	for i, d := range x.Shape {
		if !drop[i] {
			shape = append(shape, d)
		}
	}
	if len(shape) == 0 {
		shape = []int{1}
	}
	return x.like(shape, x.V)
}

// ExpandDims inserts a dimension of size 1 at axis, which may be negative.
func ExpandDims(x *Tensor, axis int) *Tensor {
	a := normaliseAxis(axis, len(x.Shape)+1)
	shape := append([]int(nil), x.Shape[:a]...)
	shape = append(append(shape, 1), x.Shape[a:]...)
	return x.like(shape, x.V)
}

// Transpose permutes dimensions: dimension i of the result is dimension perm[i] of x. A nil perm
// reverses them.
func Transpose(x *Tensor, perm []int) *Tensor {
	rank := len(x.Shape)
	if perm == nil {
		for i := rank - 1; i >= 0; i-- {
			perm = append(perm, i)
		}
	}
	if len(perm) != rank {
		refuse("permutation %v of rank %d", perm, rank)
	}
	seen := make([]bool, rank)
	shape, strides := make([]int, rank), make([]int, rank)
	for i, p := range perm {
		if p < 0 || p >= rank || seen[p] {
			refuse("permutation %v of rank %d", perm, rank)
		}
		seen[p] = true
		shape[i], strides[i] = x.Shape[p], stride(x.Shape, p)
	}
	v := make([]float64, len(x.V))
	forEach(shape, func(i int, at []int) {
		from := 0
		for d, a := range at {
			from += a * strides[d]
		}
		v[i] = x.V[from]
	})
	return x.like(shape, v)
}

// forEach calls f with every index of a shape in row-major order, and its number.
func forEach(shape []int, f func(i int, at []int)) {
	n := 1
	for _, d := range shape {
		n *= d
	}
	at := make([]int, len(shape))
	for i := 0; i < n; i++ {
		f(i, at)
		for d := len(shape) - 1; d >= 0; d-- {
			at[d]++
			if at[d] < shape[d] {
				break
			}
			at[d] = 0
		}
	}
}

// Concatenation joins tensors along axis. Quantised inputs are brought to the output's quantisation in
// float32, as TFLite's ConcatenationWithScaling does.
func Concatenation(xs []*Tensor, axis int, out Format, ar Arithmetic) *Tensor {
	if len(xs) == 0 {
		refuse("nothing to concatenate")
	}
	a := normaliseAxis(axis, len(xs[0].Shape))
	shape := append([]int(nil), xs[0].Shape...)
	shape[a] = 0
	for _, x := range xs {
		if len(x.Shape) != len(shape) || x.Type != out.Type {
			refuse("%s%v among %s%v", x.Type, x.Shape, out.Type, xs[0].Shape)
		}
		for d := range shape {
			if d != a && x.Shape[d] != shape[d] {
				refuse("%v and %v differ outside axis %d", x.Shape, xs[0].Shape, a)
			}
		}
		shape[a] += x.Shape[a]
	}
	y := New(out, shape...)
	inner := stride(shape, a)
	at := 0
	for _, x := range xs {
		convert := requantiser(x.Format(), out, ar)
		n := x.Shape[a] * inner // consecutive elements of x
		for i, v := range x.V {
			y.V[i/n*shape[a]*inner+at+i%n] = convert(v)
		}
		at += n
	}
	return y
}

// Split cuts x into n equal parts along axis, which may be negative.
func Split(x *Tensor, axis, n int) []*Tensor {
	a := normaliseAxis(axis, len(x.Shape))
	if n < 1 || x.Shape[a]%n != 0 {
		refuse("dimension %d of %v in %d parts", a, x.Shape, n)
	}
	shape := append([]int(nil), x.Shape...)
	shape[a] /= n
	parts := make([]*Tensor, n)
	for i := range parts {
		parts[i] = x.like(shape, nil)
	}
	run := stride(x.Shape, a) * shape[a]
	for i, v := range x.V {
		p := parts[i/run%n]
		p.V = append(p.V, v)
	}
	return parts
}

// Fill is a tensor of the given shape, all of whose elements are v.
func Fill(f Format, shape []int, v float64) *Tensor {
	y := New(f, shape...)
	for i := range y.V {
		y.V[i] = v
	}
	return y
}

// Slice takes size[i] positions from begin[i] on along dimension i; -1 stands for all that follow.
func Slice(x *Tensor, begin, size []int) *Tensor {
	if len(begin) != len(x.Shape) || len(size) != len(x.Shape) {
		refuse("%v from %v of %v", size, begin, x.Shape)
	}
	shape := append([]int(nil), size...)
	for i, n := range x.Shape {
		if shape[i] == -1 {
			shape[i] = n - begin[i]
		}
		// What is empty gives what is empty.
		if begin[i] < 0 || shape[i] < min(n, 1) || begin[i]+shape[i] > n {
			refuse("%v from %v of %v", size, begin, x.Shape)
		}
	}
	y := New(x.Format(), shape...)
	forEach(shape, func(i int, at []int) {
		from := 0
		for d, n := range x.Shape {
			from = from*n + begin[d] + at[d]
		}
		y.V[i] = x.V[from]
	})
	return y
}

// requantiser maps stored values of one quantisation to another.
func requantiser(from, to Format, ar Arithmetic) func(float64) float64 {
	if !to.quantised() || from == to {
		return func(v float64) float64 { return v }
	}
	if ar == Real {
		return func(v float64) float64 { return to.quantise((v - float64(from.ZeroPoint)) * from.Scale) }
	}
	scale := float32(from.Scale) * (1 / float32(to.Scale))
	bias := float32(-from.ZeroPoint) * scale
	return func(v float64) float64 {
		product := float32(v) * scale // a variable of its own keeps the product from being fused
		return to.round(math.Round(float64(product+bias)) + float64(to.ZeroPoint))
	}
}
