package ref

import (
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// Function is a function of one real number.
type Function func(float64) float64

// function is the kernel of an elementwise operation that is f.
func function(f Function) kernel {
	return kernel{inputs: []int{1}, run: func(c *call) *Tensor { return Unary(f, c.in[0], c.out, c.ar) }}
}

// relu is the kernel of RELU, RELU1 or RELU6.
func relu(act nn.Activation) kernel {
	return kernel{inputs: []int{1}, run: func(c *call) *Tensor { return Relu(c.in[0], act, c.out) }}
}

func init() {
	register(nn.OpRelu, relu(nn.ActRelu))
	register(nn.OpRelu1, relu(nn.ActRelu1))
	register(nn.OpRelu6, relu(nn.ActRelu6))
	register(nn.OpTanh, function(math.Tanh))
	register(nn.OpLogistic, function(logistic))
	register(nn.OpAbs, function(math.Abs))
	register(nn.OpNeg, function(func(x float64) float64 { return -x }))
	register(nn.OpExp, function(math.Exp))
	register(nn.OpLog, function(math.Log))
	register(nn.OpSqrt, function(math.Sqrt))
	register(nn.OpRsqrt, function(func(x float64) float64 { return 1 / math.Sqrt(x) }))
	register(nn.OpSin, function(math.Sin))
	register(nn.OpFloor, function(math.Floor))
	register(nn.OpElu, kernel{inputs: []int{2}, run: func(c *call) *Tensor { return Elu(c.in[0], c.real(1), c.out) }})
	register(nn.OpHardSwish, kernel{inputs: []int{1}, run: func(c *call) *Tensor { return HardSwish(c.in[0], c.out, c.ar) }})
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// Unary applies f to each element.
//
// For 8-bit types it is TFLite's table of 256 entries, computed in float32 (in real arithmetic with
// Real). int32 wraps around.
func Unary(f Function, x *Tensor, out Format, ar Arithmetic) *Tensor {
	if x.Type != out.Type {
		refuse("%s to %s", x.Type, out.Type)
	}
	switch {
	case out.Type.IsFloat():
		return each(x, out, func(v float64) float64 { return out.round(f(v)) })
	case !out.quantised():
		return each(x, out, func(v float64) float64 { return wrapInt32(f(v)) })
	}
	return each(x, out, tabled(x, f, out, ar))
}

// each applies f to the stored values.
func each(x *Tensor, out Format, f Function) *Tensor {
	y := New(out, x.Shape...)
	for i, v := range x.V {
		y.V[i] = f(v)
	}
	return y
}

// tabled maps stored to stored values through the real function f.
func tabled(x *Tensor, f Function, out Format, ar Arithmetic) Function {
	lo, hi := out.limits()
	return func(q float64) float64 {
		if ar == Real {
			y := f((q - float64(x.ZeroPoint)) * x.Scale)
			return saturate(math.Round(y/out.Scale)+float64(out.ZeroPoint), lo, hi)
		}
		// From TFLite kernels/internal/common.h, LUTPopulate.
		real := float32(x.Scale) * float32(q-float64(x.ZeroPoint))
		y := float32(f(float64(real))) * (1 / float32(out.Scale))
		return saturate(math.Round(float64(y))+float64(out.ZeroPoint), lo, hi)
	}
}

// saturate clamps x, an infinity included; a NaN becomes hi, the value that RSQRT of a number below zero
// gets in TFLite.
func saturate(x, lo, hi float64) float64 {
	if math.IsNaN(x) {
		return hi
	}
	return min(max(x, lo), hi)
}

// Relu is RELU, RELU1 or RELU6, according to act. Input and output have the same quantisation.
func Relu(x *Tensor, act nn.Activation, out Format) *Tensor {
	if x.Format() != out {
		refuse("input %v, output %v: formats must be equal", x.Format(), out)
	}
	clamp := clampFor(act, out)
	return each(x, out, clamp)
}

// Elu is x where x >= 0, else alpha * (exp(x) - 1); float types only.
func Elu(x *Tensor, alpha float64, out Format) *Tensor {
	if !out.Type.IsFloat() || x.Type != out.Type {
		refuse("ELU of %s to %s", x.Type, out.Type)
	}
	return each(x, out, func(v float64) float64 {
		if v >= 0 {
			return v
		}
		return out.round(alpha * math.Expm1(v))
	})
}

// HardSwish is x * min(max(x+3, 0), 6) / 6.
func HardSwish(x *Tensor, out Format, ar Arithmetic) *Tensor {
	f := func(v float64) float64 { return v * min(max(v+3, 0), 6) / 6 }
	switch {
	case x.Type != out.Type:
		refuse("%s to %s", x.Type, out.Type)
	case out.Type.IsFloat():
		return each(x, out, func(v float64) float64 { return out.round(f(v)) })
	case !out.quantised():
		refuse("HARD_SWISH of %s", out.Type)
	case ar == Real:
		return each(x, out, tabled(x, f, out, ar))
	}
	return hardSwishFixed(x, out)
}
