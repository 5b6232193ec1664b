package emit

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDivisor(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		d := i + 1
		if i >= 1000 {
			d = 1 + rng.IntN(math.MaxInt32)
		}
		p := Push(nil).Divisors(d)
		for k := range 100 {
			n := uint32(rng.IntN(1 << 31))
			switch k {
			case 0:
				n = math.MaxInt32
			case 1:
				n = uint32(d) - 1
			case 2:
				n = uint32(d) & math.MaxInt32
			}
			// As shaders/include/divide.glsl.
			high := uint32(uint64(n) * uint64(p[1]) >> 32)
			require.Equal(t, n/uint32(d), (high+n)>>p[2], "%d / %d", n, d)
		}
	}
}

func TestPush(t *testing.T) {
	p := Ints(1, -2, 1<<32-1).Words(7).Floats(-0.5).Divisors(1).Ints(3)
	require.Equal(t, Push{1, 0xfffffffe, 0xffffffff, 7, 0xbf000000, 1, 1, 0, 3}, p)
}
