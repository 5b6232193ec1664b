package ref

import "math"

// hardSwishFixed is tflite::reference_ops::HardSwish for the 8-bit types: 16-bit fixed point.
func hardSwishFixed(x *Tensor, out Format) *Tensor {
	// Seven bits to spare bring the input to the top of 16 bits.
	hires := float32(x.Scale) * (1.0 / 128)
	outM := newMultiplier(float64(hires/float32(out.Scale)), DoubleRounding)
	// x/3 in 16-bit fixed point: the reluish value runs over [-1, 1) for x in [-3, 3).
	reluishM := newMultiplier(float64(hires/(float32(3)/32768)), DoubleRounding)
	outM16, reluishM16 := narrow(outM.m), narrow(reluishM.m)
	return each(x, out, func(q float64) float64 {
		in := int64(int16((int64(q) - int64(x.ZeroPoint)) << 7))
		preshift := doublingHighMul16(in, outM16)
		r := in
		e := reluishM.shift
		if e > 0 {
			r = saturate16(r << (e - 1))
		}
		r = doublingHighMul16(r, reluishM16)
		if e > 0 {
			r = saturate16(r << 1)
		}
		if e < 0 {
			r = roundingShift(r, -e)
		}
		r = (r + 1<<15) >> 1 // from [-1, 1] to [0, 1]
		product := saturate16(r * preshift * 2 / (1 << 16))
		y := product
		if outM.shift < 0 {
			y = roundingShift(product, -outM.shift)
		} else {
			y = saturate16(product << outM.shift)
		}
		return out.round(float64(y) + float64(out.ZeroPoint))
	})
}

// narrow is tflite::DownScaleInt32ToInt16Multiplier.
func narrow(m int64) int64 {
	if m >= math.MaxInt32-1<<15 {
		return math.MaxInt16
	}
	return (m + 1<<15) >> 16
}

// doublingHighMul16 is gemmlowp::SaturatingRoundingDoublingHighMul for int16.
func doublingHighMul16(a, b int64) int64 {
	if a == b && a == math.MinInt16 {
		return math.MaxInt16
	}
	nudge := int64(1 << 14)
	if a*b < 0 {
		nudge = 1 - nudge
	}
	return (a*b + nudge) / (1 << 15)
}

func saturate16(x int64) int64 { return min(max(x, math.MinInt16), math.MaxInt16) }
