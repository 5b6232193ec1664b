package vulkan

import "sync/atomic"

// Counters count what an execution should not do twice.
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
