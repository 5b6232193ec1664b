package ref

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(nn.OpMean, kernel{inputs: []int{3}, run: func(c *call) (*Tensor, error) {
		return Mean(c.in[0], c.ints(1), c.int(2) > 0, c.out, c.ar)
	}})
}

// Mean averages over the given axes (negative ones count from the end, repeated ones once). A result
// without dimensions gets shape [1].
func Mean(x *Tensor, axes []int, keepDims bool, out Format, ar Arithmetic) (*Tensor, error) {
	if x.Type != out.Type {
		return nil, fmt.Errorf("%s to %s", x.Type, out.Type)
	}
	reduced := make([]bool, len(x.Shape))
	for _, a := range axes {
		a, err := normaliseAxis(a, len(x.Shape))
		if err != nil {
			return nil, err
		}
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
	y, err := New(out, shape...)
	if err != nil {
		return nil, err
	}
	if count == 0 {
		return nil, fmt.Errorf("mean of nothing: %v", x.Shape)
	}
	sums := make([]float64, len(y.V))
	forEach(x.Shape, func(i int, at []int) { sums[broadcastIndex(kept, at)] += x.V[i] })
	finish := meanFinisher(x, count, out, ar)
	for i, s := range sums {
		y.V[i] = finish(s)
	}
	return y, nil
}

// meanFinisher turns a sum of stored values into a stored mean.
func meanFinisher(x *Tensor, count int, out Format, ar Arithmetic) func(sum float64) float64 {
	n := float64(count)
	switch {
	case !out.quantised():
		return func(sum float64) float64 { return out.round(sum / n) }
	case ar == Real:
		return func(sum float64) float64 { return out.quantise((sum/n - float64(x.ZeroPoint)) * x.Scale) }
	}
	// From TFLite kernels/internal/optimized/integer_ops/mean.h: raw values are summed, and the zero points
	// become one bias that is rounded by itself; scales are combined in float32.
	in, to := float32(x.Scale), float32(out.Scale)
	zero := float32(x.ZeroPoint) * in / to
	bias := float64(out.ZeroPoint) - math.Round(float64(zero))
	m := newMultiplier(float64(in/(float32(n)*to)), ar)
	return func(sum float64) float64 { return out.round(float64(m.apply(int64(sum))) + bias) }
}
