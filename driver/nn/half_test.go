package nn

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHalf compares the value of every half with (-1)^s * 2^(e-15) * (1 + f/1024), the formula of IEEE 754,
// and brings it back.
func TestHalf(t *testing.T) {
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
		got := Half(h).Float32()
		if math.IsNaN(want) {
			if !math.IsNaN(float64(got)) {
				t.Fatalf("%#04x: %v is no NaN", h, got)
			}
			continue
		}
		if float64(got) != want || math.Signbit(float64(got)) != (sign != 0) {
			t.Fatalf("%#04x: %v instead of %v", h, got, want)
		}
		if back := HalfOf(got); back != Half(h) {
			t.Fatalf("%#04x became %v and %#04x", h, got, uint16(back))
		}
	}
}

func TestHalfOf(t *testing.T) {
	for _, tc := range []struct {
		x    float64
		want Half
	}{
		{0, 0}, {math.Copysign(0, -1), 0x8000}, {1, 0x3c00}, {-2, 0xc000}, {65504, 0x7bff}, {65519, 0x7bff}, {65520, 0x7c00},
		{-1e9, 0xfc00}, {math.Inf(-1), 0xfc00}, {1 + 1.0/2048, 0x3c00}, {1 + 3.0/2048, 0x3c02}, {1.0 / (1 << 24), 1},
		{1.0 / (1 << 25), 0}, {-1.5 / (1 << 24), 0x8002}, {0.1, 0x2e66}, {1.0 / 3, 0x3555}, {2049, 0x6800}, {2051, 0x6802},
		{4095.9, 0x6c00}, {6.0975e-5, 0x03ff}, {6.1e-5, 0x03ff}, {6.104e-5, 0x0400}, {5.96e-8, 1}, {1e-9, 0}, {math.NaN(), 0x7e00},
		{1 + 1.0/2048 + 1e-12, 0x3c01}, // as a float32 it would be a tie
	} {
		require.Equal(t, tc.want, HalfOf(tc.x), "%v", tc.x)
	}
	require.Equal(t, Half(0x7e00), HalfOf(float32(math.NaN())))
	require.Equal(t, "-1.5", HalfOf(float32(-1.5)).String())
}
