package suite

import (
	"context"
	"maps"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/stats"
)

// Bound is what bounds networks on a device, as the table says it.
type Bound string

// Bounds: an arithmetic, or the memory.
const (
	ByF32    Bound = "f32"
	ByF16    Bound = "f16"
	ByInt8   Bound = "int8 dot"
	ByMemory Bound = "memory"
	// By cooperative matrices.
	ByMatrixF16  Bound = "f16 matrix"
	ByMatrixInt8 Bound = "int8 matrix"
)

// Gauge tells the rate of a ceiling at the moment: billions of operations or bytes a second.
type Gauge func(context.Context) (float64, error)

// gauges measure ceilings again and again. Those that the device does not have are missing.
type gauges struct {
	of    map[Bound]Gauge
	rates map[Bound][]float64
}

// read takes one rate of each ceiling. One whose gauge fails stays as it was: networks' times are useful without it.
func (g *gauges) read(ctx context.Context) {
	for what, rate := range g.of {
		if r, err := rate(ctx); err == nil {
			g.rates[what] = append(g.rates[what], r)
		}
	}
}

// keep drops the gauges of all ceilings but those that bound one of the subjects, and that of float32.
func (g *gauges) keep(subjects []*Subject) {
	c, bounds := g.ceilings(), map[Bound]bool{ByF32: true}
	for _, s := range subjects {
		what, _ := c.bound(s)
		bounds[what] = true
	}
	maps.DeleteFunc(g.of, func(what Bound, _ Gauge) bool { return !bounds[what] })
}

// busyRate is the part of the best rate below which the median must be for a machine to be busy.
const busyRate = 0.85

// ceilings are the best of the rates so far.
func (g *gauges) ceilings() (c Ceilings) {
	for what, to := range map[Bound]*float64{
		ByF32: &c.F32, ByF16: &c.F16, ByInt8: &c.Int8, ByMemory: &c.Memory, ByMatrixF16: &c.MatrixF16, ByMatrixInt8: &c.MatrixInt8,
	} {
		for _, rate := range g.rates[what] {
			*to = max(*to, rate)
		}
	}
	if list := g.rates[ByF32]; len(list) > 0 {
		c.Busy = stats.Median(list) < busyRate*c.F32
	}
	return c
}

// bound is what bounds a network, and the milliseconds that it takes at least. A device whose arithmetic of a type is
// slower than that of float32, or which has none, does best in float32.
func (c *Ceilings) bound(s *Subject) (bound Bound, ms float64) {
	bound, rate := ByF32, c.F32
	faster := func(of Bound, other float64) {
		if other > rate {
			bound, rate = of, other
		}
	}
	switch s.Type {
	case "f16":
		faster(ByF16, c.F16)
		faster(ByMatrixF16, c.MatrixF16)
	case "int8":
		faster(ByInt8, c.Int8)
		faster(ByMatrixInt8, c.MatrixInt8)
	}
	if rate > 0 {
		ms = s.GFLOP / rate * 1e3
	}
	if c.Memory > 0 {
		if t := float64(s.Bytes) / (c.Memory * 1e9) * 1e3; t > ms {
			return ByMemory, t
		}
	}
	return bound, ms
}
