package driver

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
)

// Metrics are counts of what a device has done since NewDevice, and how much of it is in use now. Counts and histograms
// only ever grow. It is plain data that encoding/json, and with it expvar, takes as it is; WritePrometheus writes it as
// text.
//
// It is a snapshot without a common instant: executions that end while it is taken may be in one count and not yet in
// another.
type Metrics struct {
	Device string `json:"device"`
	// Executions has one element for each priority, that of nn.PriorityLow first.
	Executions []ExecutionMetrics `json:"executions"`
	// CopiedBytes and ConvertedBytes are what executions moved (see Result.Traffic), those that failed left out, and
	// CopiedBytes also what Buffer.CopyFrom and CopyTo did.
	CopiedBytes    uint64 `json:"copied_bytes"`
	ConvertedBytes uint64 `json:"converted_bytes"`
	// Submissions is how often the device was given segments, Preemptions how often another execution went between two
	// segments of one.
	Submissions uint64 `json:"submissions"`
	Preemptions uint64 `json:"preemptions"`
	// Prepared counts the models that were compiled or brought back, by what caches did for them; all statuses are there.
	// Delayed ones count when they are compiled. PrepareFailures counts the preparations that failed.
	Prepared        map[CacheStatus]uint64 `json:"prepared"`
	PrepareFailures uint64                 `json:"prepare_failures"`
	// Compile is what compilations took that ended well, QuickCompile those of the first form of staged ones, and Restore
	// bringing models back that a cache had.
	Compile      Histogram `json:"compile"`
	QuickCompile Histogram `json:"quick_compile"`
	Restore      Histogram `json:"restore"`
	// Memory is that of the device; zero where the backend keeps no account.
	Memory MemoryMetrics `json:"memory"`
	// Clients are the open ones, sorted by identity.
	Clients []ClientMetrics `json:"clients"`
}

// ExecutionMetrics are those of the executions of one priority.
type ExecutionMetrics struct {
	// Priority is as nn.Priority prints it: LOW, MEDIUM or HIGH.
	Priority string `json:"priority"`
	// Ended counts executions by the status that they ended with, as nn.Status prints it: NONE is that of success. Refused
	// has those of them of which nothing reached the device: the request was wrong, a deadline could not be met or passed
	// in the queue, the queue was full, the caller gave up. The others that did not succeed used the device in vain.
	// Statuses that did not occur are left out.
	Ended   map[string]uint64 `json:"ended"`
	Refused map[string]uint64 `json:"refused"`
	// Late counts those of Ended[NONE] that ended after their deadline.
	Late uint64 `json:"late"`
	// QueueWait is the time in the queue until the first work was submitted, and DeviceTime what all of it took on the
	// device: of executions that reached the device. On a software device it is the host's measure.
	QueueWait  Histogram `json:"queue_wait"`
	DeviceTime Histogram `json:"device_time"`
	// Latency is the time from the call, or from when the last wait fence was signalled, until the outputs were written,
	// of executions that succeeded.
	Latency Histogram `json:"latency"`
}

// MemoryMetrics are bytes of the device's memory by the driver's own account.
type MemoryMetrics struct {
	Used  int64 `json:"used_bytes"`
	Peak  int64 `json:"peak_bytes"`  // the most that was used at once
	Limit int64 `json:"limit_bytes"` // beyond which memory is refused
}

// ClientMetrics are those of a client that is open.
type ClientMetrics struct {
	Identity string        `json:"identity"` // more than one client may have the same
	Memory   int64         `json:"memory_bytes"`
	Budget   int64         `json:"budget_bytes"` // 0: none
	Share    float64       `json:"share"`
	Device   time.Duration `json:"device_time_ns"` // that its executions took, and are expected to take that are on the device
	Running  int           `json:"running"`        // executions that wait for the device or are on it
}

// Metrics takes a snapshot. It costs some microseconds and holds nobody up for longer; recording costs an execution less
// than a tenth of a microsecond and allocates nothing.
func (d *Device) Metrics() Metrics {
	c := &d.counters
	stats := d.scheduler.Stats()
	m := Metrics{
		Device:      d.Info().Name,
		CopiedBytes: c.copied.Load(), ConvertedBytes: c.converted.Load(),
		Submissions: stats.Submissions, Preemptions: stats.Preemptions,
		Prepared: map[CacheStatus]uint64{}, PrepareFailures: c.failures.Load(),
		Compile: c.compile.read(), QuickCompile: c.quick.read(), Restore: c.restore.read(),
		Clients: d.clientMetrics(),
	}
	for i := range c.executions {
		m.Executions = append(m.Executions, c.executions[i].read(nn.Priority(i)))
	}
	for i, s := range cacheStatuses {
		m.Prepared[s] = c.prepared[i].Load()
	}
	m.Memory.Used, m.Memory.Peak, m.Memory.Limit = d.backend.Memory()
	return m
}

func (d *Device) clientMetrics() []ClientMetrics {
	d.mu.Lock()
	clients := slices.Collect(maps.Keys(d.clients))
	d.mu.Unlock()
	list := make([]ClientMetrics, 0, len(clients))
	for _, c := range clients {
		s := c.queue.Stats()
		list = append(list, ClientMetrics{
			Identity: c.identity, Memory: c.Memory(), Budget: c.memory.Limit(), Share: s.Share, Device: s.DeviceTime, Running: s.Jobs,
		})
	}
	slices.SortFunc(list, func(a, b ClientMetrics) int { return strings.Compare(a.Identity, b.Identity) })
	return list
}
