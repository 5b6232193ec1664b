package ref

import "math"

// roundFloat16 is x rounded to the nearest IEEE 754 binary16 number, ties to even; beyond the largest it
// is infinite.
func roundFloat16(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) || x == 0 {
		return x
	}
	_, e := math.Frexp(x) // |x| = m * 2^e with m in [0.5, 1)
	// 11 significant bits; below 2^-14 the steps stay 2^-24.
	step := math.Ldexp(1, max(e-11, -24))
	r := math.RoundToEven(x/step) * step
	if math.Abs(r) > 65504 {
		return math.Inf(int(math.Copysign(1, x)))
	}
	return math.Copysign(r, x)
}

// float16Bits encodes the binary16 number nearest to x.
func float16Bits(x float64) uint16 {
	r := roundFloat16(x)
	var sign uint16
	if math.Signbit(r) {
		sign = 0x8000
	}
	a := math.Abs(r)
	switch {
	case math.IsNaN(r):
		return 0x7e00
	case math.IsInf(r, 0):
		return sign | 0x7c00
	case a < math.Ldexp(1, -14):
		return sign | uint16(math.Ldexp(a, 24))
	}
	_, e := math.Frexp(a)
	// a = (1 + f/1024) * 2^(e-1)
	frac := uint16(math.Ldexp(a, 11-e)) - 1024
	return sign | uint16(e-1+15)<<10 | frac
}

// float16Value decodes a binary16 number.
func float16Value(h uint16) float64 {
	sign := 1.0
	if h&0x8000 != 0 {
		sign = -1
	}
	e, frac := int(h>>10&31), float64(h&0x3ff)
	switch e {
	case 0:
		return math.Copysign(math.Ldexp(frac, -24), sign)
	case 31:
		if frac != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+frac, e-25)
}
