package emit

import (
	"math"
	"math/bits"
)

// Push collects the push constants of a kernel, in the order of its block: Ints(count).Divisors(w, h).Floats(beta).
type Push []uint32

// Ints returns push constants that begin with v; see Push.Ints.
func Ints(v ...int) Push { return Push(nil).Ints(v...) }

// Ints appends integers from -2^31 to 2^32-1, negative ones as two's complement.
func (p Push) Ints(v ...int) Push {
	for _, x := range v {
		p = append(p, uint32(x))
	}
	return p
}

// Words appends v as they are.
func (p Push) Words(v ...uint32) Push { return append(p, v...) }

// Floats appends v as float32.
func (p Push) Floats(v ...float64) Push {
	for _, x := range v {
		p = append(p, F32(x))
	}
	return p
}

// Divisors appends a Divisor of shaders/include/divide.glsl for each d > 0: d, multiplier and shift of the division by
// it of numbers below 2^31.
func (p Push) Divisors(ds ...int) Push {
	for _, d := range ds {
		shift := bits.Len32(uint32(d - 1)) // ceil(log2 d)
		m := (uint64(1)<<32)*(uint64(1)<<shift-uint64(d))/uint64(d) + 1
		p = append(p, uint32(d), uint32(m), uint32(shift))
	}
	return p
}

// F32 is the push constant of a float.
func F32(x float64) uint32 { return math.Float32bits(float32(x)) }

// Outermost returns dims with `with` put in front, n in all. Precondition: len(dims) <= n.
func Outermost(dims []int, n, with int) []int {
	out := make([]int, n)
	for i := range out[:n-len(dims)] {
		out[i] = with
	}
	copy(out[n-len(dims):], dims)
	return out
}
