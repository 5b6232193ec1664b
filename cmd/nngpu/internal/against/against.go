// Package against measures the latency of one network on a device alone and beside another that saturates it, and shows
// what came out: as JSON, a table, a plot, a timeline and a page.
package against

import (
	"fmt"
	"strings"
	"time"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/stats"
)

// Result is the JSON of `nngpu bench --against`; its field names are an interface.
type Result struct {
	Device       string  `json:"device"`
	Driver       string  `json:"driver"`
	Version      string  `json:"version"`
	Model        string  `json:"model"`
	Against      string  `json:"against"`
	Priority     string  `json:"priority"`   // of the second model
	Alone        Case    `json:"alone"`      // nothing else on the device
	Loaded       Case    `json:"loaded"`     // while the background saturates it
	NoPreempt    Case    `json:"no_preempt"` // the same, and what runs is never interrupted
	SegmentBound float64 `json:"segment_bound_ms"`

	recorded *recorded // nil unless Setup.Record
}

// Case is what was seen of the foreground in one case: latencies in milliseconds, of the executions that
// ended with a result (0 where there were none), and counts.
type Case struct {
	Runs int `json:"runs"` // that ended with a result

	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
	// Missed were admitted but ended late or not at all; Refused were turned away at once.
	Missed  int `json:"missed"`
	Refused int `json:"refused"`
	// Preemptions counts how often executions gave way, BackgroundPerSecond those of the background that ended.
	Preemptions         int64   `json:"preemptions"`
	BackgroundPerSecond float64 `json:"background_per_second"`

	// percentiles has the latencies at percentilesOf.
	percentiles []float64
}

// row is a case with its name.
type row struct {
	name string
	c    *Case
}

// rows are the cases in the order of the tables.
func (r *Result) rows() []row {
	return []row{{"alone", &r.Alone}, {"loaded", &r.Loaded}, {"no preemption", &r.NoPreempt}}
}

// figures sums o up.
func (o *observations) figures() Case {
	at := func(q float64) float64 { return stats.Milliseconds(stats.Quantile(o.times, q)) }
	c := Case{
		P50: at(0.5), P90: at(0.9), P99: at(0.99), Max: at(1),
		Missed: o.missed, Refused: o.refused, Preemptions: o.preemptions, BackgroundPerSecond: o.background,
		Runs: len(o.times),
	}
	for _, q := range percentilesOf(len(o.times)) {
		c.percentiles = append(c.percentiles, at(q))
	}
	return c
}

// Table is the result for people. Missed and refused executions are left out where there were none and no deadline,
// which is 0 then.
func (r *Result) Table(deadline time.Duration) string {
	misses := deadline > 0
	for _, row := range r.rows() {
		misses = misses || row.c.Missed+row.c.Refused > 0
	}
	var b strings.Builder
	console.Printf(&b, "              runs     p50 ms     p90 ms     p99 ms     max ms")
	if misses {
		b.WriteString("   missed  refused")
	}
	b.WriteString("  preemptions  background/s\n")
	for _, row := range r.rows() {
		c := row.c
		console.Printf(&b, "%-13s %4d %10.3f %10.3f %10.3f %10.3f", row.name, c.Runs, c.P50, c.P90, c.P99, c.Max)
		if misses {
			console.Printf(&b, " %8d %8d", c.Missed, c.Refused)
		}
		console.Printf(&b, " %12d %13.2f\n", c.Preemptions, c.BackgroundPerSecond)
	}
	b.WriteString(r.verdict())
	return b.String()
}

// verdict says in words what the load costs at p99.
func (r *Result) verdict() string {
	if r.Alone.Runs == 0 || r.Loaded.Runs == 0 {
		return "No execution of the first model ended in time: choose a later deadline.\n"
	}
	text := "Under load p99 is no later than alone"
	if extra := r.Loaded.P99 - r.Alone.P99; extra > 0 {
		text = fmt.Sprintf("Under load p99 is %+.3f ms, %.1f segments of at most %g ms", extra, extra/r.SegmentBound, r.SegmentBound)
	}
	switch {
	case r.NoPreempt.Runs == 0:
		text += "; without preemption no execution ended in time"
	case r.Loaded.P99 > 0:
		text += fmt.Sprintf("; without preemption it is %.1f times as long", r.NoPreempt.P99/r.Loaded.P99)
	}
	return text + ".\n"
}
