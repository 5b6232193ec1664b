package nn

import (
	"math"
	"strconv"
)

// Half is an IEEE 754 binary16 number: an element of TENSOR_FLOAT16, or a FLOAT16.
type Half uint16

// HalfOf is the number nearest to x, of two the even one. It is infinite where |x| is 65520 or more.
func HalfOf[T ~float32 | ~float64](x T) Half {
	v := float64(x)
	a := math.Abs(v)
	sign := Half(math.Float64bits(v) >> 48 & 0x8000)
	switch {
	case math.IsNaN(v):
		return sign | 0x7e00
	case a >= 65520: // midway between the largest number and the next
		return sign | 0x7c00
	case a < 0x1p-14: // subnormal numbers count in 2^-24; the largest rounds up to the smallest normal one
		return sign | Half(math.RoundToEven(a*0x1p24))
	}
	fraction, exp := math.Frexp(a)               // a = fraction * 2^exp, fraction in [0.5, 1)
	m := Half(math.RoundToEven(fraction * 2048)) // 1024..2048
	return sign | (Half(exp+14)<<10 + (m - 1024))
}

// Float32 is the value of h; exact.
func (h Half) Float32() float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&0x3ff
	switch exp {
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	case 0:
		return math.Float32frombits(sign | math.Float32bits(float32(frac)*0x1p-24))
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

func (h Half) String() string { return strconv.FormatFloat(float64(h.Float32()), 'g', -1, 32) }
