package quantize

import "math"

// multiplier is a positive real factor as fixed point: value * 2^(shift-31), with value in [2^30, 2^31).
type multiplier struct {
	value int32
	shift int
}

// newMultiplier is TensorFlow Lite's QuantizeMultiplier.
func newMultiplier(real float64) multiplier {
	fraction, shift := math.Frexp(real)
	value := int64(math.Round(fraction * (1 << 31)))
	if value == 1<<31 {
		value /= 2
		shift++
	}
	if shift < -31 {
		return multiplier{}
	}
	return multiplier{int32(value), shift}
}

// apply returns x times the factor with TensorFlow Lite's two roundings (MultiplyByQuantizedMultiplier): the high
// half of the doubled product to nearest, then the right shift to nearest with ties away from zero.
func (m multiplier) apply(x int32) int32 {
	left, right := max(m.shift, 0), max(-m.shift, 0)
	return roundingShiftRight(doublingHighMul(x<<left, m.value), right)
}

// doublingHighMul is gemmlowp's SaturatingRoundingDoublingHighMul. b is never the least int32 here, so nothing
// saturates.
func doublingHighMul(a, b int32) int32 {
	product := int64(a) * int64(b)
	nudge := int64(1 << 30)
	if product < 0 {
		nudge = 1 - nudge
	}
	return int32((product + nudge) / (1 << 31)) // truncates, as C does
}

// roundingShiftRight is gemmlowp's RoundingDivideByPOT.
func roundingShiftRight(x int32, by int) int32 {
	mask := int32(1)<<by - 1
	threshold := mask >> 1
	if x < 0 {
		threshold++
	}
	y := x >> by
	if x&mask > threshold {
		y++
	}
	return y
}
