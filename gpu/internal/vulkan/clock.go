package vulkan

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// clock turns timestamps of a device into times of the host. Safe for concurrent use.
type clock struct {
	mu sync.Mutex
	// low and high bound what is to be added to the device's time to get now(); valid where known. Guarded by mu.
	low, high time.Duration
	known     bool
	at        time.Duration // guarded by mu; when they were last narrowed
}

// drift bounds by how much two clocks part, of the time that passed.
const drift = 100e-6

// bound narrows the clock by something that the device did from first to last on its clock, after it was handed over
// and before its end was seen on the host's.
func (c *clock) bound(first, last, handed, seen time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	low, high := handed-first, seen-last
	if c.known {
		apart := time.Duration(drift * float64(max(seen-c.at, 0)))
		low, high = max(low, c.low-apart), min(high, c.high+apart)
	}
	if low > high { // one of the clocks was set
		low, high = handed-first, seen-last
	}
	c.low, c.high, c.known, c.at = low, high, true, seen
}

// host is the time on the host's clock, by now(), of a time on the device's. Precondition: bound was called.
func (c *clock) host(t time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return t + c.low + (c.high-c.low)/2
}

// calibrate asks the driver for the time on both clocks, where it can tell.
func (d *Device) calibrate() {
	m, err := d.dev.Calibrate()
	if err != nil {
		return
	}
	var monotonic unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &monotonic) != nil {
		return
	}
	host := now() - time.Duration(monotonic.Nano()-int64(m.Host))
	t := d.ticks(m.Ticks)
	d.clock.bound(t, t, host-m.Deviation, host+m.Deviation)
}

// ticks is the device's time of a timestamp. Timestamps wrap around at the queue's number of bits; a trace does not last
// that long.
func (d *Device) ticks(t uint64) time.Duration {
	return time.Duration(float64(t&d.stampMask) * d.info.Facts.TimestampPeriod)
}

// wall is a time of the host's clock for users.
func wall(t time.Duration) time.Time { return start.Add(t) }
