// Package suite measures networks side by side, and says how far each is from what the device can do at most.
//
// A network's ceiling is the shortest time in which the device could do its work: the multiplications and additions at
// the rate of its fastest arithmetic of the network's type, or the constants, the input and the output read and written
// once at the rate of its memory, whichever takes longer. How it is computed plays no part in it.
package suite

import (
	"context"
	"slices"
	"time"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/stats"
)

// Result is the JSON of `nngpu bench --suite`; its field names are an interface.
type Result struct {
	Device   string    `json:"device"`
	Driver   string    `json:"driver"`
	Version  string    `json:"version"`
	At       time.Time `json:"at"`
	Batch    int       `json:"batch"`
	IO       string    `json:"io"`
	Rounds   int       `json:"rounds"`
	Ceilings Ceilings  `json:"ceilings"`
	Rows     []Row     `json:"rows"`
}

// Ceilings are what the device can do at most; 0 what it cannot or where nobody knows.
type Ceilings struct {
	F32    float64 `json:"fma_f32_gflops"`
	F16    float64 `json:"fma_f16_gflops"`
	Int8   float64 `json:"dot_int8_gops"`
	Memory float64 `json:"memory_gbps"`
	// Busy says that others used the machine meanwhile, too much to rely on these and on the rows.
	Busy bool `json:"busy"`
}

// Row is one network. Times are of whole executions, in milliseconds.
type Row struct {
	Network string  `json:"network"`
	Type    string  `json:"type"`
	Prepare float64 `json:"prepare_ms"`
	Median  float64 `json:"median_ms"`
	Min     float64 `json:"min_ms"`
	P90     float64 `json:"p90_ms"`
	Runs    int     `json:"runs"`
	GFLOPS  float64 `json:"gflops"`
	// Bound is what bounds the network on this device: an arithmetic or the memory. Ceiling is the time that it takes at
	// least, Percent how much of that is reached.
	Bound   string  `json:"bound"`
	Ceiling float64 `json:"ceiling_ms"`
	Percent float64 `json:"percent"`
	// Error is why there are no figures.
	Error string `json:"error,omitempty"`
}

// Subject is a network that is to be measured.
type Subject struct {
	Row
	GFLOP float64 // of one execution
	Bytes int64   // of constants, input and output
	Run   func(context.Context) error
	times []time.Duration
}

// Rounds is how often each network has its turn.
const Rounds = 5

// Measure runs each subject for so long altogether, in turns, so that all of them see the same seconds of a machine, of
// which some are slow. Every other round goes backward. One that fails is left out from then on. The only error is that of
// ctx.
func Measure(ctx context.Context, subjects []*Subject, duration time.Duration, step func()) error {
	order := slices.Clone(subjects)
	for range Rounds {
		for _, s := range order {
			s.turn(ctx, duration/Rounds)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			step()
		}
		slices.Reverse(order)
	}
	return nil
}

// turn runs the subject for some time, once at least.
func (s *Subject) turn(ctx context.Context, d time.Duration) {
	if s.Error != "" {
		return
	}
	for begin := time.Now(); ; {
		start := time.Now()
		if err := s.Run(ctx); err != nil {
			s.Error = err.Error()
			return
		}
		s.times = append(s.times, time.Since(start))
		if ctx.Err() != nil || time.Since(begin) >= d {
			return
		}
	}
}

// Finish is the row of a subject that was measured on such a device.
func (s *Subject) Finish(c *Ceilings) Row {
	r := s.Row
	if r.Error != "" {
		return r
	}
	slices.Sort(s.times)
	quantile := func(q float64) float64 { return stats.Milliseconds(stats.Quantile(s.times, q)) }
	r.Min, r.Median, r.P90, r.Runs = quantile(0), quantile(0.5), quantile(0.9), len(s.times)
	r.Bound, r.Ceiling = c.bound(r.Type, s.GFLOP, s.Bytes)
	if r.Median > 0 {
		r.GFLOPS, r.Percent = s.GFLOP/(r.Median/1e3), 100*r.Ceiling/r.Median
	}
	return r
}

// bound is what bounds so much work and traffic of a type, and the milliseconds that it takes at least. A device whose
// arithmetic of a type is slower than that of float32, or which has none, does best in float32.
func (c *Ceilings) bound(typ string, gflop float64, bytes int64) (string, float64) {
	name, rate := "f32", c.F32
	switch {
	case typ == "f16" && c.F16 > rate:
		name, rate = "f16", c.F16
	case typ == "int8" && c.Int8 > rate:
		name, rate = "int8 dot", c.Int8
	}
	ms := 0.0
	if rate > 0 {
		ms = gflop / rate * 1e3
	}
	if c.Memory > 0 {
		if t := float64(bytes) / (c.Memory * 1e9) * 1e3; t > ms {
			return "memory", t
		}
	}
	return name, ms
}
