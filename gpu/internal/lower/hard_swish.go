package lower

import (
	"math"

	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
)

// hardSwish8 returns HARD_SWISH from stored to stored integers in 16-bit fixed point, bit for bit what
// tflite::reference_ops::HardSwish computes.
func hardSwish8(x, y *ir.Tensor) func(q int32) int32 {
	const spare = 7 // bits between 8-bit differences and int16
	hires := x.Scale / (1 << spare)
	outputMultiplier, outputShift := pack.Multiplier(float64(hires / y.Scale))
	// The reluish value runs from -1 to 1 (2^15) for x from -3 to 3.
	reluishMultiplier, reluishShift := pack.Multiplier(float64(hires / (float32(3) / 32768)))
	mo, mr := multiplier16(outputMultiplier), multiplier16(reluishMultiplier)
	lo, hi := pack.TypeRange(y.Type)
	return func(q int32) int32 {
		in := saturate16(int64(q-x.Zero) << spare)
		scaled := doublingHighMul16(in, mo)
		reluish := int64(in)
		if reluishShift > 0 {
			reluish = int64(saturate16(reluish << (reluishShift - 1)))
		}
		reluish = int64(doublingHighMul16(int16(reluish), mr))
		switch {
		case reluishShift > 0:
			reluish = int64(saturate16(reluish << 1))
		case reluishShift < 0:
			reluish = roundingShift(reluish, -reluishShift)
		}
		reluish = (reluish + 1<<15) >> 1 // from 0 to 1
		out := int64(saturate16(reluish * int64(scaled) / (1 << 15)))
		if outputShift <= 0 {
			out = roundingShift(out, -outputShift)
		} else {
			out = int64(saturate16(out << outputShift))
		}
		return int32(min(max(out+int64(y.Zero), int64(lo)), int64(hi)))
	}
}

// multiplier16 is tflite::DownScaleInt32ToInt16Multiplier.
func multiplier16(m int32) int16 {
	if m >= math.MaxInt32-1<<15 {
		return math.MaxInt16
	}
	return int16((m + 1<<15) >> 16)
}

func saturate16(v int64) int16 { return int16(min(max(v, math.MinInt16), math.MaxInt16)) }

// doublingHighMul16 is gemmlowp's SaturatingRoundingDoublingHighMul for int16 and m >= 0.
func doublingHighMul16(a, m int16) int16 { return int16((int32(a)*int32(m) + 1<<14) >> 15) }

// roundingShift is gemmlowp's RoundingDivideByPOT: v / 2^e, ties away from zero.
func roundingShift(v int64, e int) int64 {
	half := int64(1) << e >> 1
	if e > 0 && v < 0 {
		half--
	}
	return (v + half) >> e
}
