package ref

import (
	"math"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	for op, f := range map[nn.OperationType]func(x *Tensor, v []float64) float64{
		nn.OpReduceMax:  func(_ *Tensor, v []float64) float64 { return slices.Max(v) },
		nn.OpReduceMin:  func(_ *Tensor, v []float64) float64 { return slices.Min(v) },
		nn.OpReduceProd: func(x *Tensor, v []float64) float64 { return x.Format().round(multiplied(v)) },
		nn.OpReduceSum:  func(x *Tensor, v []float64) float64 { return x.Format().round(total(v)) },
		nn.OpReduceAny: func(_ *Tensor, v []float64) float64 {
			return truth(slices.ContainsFunc(v, func(a float64) bool { return a != 0 }))
		},
		nn.OpReduceAll: func(_ *Tensor, v []float64) float64 { return truth(!slices.Contains(v, 0)) },
	} {
		register(op, kernel{inputs: []int{3}, run: func(c *call) *Tensor {
			x := c.in[0]
			return reduce(x, c.ints(1), c.flag(2), x.Format(), func(v []float64) float64 { return f(x, v) })
		}})
	}
	for op, sign := range map[nn.OperationType]float64{nn.OpArgmax: 1, nn.OpArgmin: -1} {
		register(op, kernel{inputs: []int{2}, run: func(c *call) *Tensor { return Arg(c.in[0], c.int(1), sign) }})
	}
}

// reduce makes one element of all of x along the axes (negative ones count from the end, repeated ones once), which are
// dropped or stay with size 1. A result without dimensions gets shape [1].
func reduce(x *Tensor, axes []int, keepDims bool, out Format, f func([]float64) float64) *Tensor {
	reduced := make([]bool, len(x.Shape))
	for _, a := range axes {
		a := normaliseAxis(a, len(x.Shape))
		reduced[a] = true
	}
	kept := append([]int(nil), x.Shape...)
	shape := []int{}
	count := 1
	for d, size := range x.Shape {
		if reduced[d] {
			kept[d] = 1
			count *= size
		}
		if !reduced[d] || keepDims {
			shape = append(shape, kept[d])
		}
	}
	if len(shape) == 0 {
		shape = []int{1}
	}
	y := New(out, shape...)
	if count == 0 {
		refuse("a reduction of nothing: %v", x.Shape)
	}
	parts := make([][]float64, len(y.V))
	forEach(x.Shape, func(i int, at []int) {
		k := broadcastIndex(kept, at)
		parts[k] = append(parts[k], x.V[i])
	})
	for i, v := range parts {
		y.V[i] = f(v)
	}
	return y
}

// Arg is where the largest element along the axis is, or with sign -1 the smallest: the first of equal ones. A NaN is
// larger than infinity.
func Arg(x *Tensor, axis int, sign float64) *Tensor {
	order := func(a, b float64) bool { // a before b
		if math.IsNaN(a) || math.IsNaN(b) {
			return sign > 0 && math.IsNaN(a) && !math.IsNaN(b) || sign < 0 && math.IsNaN(b) && !math.IsNaN(a)
		}
		return sign*a > sign*b
	}
	return reduce(x, []int{axis}, false, Format{Type: nn.TensorInt32}, func(v []float64) float64 {
		best := 0
		for i := range v {
			if order(v[i], v[best]) {
				best = i
			}
		}
		return float64(best)
	})
}

func total(v []float64) (sum float64) {
	for _, a := range v {
		sum += a
	}
	return sum
}

func multiplied(v []float64) float64 {
	p := 1.0
	for _, a := range v {
		p *= a
	}
	return p
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
