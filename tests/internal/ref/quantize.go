package ref

import (
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// Quantize stores real values in an 8-bit format: round(x/scale) + zero point, saturated. An input that
// is quantised itself is rescaled, as TFLite's QUANTIZE does.
func Quantize(x *Tensor, out Format, ar Arithmetic) (*Tensor, error) {
	if !out.quantised() || !(out.Scale > 0) {
		return nil, fmt.Errorf("QUANTIZE to %v", out)
	}
	lo, hi := out.limits()
	switch {
	case x.Format().quantised():
		m := newMultiplier(x.Scale/out.Scale, ar)
		return each(x, out, func(q float64) float64 {
			return out.round(float64(m.apply(int64(q)-int64(x.ZeroPoint))) + float64(out.ZeroPoint))
		})
	case !x.Type.IsFloat():
		return nil, fmt.Errorf("QUANTIZE of %s", x.Type)
	case ar == Real:
		return each(x, out, func(v float64) float64 {
			return saturate(math.Round(v/out.Scale)+float64(out.ZeroPoint), lo, hi)
		})
	}
	return each(x, out, func(v float64) float64 { return saturate(quantiseFloat32(v, out), lo, hi) })
}

// Dequantize gives the real values of a quantised tensor, or widens float16.
func Dequantize(x *Tensor, out Format) (*Tensor, error) {
	if !out.Type.IsFloat() {
		return nil, fmt.Errorf("DEQUANTIZE to %s", out.Type)
	}
	if x.Type == nn.TensorQuant8PerChannel && (x.ChannelDim >= len(x.Shape) || len(x.ChannelScales) != x.Shape[x.ChannelDim]) {
		return nil, fmt.Errorf("%d scales for dimension %d of %v", len(x.ChannelScales), x.ChannelDim, x.Shape)
	}
	y, err := New(out, x.Shape...)
	if err != nil {
		return nil, err
	}
	for i := range x.V {
		y.V[i] = out.round(x.real(i))
	}
	return y, nil
}
