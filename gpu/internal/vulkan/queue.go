package vulkan

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// fence is a value of the device's timeline. Safe for concurrent use.
type fence struct {
	dev   *Device
	value uint64
	seen  atomic.Int64 // when a waiter first saw the value reached, by now(); 0 before
}

var _ backend.Fence = (*fence)(nil)

// submit queues command buffers. The second result is the fence of what was queued before, nil if nothing
// ever was.
func (d *Device) submit(cmds []vk.CommandBuffer) (f, before *fence, err error) {
	if err := d.failure("submit", nil); err != nil {
		return nil, nil, err
	}
	d.queueMu.Lock()
	defer d.queueMu.Unlock()
	if err := d.dev.Submit(cmds, d.next+1); err != nil {
		return nil, nil, d.failure("submit", err)
	}
	d.next++
	before = d.last
	d.last = &fence{dev: d, value: d.next}
	return d.last, before, nil
}

// waitSlice bounds how long a wait stays inside Vulkan before it looks at its context again.
const waitSlice = 10 * time.Millisecond

// Wait implements backend.Fence. It also ends when the device is given up.
func (f *fence) Wait(ctx context.Context) error {
	deadline, hasDeadline := ctx.Deadline()
	for {
		limit := waitSlice
		if hasDeadline {
			limit = min(limit, time.Until(deadline))
		} else if ctx.Done() == nil {
			limit = 10 * waitSlice
		}
		ok, err := f.dev.dev.Wait(f.value, limit)
		if ok {
			f.seen.CompareAndSwap(0, int64(now()))
			return nil
		}
		if err := f.dev.failure("wait", err); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// reached is when a waiter first saw the fence signalled, 0 if none did.
func (f *fence) reached() time.Duration { return time.Duration(f.seen.Load()) }

var start = time.Now()

// now is the host's monotonic clock.
func now() time.Duration { return time.Since(start) }

// hostTimed: executions are timed by the host's clock. A timestamp costs lavapipe 40 microseconds, because it
// drains the pipeline, and tells of a processor hardly more than the host's clock does.
func (d *Device) hostTimed() bool { return d.info.Facts.Class == plan.ClassCPU }
