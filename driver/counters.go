package driver

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/nngpu/nngpu/driver/internal/prepare"
	"github.com/nngpu/nngpu/driver/nn"
)

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
func (c *counters) executionEnded(a *attempt, res *Result, err error) {
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
