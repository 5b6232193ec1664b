package nn

import "math"

// Float16ToFloat32 decodes an IEEE 754 binary16 value; exact.
func Float16ToFloat32(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&0x3ff
	switch exp {
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	case 0:
		return math.Float32frombits(sign | math.Float32bits(float32(frac)*0x1p-24))
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}
