// Package suite measures networks side by side, and says how far each is from what the device can do at most.
//
// A network's ceiling is the shortest time in which the device could do its work: the multiplications and additions at
// the rate of its fastest arithmetic of the network's type, or the constants, the input and the output read and written
// once at the rate of its memory, whichever takes longer. How it is computed plays no part in it.
//
// What else a machine does can only add time (Chen and Revels, "Robust benchmarking in noisy environments"), and on a
// shared one it comes and goes within seconds. So each network runs in short bursts that are spread over all of the time
// in random order, its figure is the fastest execution of all bursts, and the ceilings are the best of what is measured
// between the same bursts.
package suite

import (
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

// Ceilings are what the device can do at most; 0 for what it cannot do or is not known.
type Ceilings struct {
	F32    float64 `json:"fma_f32_gflops"`
	F16    float64 `json:"fma_f16_gflops"`
	Int8   float64 `json:"dot_int8_gops"`
	Memory float64 `json:"memory_gbps"`
	// By cooperative matrices.
	MatrixF16  float64 `json:"matrix_f16_gflops"`
	MatrixInt8 float64 `json:"matrix_int8_gops"`
	// Busy says that half of the time the device did much less than these, as it does where others use the machine.
	Busy bool `json:"busy"`
}

// Row is one network. Times are of whole executions, in milliseconds.
type Row struct {
	Network string  `json:"network"`
	Type    string  `json:"type"`
	Prepare float64 `json:"prepare_ms"`
	Min     float64 `json:"min_ms"`
	Median  float64 `json:"median_ms"`
	P90     float64 `json:"p90_ms"`
	Bursts  int     `json:"bursts"`
	Runs    int     `json:"runs"`
	// Spread is how much the fastest executions of every other burst and of the rest differ: about what another
	// measurement may differ by. Nil for a single burst.
	Spread *float64 `json:"spread_percent,omitempty"`
	GFLOPS float64  `json:"gflops"` // at Min
	// Bound is what bounds the network on this device: an arithmetic or the memory. Ceiling is the time that it takes at
	// least, Percent how much of Min that is.
	Bound   string  `json:"bound"`
	Ceiling float64 `json:"ceiling_ms"`
	Percent float64 `json:"percent"`
	// Error is why there are no figures.
	Error string `json:"error,omitempty"`
}

// row is the row of a subject that was measured on a device of such ceilings.
func (s *Subject) row(c *Ceilings) Row {
	r := Row{Network: s.Network, Type: s.Type, Prepare: stats.Milliseconds(s.Prepare), Error: s.Error}
	if r.Error != "" {
		return r
	}
	times := slices.Sorted(slices.Values(slices.Concat(s.bursts...)))
	quantile := func(q float64) float64 { return stats.Milliseconds(stats.Quantile(times, q)) }
	r.Min, r.Median, r.P90, r.Bursts, r.Runs = quantile(0), quantile(0.5), quantile(0.9), len(s.bursts), len(times)
	if spread, ok := s.spread(); ok {
		spread *= 100
		r.Spread = &spread
	}
	bound, ceiling := c.bound(s)
	r.Bound, r.Ceiling = string(bound), ceiling
	if r.Min > 0 {
		r.GFLOPS, r.Percent = s.GFLOP/(r.Min/1e3), 100*r.Ceiling/r.Min
	}
	return r
}
