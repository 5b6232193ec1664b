package ref

import (
	"math"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	quantize := func(c *call) *Tensor { return Quantize(c.in[0], c.out, c.ar) }
	register(nn.OpQuantize, kernel{inputs: []int{1}, run: quantize})
	register(nn.OpRequantize, kernel{inputs: []int{1}, run: quantize})
	register(nn.OpDequantize, kernel{inputs: []int{1}, run: func(c *call) *Tensor { return Dequantize(c.in[0], c.out) }})
	register(nn.OpCast, kernel{inputs: []int{1}, run: cast})
}

// Quantize stores real values in an 8-bit format: round(x/scale) + zero point, saturated. An input that
// is quantised itself is rescaled, as TFLite's QUANTIZE does.
func Quantize(x *Tensor, out Format, ar Arithmetic) *Tensor {
	if !out.quantised() || !(out.Scale > 0) {
		refuse("QUANTIZE to %v", out)
	}
	lo, hi := out.limits()
	switch {
	case x.Format().quantised():
		m := newMultiplier(x.Scale/out.Scale, ar)
		return each(x, out, func(q float64) float64 {
			return out.round(float64(m.apply(int64(q)-int64(x.ZeroPoint))) + float64(out.ZeroPoint))
		})
	case !x.Type.IsFloat():
		refuse("QUANTIZE of %s", x.Type)
	case ar == Real:
		return each(x, out, func(v float64) float64 {
			return saturate(math.Round(v/out.Scale)+float64(out.ZeroPoint), lo, hi)
		})
	}
	return each(x, out, func(v float64) float64 { return saturate(quantiseFloat32(v, out), lo, hi) })
}

// Dequantize gives the real values of a quantised tensor, or widens float16.
func Dequantize(x *Tensor, out Format) *Tensor {
	if !out.Type.IsFloat() {
		refuse("DEQUANTIZE to %s", out.Type)
	}
	if x.Type == nn.TensorQuant8PerChannel && (x.ChannelDim >= len(x.Shape) || len(x.ChannelScales) != x.Shape[x.ChannelDim]) {
		refuse("%d scales for dimension %d of %v", len(x.ChannelScales), x.ChannelDim, x.Shape)
	}
	y := New(out, x.Shape...)
	for i := range x.V {
		y.V[i] = out.round(x.real(i))
	}
	return y
}

// cast checks the pairs of types that NNAPI allows; others convert only to themselves.
func cast(c *call) *Tensor {
	free := []nn.OperandType{nn.TensorFloat16, nn.TensorFloat32, nn.TensorInt32, nn.TensorQuant8Asymm}
	from, to := c.in[0].Type, c.out.Type
	if from != to && !(slices.Contains(free, from) && slices.Contains(free, to)) {
		refuse("cast from %s to %s", from, to)
	}
	return Cast(c.in[0], c.out)
}

// Cast converts stored values: to an integer by truncation, to 8 bits with saturation. Scales are
// ignored.
func Cast(x *Tensor, out Format) *Tensor {
	lo, hi := out.limits()
	return each(x, out, func(v float64) float64 {
		switch {
		case out.Type.IsFloat():
			return out.round(v)
		case math.IsNaN(v):
			return 0
		}
		return min(max(math.Trunc(v), lo), hi)
	})
}
