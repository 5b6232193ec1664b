package plan

import (
	"time"

	"github.com/nngpu/nngpu/shaders"
)

// Ceilings are the highest rates of a device, reached by kernels that do nothing else; 0 where it lacks the feature or
// nothing was measured.
type Ceilings struct {
	F32 float64 `json:"fma_f32"`  // multiplications and additions a second, of 32-bit floats
	F16 float64 `json:"fma_f16"`  // of 16-bit floats
	Dot float64 `json:"dot_int8"` // of 8-bit integers, in packed dot products
	// Of 16-bit floats and of 8-bit integers, in cooperative matrices with sums of 32 bits.
	MatrixF16  float64 `json:"matrix_f16"`
	MatrixInt8 float64 `json:"matrix_int8"`
	Cache      float64 `json:"cache"`  // bytes a second, read and written, that stay in a cache
	Memory     float64 `json:"memory"` // that no cache holds
	Copy       float64 `json:"copy"`   // of copy commands, beyond caches
}

// cacheReach is how many bytes a step may touch and still be taken to stay in a cache, by class: the size of the last
// cache of recent processors, and of the second of graphics processors.
var cacheReach = map[Class]float64{ClassCPU: 8 << 20, ClassGPU: 16 << 20}

// Of names the ceiling that binds s on a device, for its arithmetic, its memory traffic, or the cost of a dispatch, and
// the time that s takes if it reaches it. Empty where nothing was measured.
func (c *Ceilings) Of(f *Facts, s *Step) (name string, least time.Duration) {
	if c.F32 == 0 {
		return "", 0
	}
	r := f.Rates()
	name, seconds := "dispatch", r.Overhead(s).Seconds()
	bind := func(ceiling string, work, rate float64) {
		if rate > 0 && work/rate > seconds {
			name, seconds = ceiling, work/rate
		}
	}
	switch {
	case s.Kernel == shaders.Copy:
		bind("copy", s.Bytes, c.Copy)
		return name, time.Duration(seconds * 1e9)
	case s.Bytes <= cacheReach[f.Class]:
		bind("cache", s.Bytes, c.Cache)
	default:
		bind("memory", s.Bytes, c.Memory)
	}
	switch needs := &s.Kernel.Info().Needs; {
	case needs.Matrix.In == "f16":
		bind("f16 matrix", s.FLOP, c.MatrixF16)
	case needs.Matrix.In == "s8":
		bind("int8 matrix", s.FLOP, c.MatrixInt8)
	case needs.IntegerDot:
		bind("int8 dot", s.FLOP, c.Dot)
	default: // in floats of 32 bits, whatever they store
		bind("f32", s.FLOP, c.F32)
	}
	return name, time.Duration(seconds * 1e9)
}
