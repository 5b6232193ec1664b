package ref

import (
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

var poolInputs = []int{7, 8, 10, 11}

func init() {
	register(nn.OpAveragePool2D, kernel{inputs: poolInputs, run: func(c *call) *Tensor {
		return AveragePool2D(c.in[0], c.poolParams(), c.out, c.ar)
	}})
	register(nn.OpMaxPool2D, kernel{inputs: poolInputs, run: func(c *call) *Tensor {
		return MaxPool2D(c.in[0], c.poolParams(), c.out)
	}})
	register(nn.OpL2Pool2D, kernel{inputs: poolInputs, run: func(c *call) *Tensor {
		return L2Pool2D(c.in[0], c.poolParams(), c.out)
	}})
}

// PoolParams are the parameters of the pools.
type PoolParams struct {
	Window
	FilterW, FilterH int
	Activation       nn.Activation
	NCHW             bool
}

// AveragePool2D is the mean over the window; padding is not counted.
func AveragePool2D(x *Tensor, p PoolParams, out Format, ar Arithmetic) *Tensor {
	return pool(x, p, out, func(v []float64) float64 {
		sum := 0.0
		for _, e := range v {
			sum += e
		}
		n := len(v)
		if !out.quantised() || ar == Real {
			return sum / float64(n)
		}
		// Integer division, ties away from zero; stored values are averaged, for scales are equal.
		s := int64(sum)
		if s > 0 {
			return float64((s + int64(n)/2) / int64(n))
		}
		return float64((s - int64(n)/2) / int64(n))
	})
}

// MaxPool2D is the largest value in the window.
func MaxPool2D(x *Tensor, p PoolParams, out Format) *Tensor {
	return pool(x, p, out, func(v []float64) float64 {
		m := math.Inf(-1)
		for _, e := range v {
			m = max(m, e)
		}
		return m
	})
}

// L2Pool2D is the square root of the mean of squares over the window; float types only.
func L2Pool2D(x *Tensor, p PoolParams, out Format) *Tensor {
	if out.quantised() {
		refuse("L2 pool of %s", x.Type)
	}
	return pool(x, p, out, func(v []float64) float64 {
		sum := 0.0
		for _, e := range v {
			sum += e * e
		}
		return math.Sqrt(sum / float64(len(v)))
	})
}

// pool calls reduce with the stored values inside each window. Input and output share one quantisation.
func pool(x *Tensor, p PoolParams, out Format, reduce func([]float64) float64) *Tensor {
	if len(x.Shape) != 4 {
		refuse("input %v must have rank 4", x.Shape)
	}
	if x.Format() != out {
		refuse("input %v, output %v: formats must be equal", x.Format(), out)
	}
	x = toNHWC(x, p.NCHW)
	ay, ax := p.resolve(x.Shape[1], x.Shape[2], p.FilterH, p.FilterW)
	clamp := clampFor(p.Activation, out)
	channels := x.Shape[3]
	y := New(out, x.Shape[0], ay.out, ax.out, channels)
	var v []float64
	for i := range y.V {
		c := i % channels
		ox := i / channels % ax.out
		oy := i / channels / ax.out % ay.out
		n := i / channels / ax.out / ay.out
		v = v[:0]
		for ky := 0; ky < ay.kernel; ky++ {
			for kx := 0; kx < ax.kernel; kx++ {
				iy, ix := oy*ay.stride+ky-ay.pad, ox*ax.stride+kx-ax.pad
				if iy >= 0 && iy < ay.in && ix >= 0 && ix < ax.in {
					v = append(v, x.V[((n*ay.in+iy)*ax.in+ix)*channels+c])
				}
			}
		}
		if len(v) == 0 {
			refuse("window at output (%d, %d) lies in padding only", oy, ox)
		}
		y.V[i] = clamp(reduce(v))
	}
	return fromNHWC(y, p.NCHW)
}

// poolParams reads all inputs but the first of a pool.
func (c *call) poolParams() PoolParams {
	w, i := c.window(1, len(c.in) >= 10)
	return PoolParams{Window: w, FilterW: c.int(i), FilterH: c.int(i + 1), Activation: c.activation(i + 2), NCHW: c.flag(i + 3)}
}
