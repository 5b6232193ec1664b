package ref

import (
	"fmt"
	"math"
)

// Arithmetic chooses how results of 8-bit operations are rounded.
type Arithmetic int

// Arithmetics. The two fixed-point ones reproduce TFLite's kernels bit for bit; results of the three lie
// within one step of each other for a single operation.
const (
	// DoubleRounding: a saturating rounding doubling high multiply, then a rounding shift to the right,
	// ties away from zero. TFLite's and gemmlowp's default.
	DoubleRounding Arithmetic = iota
	// SingleRounding: one shift of the 64-bit product, ties up. (TFLITE_SINGLE_ROUNDING, and ruy.)
	SingleRounding
	// Real: real arithmetic, rounded once at the end, ties away from zero.
	Real
)

func (a Arithmetic) String() string {
	if a >= 0 && a <= Real {
		return [...]string{"double rounding", "single rounding", "real"}[a]
	}
	return fmt.Sprintf("Arithmetic(%d)", int(a))
}

// multiplier is a positive real number as TFLite's kernels hold it: m * 2^(shift-31).
type multiplier struct {
	real  float64
	m     int64
	shift int
	ar    Arithmetic
}

// newMultiplier is tflite::QuantizeMultiplier.
func newMultiplier(x float64, ar Arithmetic) multiplier {
	out := multiplier{real: x, ar: ar}
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return out
	}
	frac, shift := math.Frexp(x)
	m := int64(math.Round(frac * (1 << 31)))
	if m == 1<<31 {
		m /= 2
		shift++
	}
	if shift < -31 {
		shift, m = 0, 0
	}
	if shift > 30 {
		shift, m = 30, 1<<31-1
	}
	out.m, out.shift = m, shift
	return out
}

// apply multiplies an integer and rounds to an integer.
func (m multiplier) apply(x int64) int64 {
	switch m.ar {
	case Real:
		return int64(math.Round(float64(x) * m.real))
	case SingleRounding:
		total := 31 - m.shift
		return (x*m.m + 1<<(total-1)) >> total
	}
	left, right := max(m.shift, 0), max(-m.shift, 0)
	return roundingShift(doublingHighMul(int64(int32(x<<left)), m.m), right)
}

// doublingHighMul is gemmlowp::SaturatingRoundingDoublingHighMul for int32: (a*b*2) >> 32, rounded.
func doublingHighMul(a, b int64) int64 {
	if a == b && a == math.MinInt32 {
		return math.MaxInt32
	}
	nudge := int64(1 << 30)
	if a*b < 0 {
		nudge = 1 - nudge
	}
	return (a*b + nudge) / (1 << 31)
}

// roundingShift is gemmlowp::RoundingDivideByPOT: x / 2^e, ties away from zero.
func roundingShift(x int64, e int) int64 {
	mask := int64(1)<<e - 1
	threshold := mask >> 1
	if x < 0 {
		threshold++
	}
	r := x >> e
	if x&mask > threshold {
		r++
	}
	return r
}
