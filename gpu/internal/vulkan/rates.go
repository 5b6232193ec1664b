package vulkan

import (
	"sync/atomic"
	"time"

	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// SetRates notes what was measured, for the estimates of executables that are made later.
func (d *Device) SetRates(r plan.Rates) {
	d.rates.Store(&r)
	d.wrong.Store(false)
}

// SetCeilings notes what the device can do at most, for the traces of executables that were not traced yet.
func (d *Device) SetCeilings(c plan.Ceilings) { d.ceilings.Store(&c) }

// Contradicted reports whether, since SetRates, the executions of some model took less or more time than the cost model
// says, by more than the factor contradiction.
func (d *Device) Contradicted() bool { return d.wrong.Load() }

// Idle reports whether the device has nothing to do.
func (d *Device) Idle() bool {
	d.queueMu.Lock()
	defer d.queueMu.Unlock()
	for _, q := range d.queues {
		if reached, err := d.dev.Reached(q.index); err != nil || reached < q.next {
			return false
		}
	}
	return true
}

const (
	// enoughRuns is how many executions of a model must have ended before the fastest of them says something.
	enoughRuns = 16
	// contradiction is a factor by which the cost model is not wrong by itself.
	contradiction = 3
)

// compare compares the time of an execution with what the cost model expected: the fastest one counts, since other work
// on the machine only slows executions down.
func (x *Executable) compare(took time.Duration) {
	if took <= 0 {
		return
	}
	for {
		least := x.fastest.Load()
		if least != 0 && least <= int64(took) || x.fastest.CompareAndSwap(least, int64(took)) {
			break
		}
	}
	if n := x.runs.Add(1); n < enoughRuns || n&(n-1) != 0 {
		return
	}
	var expected time.Duration
	for _, t := range x.estimates {
		expected += t
	}
	if ratio := float64(x.fastest.Load()) / float64(expected); ratio > contradiction || ratio < 1./contradiction {
		x.dev.wrong.Store(true)
	}
}

// Counters count what executions should do only once.
type Counters struct {
	Recordings  int64 // sets of command buffers, one for each way in which a slot's inputs and outputs were bound
	Imports     int64 // of memory from elsewhere
	Allocations int64 // of device memory
}

type counters struct{ recordings, imports, allocations, submissions atomic.Int64 }

// Counters of the device since it was opened.
func (d *Device) Counters() Counters {
	return Counters{
		Recordings: d.counters.recordings.Load(), Imports: d.counters.imports.Load(), Allocations: d.counters.allocations.Load(),
	}
}

// Submissions is how often executions have submitted work since the device was opened.
func (d *Device) Submissions() int64 { return d.counters.submissions.Load() }
