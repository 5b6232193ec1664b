package ref

import (
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(nn.OpMean, kernel{inputs: []int{3}, run: func(c *call) *Tensor {
		return Mean(c.in[0], c.ints(1), c.int(2) > 0, c.out, c.ar)
	}})
}

// Mean averages over the given axes (negative ones count from the end, repeated ones once). A result
// without dimensions gets shape [1].
func Mean(x *Tensor, axes []int, keepDims bool, out Format, ar Arithmetic) *Tensor {
	if x.Type != out.Type {
		refuse("%s to %s", x.Type, out.Type)
	}
	return reduce(x, axes, keepDims, out, func(v []float64) float64 {
		return meanFinisher(x, len(v), out, ar)(total(v))
	})
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
