package driver

import (
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nngpu/nngpu/driver/internal/prepare"
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

// Sizes of the tables of counters: by nn.Priority, by nn.Status and one for what is no status of the HAL, by CacheStatus.
const (
	priorities = int(nn.PriorityHigh) + 1
	statuses   = int(nn.StatusResourceExhaustedPersistent) + 2
)

// cacheStatuses numbers them.
var cacheStatuses = [...]CacheStatus{CacheOff, CacheHit, CacheMiss, CacheRejected}

// counters are what Device.Metrics reads. Recording is a few atomic additions. Safe for concurrent use. The zero value is
// ready.
type counters struct {
	executions              [priorities]executionCounters
	copied, converted       atomic.Uint64
	prepared                [len(cacheStatuses)]atomic.Uint64
	failures                atomic.Uint64
	compile, quick, restore histogram
}

type executionCounters struct {
	ended, refused                 [statuses]atomic.Uint64
	late                           atomic.Uint64
	queueWait, deviceTime, latency histogram
}

// Ended implements prepare.Counts.
func (c *counters) Ended(err error) {
	if err != nil {
		c.failures.Add(1)
	}
}

// Compiled implements prepare.Counts.
func (c *counters) Compiled(quick bool, took time.Duration) {
	h := &c.compile
	if quick {
		h = &c.quick
	}
	h.observe(took)
}

// Restored implements prepare.Counts.
func (c *counters) Restored(took time.Duration) { c.restore.observe(took) }

// Prepared implements prepare.Counts.
func (c *counters) Prepared(s prepare.Status) {
	c.prepared[slices.Index(cacheStatuses[:], CacheStatus(s))].Add(1)
}

// executionEnded notes how a ended; res is its result, nil where there is none.
func (c *counters) executionEnded(a *execution, res *Result, err error) {
	x := &c.executions[min(max(int(a.priority()), 0), priorities-1)]
	status := int(nn.StatusOf(err))
	if status < 0 || status >= statuses {
		status = statuses - 1
	}
	x.ended[status].Add(1)
	if a.submitted {
		x.queueWait.observe(a.queued)
		x.deviceTime.observe(a.deviceTime())
	} else if err != nil {
		x.refused[status].Add(1)
	}
	if err != nil {
		return
	}
	x.latency.observe(a.took)
	if t := a.o.deadline; !t.IsZero() && a.start.Add(a.took).After(t) {
		x.late.Add(1)
	}
	if n := res.Traffic.Copied; n > 0 {
		c.copied.Add(uint64(n))
	}
	if n := res.Traffic.Converted; n > 0 {
		c.converted.Add(uint64(n))
	}
}

func (x *executionCounters) read(p nn.Priority) ExecutionMetrics {
	byStatus := func(list *[statuses]atomic.Uint64) map[string]uint64 {
		m := map[string]uint64{}
		for i := range list {
			if n := list[i].Load(); n > 0 {
				m[nn.Status(i).String()] = n
			}
		}
		return m
	}
	return ExecutionMetrics{
		Priority: p.String(), Ended: byStatus(&x.ended), Refused: byStatus(&x.refused), Late: x.late.Load(),
		QueueWait: x.queueWait.read(), DeviceTime: x.deviceTime.read(), Latency: x.latency.read(),
	}
}

// histogramBuckets is the number of buckets of a Histogram.
const histogramBuckets = 28

// Histogram counts durations. Its buckets are fixed, in powers of two: Buckets[0] counts what took at most a microsecond,
// Buckets[i] what took more than 1<<(i-1) and at most 1<<i microseconds, and the last one all that took more than 1<<26
// of them, which is 67 seconds. A quantile that is read from them is right within a factor of two.
type Histogram struct {
	Count   uint64                   `json:"count"` // the sum of Buckets
	Sum     time.Duration            `json:"sum_ns"`
	Buckets [histogramBuckets]uint64 `json:"buckets"`
}

// HistogramBound is the largest duration that bucket i of a Histogram counts; for the last bucket, which is unbounded,
// it is the largest time.Duration.
func HistogramBound(i int) time.Duration {
	if i >= histogramBuckets-1 {
		return math.MaxInt64
	}
	return time.Microsecond << max(i, 0)
}

// histogram is a Histogram that is being recorded. Safe for concurrent use. The zero value is empty.
type histogram struct {
	sum     atomic.Int64
	buckets [histogramBuckets]atomic.Uint64
}

// observe counts d; what is negative counts as 0.
func (h *histogram) observe(d time.Duration) {
	d = max(d, 0)
	i := bits.Len64(uint64(max(d-1, 0) / time.Microsecond))
	h.buckets[min(i, histogramBuckets-1)].Add(1)
	h.sum.Add(int64(d))
}

func (h *histogram) read() (out Histogram) {
	out.Sum = time.Duration(h.sum.Load())
	for i := range h.buckets {
		out.Buckets[i] = h.buckets[i].Load()
		out.Count += out.Buckets[i]
	}
	return out
}
