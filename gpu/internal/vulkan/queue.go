package vulkan

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// queue is one of the device's queues, with a timeline of its own.
type queue struct {
	dev   *Device
	index int
	watch watchdog
	next  uint64 // guarded by dev.queueMu; the timeline value of the last submission
	last  *fence // guarded by dev.queueMu; of the last submission, nil before the first
}

// urgent is the queue for work of high priority, normal that for everything else. What one wrote the other may read
// when the host has waited for it, as all who share memory do.
func (d *Device) urgent() *queue { return d.queues[0] }
func (d *Device) normal() *queue { return d.queues[len(d.queues)-1] }

// fence is a value of a queue's timeline. Safe for concurrent use.
type fence struct {
	dev   *Device
	queue *queue
	value uint64
	seen  atomic.Int64 // when a waiter first saw the value reached, by now(); 0 before
}

var _ backend.Fence = (*fence)(nil)

// submit queues command buffers, which are estimated to take that long; 0 for what takes no time to speak of. The
// second result is the fence of what was in the queue before, nil if nothing ever was.
func (d *Device) submit(q *queue, cmds []vk.CommandBuffer, estimate time.Duration) (f, before *fence, err error) {
	if f, before, err = q.enqueue(cmds); err == nil {
		q.watch.add(f.value, estimate, now())
	}
	return f, before, err
}

func (q *queue) enqueue(cmds []vk.CommandBuffer) (f, before *fence, err error) {
	d := q.dev
	d.queueMu.Lock()
	defer d.queueMu.Unlock()
	if err := d.failure("submit", nil); err != nil {
		return nil, nil, err
	}
	if err := d.dev.Submit(q.index, cmds, q.next+1); err != nil {
		return nil, nil, d.failure("submit", err)
	}
	q.next++
	before = q.last
	q.last = &fence{dev: d, queue: q, value: q.next}
	return q.last, before, nil
}

// waitSlice bounds how long a wait stays inside Vulkan before it looks at its context again.
const waitSlice = 10 * time.Millisecond

// Wait implements backend.Fence. It also ends when the device is given up, which it does itself when the watchdog
// says so.
func (f *fence) Wait(ctx context.Context) error {
	deadline, hasDeadline := ctx.Deadline()
	for {
		limit := waitSlice
		if hasDeadline {
			limit = min(limit, time.Until(deadline))
		} else if ctx.Done() == nil {
			limit = 10 * waitSlice
		}
		ok, err := f.dev.dev.Wait(f.queue.index, f.value, limit)
		if ok {
			at := now()
			f.seen.CompareAndSwap(0, int64(at))
			f.queue.watch.ended(f.value, at)
			return nil
		}
		if err == nil {
			err = f.dev.lookAfter()
		}
		if err := f.dev.failure("wait", err); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// settle blocks until the device has done the work or never will, so that what the work uses can be freed or used
// again.
func (f *fence) settle() error {
	err := f.Wait(context.Background())
	if err == nil {
		return nil
	}
	d := f.dev
	if d.failed.Load() == nil { // the host is short of memory, say
		d.queueMu.Lock()
		idle := d.dev.WaitIdle()
		d.queueMu.Unlock()
		if idle == nil {
			return err
		}
		d.giveUp(fmt.Errorf("nobody knows what it is at: %w: %w", idle, ErrAbandoned))
	}
	d.drain()
	return err
}

// lookAfter gives the device up where the watchdog says so. The error is for Device.failure.
func (d *Device) lookAfter() error {
	for _, q := range d.queues {
		reached, err := d.dev.Reached(q.index)
		if err != nil {
			return err
		}
		if err := q.watch.look(reached, now()); err != nil {
			d.giveUp(err)
			return err
		}
	}
	return nil
}

// reached is when a waiter first saw the fence signalled, 0 if none did.
func (f *fence) reached() time.Duration { return time.Duration(f.seen.Load()) }

var start = time.Now()

// now is the host's monotonic clock.
func now() time.Duration { return time.Since(start) }

// hostTimed: executions are timed by the host's clock. A timestamp costs lavapipe 40 microseconds, because it
// drains the pipeline, and tells of a processor hardly more than the host's clock does.
func (d *Device) hostTimed() bool { return d.info.Facts.Class == plan.ClassCPU }
