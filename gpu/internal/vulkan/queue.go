package vulkan

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
)

// queue is one of the device's queues, with a timeline of its own.
type queue struct {
	dev   *Device
	index int
	watch watchdog
	ends  ends
	next  uint64 // guarded by dev.queueMu; the timeline value of the last submission
}

// urgent is the queue for work of high priority, normal that for everything else. One may read what the other wrote
// once the host has waited for it, as with all shared memory.
func (d *Device) urgent() *queue { return d.queues[0] }
func (d *Device) normal() *queue { return d.queues[len(d.queues)-1] }

// fence is a value of a queue's timeline. Safe for concurrent use.
type fence struct {
	queue *queue
	value uint64
	seen  int64 // atomic; when a waiter of this fence first saw it signalled, by now(); 0 before
}

var _ backend.Fence = (*fence)(nil)

// submit queues command buffers that are estimated to take so long; 0 for next to nothing.
func (d *Device) submit(q *queue, cmds []vk.CommandBuffer, estimate time.Duration) (fence, error) {
	value, err := q.enqueue(cmds)
	if err != nil {
		return fence{}, err
	}
	q.watch.add(value, estimate, now())
	return fence{queue: q, value: value}, nil
}

// enqueue returns the timeline's value at the end of the work; that of what was in the queue before is one less.
func (q *queue) enqueue(cmds []vk.CommandBuffer) (value uint64, err error) {
	d := q.dev
	d.queueMu.Lock()
	defer d.queueMu.Unlock()
	if err := d.failure("submit", nil); err != nil {
		return 0, err
	}
	if err := d.dev.Submit(q.index, cmds, q.next+1); err != nil {
		return 0, d.failure("submit", err)
	}
	q.next++
	return q.next, nil
}

// ends are the times at which waiters first saw the latest values of a timeline reached. Safe for concurrent use.
type ends struct {
	mu   sync.Mutex
	list [64]struct { // guarded by mu; by value modulo its length
		value uint64
		at    time.Duration
	}
}

// saw notes that value was reached.
func (e *ends) saw(value uint64, at time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if x := &e.list[value%uint64(len(e.list))]; x.value < value {
		x.value, x.at = value, at
	}
}

// when is the time at which a waiter first saw value reached, by now(); 0 where none did, or long ago.
func (e *ends) when(value uint64) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if x := &e.list[value%uint64(len(e.list))]; x.value == value {
		return x.at
	}
	return 0
}

// waitSlice bounds how long a wait stays inside Vulkan before it looks at its context again.
const waitSlice = 10 * time.Millisecond

// spinTime bounds how long a wait looks at the timeline again and again before it sleeps. On an H200 (driver
// 580.159.04) submitting next to nothing and waiting for it takes 45 microseconds asleep and 14 awake.
const spinTime = time.Millisecond

// spins is how long waits may do without sleep: not at all where that takes a core from a software device, whatever it
// is taken for, or from one of few.
func spins(t vk.DeviceType, processors int) time.Duration {
	if t == vk.TypeCPU || processors <= 2 {
		return 0
	}
	return spinTime
}

// Wait implements backend.Fence. It also ends when the device is given up, which it does itself when the watchdog
// says so.
func (f *fence) Wait(ctx context.Context) error {
	d := f.queue.dev
	deadline, hasDeadline := ctx.Deadline()
	for spin := d.spin; ; spin = 0 {
		limit := waitSlice
		if hasDeadline {
			limit = min(limit, time.Until(deadline))
		} else if ctx.Done() == nil {
			limit = 10 * waitSlice
		}
		ok, err := d.dev.WaitSpinning(f.queue.index, f.value, spin, limit)
		if ok {
			at := now()
			atomic.CompareAndSwapInt64(&f.seen, 0, int64(at))
			f.queue.ends.saw(f.value, at)
			f.queue.watch.ended(f.value, at)
			return nil
		}
		if err == nil {
			err = d.lookAfter()
		}
		if err := d.failure("wait", err); err != nil {
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
	d := f.queue.dev
	if d.failed.Load() == nil { // the host is short of memory, for example
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

// reached is when a waiter first saw the fence signalled, by now(); 0 if none did, or another one did long ago.
func (f *fence) reached() time.Duration {
	if at := atomic.LoadInt64(&f.seen); at != 0 {
		return time.Duration(at)
	}
	return f.queue.ends.when(f.value)
}

var start = time.Now()

// now is the host's monotonic clock.
func now() time.Duration { return time.Since(start) }

// priorities lists the priorities to ask of a device, best first: above the queues of other processes, where driver and
// kernel permit that (Linux mostly wants CAP_SYS_NICE), else what everybody gets. Work goes to the device in segments
// of a few milliseconds, so that even then a desktop stays alive.
func priorities(p *vk.Properties) []vk.Priority {
	if !p.Priorities {
		return []vk.Priority{vk.PriorityDefault}
	}
	return []vk.Priority{vk.PriorityHigh, vk.PriorityDefault}
}

// queueCount is two where the family has them: urgent work goes to the first, the rest to the last, so that it need not
// queue behind what was submitted before.
func queueCount(f vk.QueueFamily) int { return max(min(f.Count, vk.MaxQueues), 1) }

// refused reports whether err says that this process may not have a priority: SwiftShader knows MEDIUM only and calls
// any other a failed initialization.
func refused(err error) bool {
	var e *vk.Error
	return errors.As(err, &e) && (e.Result == vk.ResultNotPermitted || e.Result == vk.ResultInitializationFailed)
}

// withPriority calls create with each priority until one is not refused, and returns that one.
func withPriority(list []vk.Priority, create func(vk.Priority) (*vk.Device, error)) (*vk.Device, vk.Priority, error) {
	var dev *vk.Device
	var err error
	for _, p := range list {
		if dev, err = create(p); err == nil {
			return dev, p, nil
		}
		if !refused(err) {
			break
		}
	}
	return nil, 0, err
}

// newDevice makes the device with the best queues that it gives.
func newDevice(p vk.Physical, props *vk.Properties, family int, f vk.QueueFamily, features vk.Features, o *Options) (*vk.Device, vk.Priority, error) {
	queues := vk.Queues{Family: family, Count: queueCount(f)}
	if o.TwoQueues && queues.Count == 1 {
		queues.Count, queues.Shared = 2, true
	}
	return withPriority(priorities(props), func(priority vk.Priority) (*vk.Device, error) {
		queues.Priority = priority
		return vk.NewDevice(p, props, queues, features)
	})
}

// Queues is how many queues the device has and how they rank beside those of other processes.
func (d *Device) Queues() (n int, priority vk.Priority) { return d.dev.Queues(), d.priority }
