package gpu

import (
	"math"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
)

// treeTrace is where the time of an execution of a tree went: its regions are traced one by one, each as often as it runs,
// and their steps are those of the tree, in the order in which regions first ran. A nil one traces nothing. Not safe for
// concurrent use.
type treeTrace struct {
	to      *backend.Trace
	now     *backend.Trace // of the region under way
	pending []regionTrace
	first   map[*part]int // where the steps of a region begin among to.Steps
}

// regionTrace is one run of a region.
type regionTrace struct {
	part  *part
	trace *backend.Trace
}

// mostPending bounds the runs of regions whose times are not worked out yet: usually nobody waits for that, but a loop may
// go on for long.
const mostPending = 1024

func newTreeTrace(to *backend.Trace) *treeTrace {
	if to == nil {
		return nil
	}
	t := &treeTrace{to: to, first: map[*part]int{}}
	to.Late = t
	return t
}

// begin returns the trace of a region that begins now.
func (t *treeTrace) begin() *backend.Trace {
	if t == nil {
		return nil
	}
	t.now = &backend.Trace{Every: t.to.Every}
	return t.now
}

// ended notes that the region under way has.
func (t *treeTrace) ended(p *part) {
	if t == nil {
		return
	}
	if len(t.first) == 0 {
		t.to.Waited, t.to.Loaded, t.to.Recorded = t.now.Waited, t.now.Loaded, t.now.Recorded
	}
	t.to.Stored = t.now.Stored
	if _, ok := t.first[p]; !ok {
		segments := 0
		if n := len(t.to.Steps); n > 0 {
			segments = t.to.Steps[n-1].Segment + 1
		}
		t.first[p] = len(t.to.Steps)
		for _, s := range t.now.Steps {
			s.Segment += segments
			t.to.Steps = append(t.to.Steps, s)
		}
	}
	t.pending = append(t.pending, regionTrace{p, t.now})
	if len(t.pending) == mostPending {
		t.Resolve()
	}
}

// Resolve adds up what regions took that ran since it was called last.
func (t *treeTrace) Resolve() {
	to := t.to
	to.Times = append(to.Times, make([]backend.StepTime, len(to.Steps)-len(to.Times))...)
	for _, r := range t.pending {
		if r.trace.Late != nil {
			r.trace.Late.Resolve()
		}
		to.Busy = append(to.Busy, r.trace.Busy...)
		to.Stamping += r.trace.Stamping
		for i, s := range r.trace.Times {
			if s.At.IsZero() {
				continue
			}
			sum := &to.Times[t.first[r.part]+i]
			if sum.At.IsZero() {
				sum.At = s.At
			}
			sum.Took += s.Took
			sum.Uncertainty = time.Duration(math.Hypot(float64(sum.Uncertainty), float64(s.Uncertainty)))
			sum.Measured = sum.Measured || s.Measured
			sum.Runs += max(s.Runs, 1)
		}
	}
	t.pending = t.pending[:0]
}
