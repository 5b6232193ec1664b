package ref

import (
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(nn.OpL2Normalization, kernel{inputs: []int{1, 2}, run: func(c *call) *Tensor {
		return L2Normalization(c.in[0], c.axis(1), c.out)
	}})
	register(nn.OpLocalResponseNormalization, kernel{inputs: []int{5, 6}, run: func(c *call) *Tensor {
		return LocalResponse(c.in[0], c.int(1), c.real(2), c.real(3), c.real(4), c.axis(5), c.out)
	}})
	register(nn.OpInstanceNormalization, kernel{inputs: []int{5}, run: func(c *call) *Tensor {
		return InstanceNormalization(c.in[0], c.real(1), c.real(2), c.real(3), c.flag(4))
	}})
}

// axis reads an axis, the last one where the input is left off.
func (c *call) axis(i int) int {
	if i >= len(c.in) {
		return -1
	}
	return c.int(i)
}

// L2Normalization divides by the length along axis, which is at least 1e-6. The scale of 8-bit numbers cancels.
func L2Normalization(x *Tensor, axis int, out Format) *Tensor {
	return alongAxis(x, axis, out, func(v []float64) {
		sum := 0.0
		for i := range v {
			v[i] -= zeroOf(x)
			sum += v[i] * v[i]
		}
		for i := range v {
			if v[i] /= max(math.Sqrt(sum), 1e-6); out.quantised() {
				v[i] = math.Round(v[i]/out.Scale) + float64(out.ZeroPoint)
			}
		}
	})
}

// LocalResponse divides by (bias + alpha * s)^beta, where s sums up the squares of the elements within the radius along axis.
func LocalResponse(x *Tensor, radius int, bias, alpha, beta float64, axis int, out Format) *Tensor {
	if radius < 0 {
		refuse("radius %d", radius)
	}
	return alongAxis(x, axis, out, func(v []float64) {
		sums := make([]float64, len(v))
		for i := range sums {
			for k := max(0, i-radius); k < len(v) && k <= i+radius; k++ {
				sums[i] += v[k] * v[k]
			}
		}
		for i := range v {
			v[i] /= math.Pow(bias+alpha*sums[i], beta)
		}
	})
}

// InstanceNormalization brings each channel of each image to mean 0 and variance 1, then scales it by gamma and adds beta.
func InstanceNormalization(x *Tensor, gamma, beta, epsilon float64, nchw bool) *Tensor {
	if len(x.Shape) != 4 {
		refuse("rank %d", len(x.Shape))
	}
	x = fromNHWC(x, !nchw)
	y := New(x.Format(), x.Shape...)
	size := x.Shape[2] * x.Shape[3]
	for at := 0; at < len(x.V); at += size {
		plane := x.V[at : at+size]
		mean, variance := 0.0, 0.0
		for _, v := range plane {
			mean += v / float64(size)
		}
		for _, v := range plane {
			variance += (v - mean) * (v - mean) / float64(size)
		}
		for i, v := range plane {
			y.V[at+i] = y.Format().round(gamma*(v-mean)/math.Sqrt(variance+epsilon) + beta)
		}
	}
	return toNHWC(y, !nchw)
}
