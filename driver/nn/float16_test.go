package nn

import (
	"math"
	"testing"
)

// TestFloat16ToFloat32 compares every half with (-1)^s * 2^(e-15) * (1 + f/1024), the formula of IEEE 754.
func TestFloat16ToFloat32(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		sign, exp, frac := i>>15, i>>10&31, float64(i&1023)
		var want float64
		switch exp {
		case 0:
			want = frac / 1024 * math.Pow(2, -14)
		case 31:
			want = math.Inf(1)
			if frac != 0 {
				want = math.NaN()
			}
		default:
			want = (1 + frac/1024) * math.Pow(2, float64(exp-15))
		}
		if sign != 0 {
			want = -want
		}
		got := Float16ToFloat32(h)
		if math.IsNaN(want) {
			if !math.IsNaN(float64(got)) {
				t.Fatalf("%#04x: %v is no NaN", h, got)
			}
			continue
		}
		if float64(got) != want || math.Signbit(float64(got)) != (sign != 0) {
			t.Fatalf("%#04x: %v instead of %v", h, got, want)
		}
	}
}
