package tflite

import "math"

// float16Bits rounds a finite x to the nearest binary16 number, ties to even; too large gives infinity.
func float16Bits(x float32) uint16 {
	b := math.Float32bits(x)
	sign := uint16(b >> 16 & 0x8000)
	abs := math.Abs(float64(x))
	switch {
	case abs >= 65520: // half a step above the largest number rounds to infinity
		return sign | 0x7C00
	case abs < 1.0/(1<<14):
		return sign | uint16(math.RoundToEven(abs*(1<<24)))
	}
	m := b&0x7FFFFFFF - 112<<23
	m += 0xFFF + m>>13&1
	return sign | uint16(m>>13)
}
