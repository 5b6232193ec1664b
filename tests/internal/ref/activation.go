package ref

import (
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// bounds are the real limits of a fused activation.
func bounds(a nn.Activation) (lo, hi float64) {
	switch a {
	case nn.ActRelu:
		return 0, math.Inf(1)
	case nn.ActRelu1:
		return -1, 1
	case nn.ActRelu6:
		return 0, 6
	case nn.ActNone:
	default:
		refuse("unknown activation %d", a)
	}
	return math.Inf(-1), math.Inf(1)
}

// clampFor returns the function that applies activation a and makes the result representable in f. For
// a quantised f it works on stored integers: the limits are quantised, as TFLite's
// CalculateActivationRange does.
func clampFor(a nn.Activation, f Format) func(float64) float64 {
	lo, hi := bounds(a)
	if f.quantised() {
		qlo, qhi := f.limits()
		if !math.IsInf(lo, 0) {
			qlo = max(qlo, quantiseFloat32(lo, f))
		}
		if !math.IsInf(hi, 0) {
			qhi = min(qhi, quantiseFloat32(hi, f))
		}
		return func(x float64) float64 { return min(max(math.Round(x), qlo), qhi) }
	}
	if !f.Type.IsFloat() {
		if a != nn.ActNone {
			refuse("activation %s on %s", a, f.Type)
		}
		return wrapInt32
	}
	return func(x float64) float64 {
		// Comparisons keep a NaN a NaN.
		if x < lo {
			x = lo
		}
		if x > hi {
			x = hi
		}
		return f.round(x)
	}
}

// quantiseFloat32 is zero point + round(x/scale) without saturation, divided in float32 as TFLite does.
func quantiseFloat32(x float64, f Format) float64 {
	return float64(f.ZeroPoint) + math.Round(float64(float32(x)/float32(f.Scale)))
}

// wrapInt32 reduces an integer of less than 2^63 to int32 with wrap-around.
func wrapInt32(x float64) float64 { return float64(int32(int64(x))) }
