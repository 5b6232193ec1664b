package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
)

// againstResult is the JSON of `nngpu bench --against`; its field names are an interface.
type againstResult struct {
	Device       string      `json:"device"`
	Driver       string      `json:"driver"`
	Version      string      `json:"version"`
	Model        string      `json:"model"`
	Against      string      `json:"against"`
	Priority     string      `json:"priority"`   // of the second model
	Alone        againstCase `json:"alone"`      // nothing else on the device
	Loaded       againstCase `json:"loaded"`     // while the background saturates it
	NoPreempt    againstCase `json:"no_preempt"` // the same, and what runs is never interrupted
	SegmentBound float64     `json:"segment_bound_ms"`
}

// againstCase is what was seen of the foreground in one case: latencies in milliseconds, of the executions that
// ended with a result (0 where there were none), and counts.
type againstCase struct {
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

	// percentiles has the latencies at plotPercentiles.
	percentiles []float64
}

// row is a case with its name.
type row struct {
	name string
	c    *againstCase
}

// rows are the cases in the order of the tables.
func (r *againstResult) rows() []row {
	return []row{{"alone", &r.Alone}, {"loaded", &r.Loaded}, {"no preemption", &r.NoPreempt}}
}

// figures sums o up.
func (o *observations) figures() againstCase {
	m := measurement{times: o.times}
	c := againstCase{
		P50: m.quantile(0.5), P90: m.quantile(0.9), P99: m.quantile(0.99), Max: m.quantile(1),
		Missed: o.missed, Refused: o.refused, Preemptions: o.preemptions, BackgroundPerSecond: o.background,
		Runs: len(o.times),
	}
	for _, q := range plotPercentiles(len(o.times)) {
		c.percentiles = append(c.percentiles, m.quantile(q))
	}
	return c
}

// rival is the second model of --against: a file and the priority that it runs with.
type rival struct {
	path     string
	priority nn.Priority
}

var priorities = map[string]nn.Priority{"low": nn.PriorityLow, "medium": nn.PriorityMedium, "high": nn.PriorityHigh}

// parseRival reads MODEL[:PRIORITY]; without a priority it is low. A file may have a colon in its name.
func parseRival(text string) (rival, error) {
	path, word, cut := cutLast(text, ":")
	if p, known := priorities[strings.ToLower(word)]; cut && known {
		if path == "" {
			return rival{}, usageError("--against has no model; give MODEL or MODEL:low, :medium or :high")
		}
		return rival{path, p}, nil
	}
	if text == "" {
		return rival{}, usageError("--against is empty; give MODEL or MODEL:low, :medium or :high")
	}
	if cut && !exists(text) && exists(path) {
		return rival{}, usageError("--against %s: %q is no priority; they are low, medium and high", text, word)
	}
	return rival{text, nn.PriorityLow}, nil
}

// cutLast is strings.Cut at the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// againstTable is the result for people. What was missed and refused is left out where there was no deadline, which
// is 0 then, and nothing was refused all the same.
func againstTable(r *againstResult, deadline time.Duration) string {
	misses := deadline > 0
	for _, row := range r.rows() {
		misses = misses || row.c.Missed+row.c.Refused > 0
	}
	var b strings.Builder
	printf(&b, "              runs     p50 ms     p90 ms     p99 ms     max ms")
	if misses {
		b.WriteString("   missed  refused")
	}
	b.WriteString("  preemptions  background/s\n")
	for _, row := range r.rows() {
		c := row.c
		printf(&b, "%-13s %4d %10.3f %10.3f %10.3f %10.3f", row.name, c.Runs, c.P50, c.P90, c.P99, c.Max)
		if misses {
			printf(&b, " %8d %8d", c.Missed, c.Refused)
		}
		printf(&b, " %12d %13.2f\n", c.Preemptions, c.BackgroundPerSecond)
	}
	b.WriteString(againstVerdict(r))
	return b.String()
}

// againstVerdict says in words what the load costs at p99.
func againstVerdict(r *againstResult) string {
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
