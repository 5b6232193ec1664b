package ref

import (
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	register(nn.OpSoftmax, kernel{inputs: []int{2, 3}, run: func(c *call) *Tensor {
		axis := -1
		if len(c.in) > 2 {
			axis = c.int(2)
		}
		return Softmax(c.in[0], c.real(1), axis, c.out, c.ar)
	}})
	register(nn.OpLogSoftmax, kernel{inputs: []int{3}, run: func(c *call) *Tensor {
		return LogSoftmax(c.in[0], c.real(1), c.int(2), c.out)
	}})
}

// Softmax is exp(beta*x) / sum exp(beta*x) along axis.
func Softmax(x *Tensor, beta float64, axis int, out Format, ar Arithmetic) *Tensor {
	if !(beta > 0) {
		refuse("beta %v", beta)
	}
	row := func(v []float64) {
		top := math.Inf(-1)
		for _, e := range v {
			top = max(top, e)
		}
		total := 0.0
		for i, e := range v {
			v[i] = math.Exp(beta * (e - top))
			total += v[i]
		}
		for i := range v {
			v[i] /= total
		}
	}
	if out.quantised() && ar != Real {
		return alongAxis(x, axis, out, func(v []float64) { softmaxTable(v, float32(x.Scale), float32(beta), out) })
	}
	return alongAxis(x, axis, out, func(v []float64) {
		if !out.quantised() {
			row(v)
			return
		}
		for i := range v {
			v[i] *= x.Scale // the zero point cancels
		}
		row(v)
		for i := range v {
			v[i] = math.Round(v[i]/out.Scale) + float64(out.ZeroPoint)
		}
	})
}

// softmaxTable is TFLite's 8-bit softmax (kernels/internal/optimized/optimized_ops.h): float32 sums of a
// table of exponentials.
func softmaxTable(v []float64, scale, beta float32, out Format) {
	top := math.Inf(-1)
	for _, e := range v {
		top = max(top, e)
	}
	step := -scale * beta
	table := func(e float64) float32 { return float32(math.Exp(float64(step * float32(top-e)))) }
	var total float32
	for _, e := range v {
		total += table(e)
	}
	inverse := 1 / (total * float32(out.Scale))
	for i, e := range v {
		v[i] = math.RoundToEven(float64(table(e)*inverse)) + float64(out.ZeroPoint)
	}
}

// LogSoftmax is beta*x - log(sum exp(beta*x)) along axis; float types only.
func LogSoftmax(x *Tensor, beta float64, axis int, out Format) *Tensor {
	if out.quantised() {
		refuse("LOG_SOFTMAX of %s", out.Type)
	}
	return alongAxis(x, axis, out, func(v []float64) {
		top := math.Inf(-1)
		for _, e := range v {
			top = max(top, beta*e)
		}
		total := 0.0
		for _, e := range v {
			total += math.Exp(beta*e - top)
		}
		for i, e := range v {
			v[i] = beta*e - top - math.Log(total)
		}
	})
}

// alongAxis calls f with each line of stored values along axis, to be replaced in place.
func alongAxis(x *Tensor, axis int, out Format, f func(v []float64)) *Tensor {
	if x.Type != out.Type {
		refuse("%s to %s", x.Type, out.Type)
	}
	a := normaliseAxis(axis, len(x.Shape))
	y := New(out, x.Shape...)
	size, step := x.Shape[a], stride(x.Shape, a)
	line := make([]float64, size)
	for start := 0; start < len(x.V); start++ {
		if start/step%size != 0 {
			continue
		}
		for i := range line {
			line[i] = x.V[start+i*step]
		}
		f(line)
		for i := range line {
			y.V[start+i*step] = out.round(line[i])
		}
	}
	return y
}
