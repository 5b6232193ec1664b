package vk

/*
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"time"
)

// MaxQueues is how many queues a Device can have.
const MaxQueues = C.NNGPU_MAX_QUEUES

// Priority is a VkQueueGlobalPriorityKHR: how work ranks beside that of other processes.
type Priority uint32

// Priorities. Drivers keep the higher ones for privileged processes.
const (
	PriorityDefault  Priority = 0 // what the driver gives without being asked
	PriorityLow      Priority = 128
	PriorityMedium   Priority = 256
	PriorityHigh     Priority = 512
	PriorityRealtime Priority = 1024
)

func (p Priority) String() string {
	switch p {
	case PriorityDefault:
		return "default"
	case PriorityLow:
		return "low"
	case PriorityMedium:
		return "medium"
	case PriorityHigh:
		return "high"
	case PriorityRealtime:
		return "realtime"
	}
	return fmt.Sprintf("Priority(%d)", uint32(p))
}

// Queues says which queues a device gets.
type Queues struct {
	Family int
	// Count is 1 (or 0, which means the same) to MaxQueues, and at most QueueFamily.Count: drivers do not refuse
	// more, but hand out nothing. The first queue goes before the second where a driver makes a difference.
	Count int
	// Priority is PriorityDefault unless Properties.Priorities. A driver may refuse a priority, by
	// ResultNotPermitted or ResultInitializationFailed.
	Priority Priority
	// Shared makes one queue of the driver stand for all, each with a timeline of its own, so that two can be tested
	// where there is one. Then no two calls may use the queues at once.
	Shared bool
}

func (q Queues) count() int { return max(q.Count, 1) }

func (q Queues) c(p *Properties) C.nngpu_queues {
	var shared C.uint32_t
	if q.Shared {
		shared = 1
	}
	return C.nngpu_queues{
		shared: shared, family: C.uint32_t(q.Family), count: C.uint32_t(q.count()), priority: C.uint32_t(q.Priority),
		priority_extension: C.uint32_t(p.priorityExtension),
	}
}

// Queues is how many queues d has.
func (d *Device) Queues() int { return d.queues }

// queue checks an index; a wrong one is a mistake of ours.
func (d *Device) queue(i int) C.uint32_t {
	if i < 0 || i >= d.queues {
		panic(fmt.Sprintf("vk: queue %d of %d", i, d.queues))
	}
	return C.uint32_t(i)
}

// WaitIdle blocks until the queues are empty.
func (d *Device) WaitIdle() error {
	if err := d.fault(CallIdle, "vkDeviceWaitIdle"); err != nil {
		return err
	}
	return check("vkDeviceWaitIdle", C.nngpu_device_idle(d.c))
}

// Submit hands command buffers to a queue, in order; its timeline reaches value when they are done. Preconditions:
// value is larger than in any earlier call for the queue; no other call uses the queue. Borrows the command buffers
// until then.
//
// Queues run side by side: one may read what another wrote only after the host has waited for it.
func (d *Device) Submit(queue int, cmds []CommandBuffer, value uint64) error {
	if err := d.fault(CallSubmit, "vkQueueSubmit"); err != nil {
		return err
	}
	r := C.nngpu_submit(d.c, d.queue(queue), first(cmds), C.uint32_t(len(cmds)), C.uint64_t(value))
	return check("vkQueueSubmit", r)
}

// Wait blocks until the timeline of a queue reaches value, for at most the given time, and says whether it did.
func (d *Device) Wait(queue int, value uint64, limit time.Duration) (bool, error) {
	return d.WaitSpinning(queue, value, 0, limit)
}

// WaitSpinning is Wait that does not sleep for the first part of limit, spin: it keeps a core busy and sees the end
// sooner.
func (d *Device) WaitSpinning(queue int, value uint64, spin, limit time.Duration) (bool, error) {
	if err := d.fault(CallWait, "vkWaitSemaphores"); err != nil {
		return false, err
	}
	if d.stuck(value) {
		time.Sleep(limit)
		return false, nil
	}
	limit = max(limit, 0)
	if spin = min(spin, limit); spin > 0 {
		r := C.nngpu_spin(d.c, d.queue(queue), C.uint64_t(value), C.uint64_t(spin))
		if Result(r) != timeout {
			err := check("vkGetSemaphoreCounterValue", r)
			return err == nil, err
		}
		limit -= spin
	}
	r := C.nngpu_wait(d.c, d.queue(queue), C.uint64_t(value), C.uint64_t(limit))
	if Result(r) == timeout {
		return false, nil
	}
	if err := check("vkWaitSemaphores", r); err != nil {
		return false, err
	}
	return true, nil
}

// Reached is the value of a queue's timeline.
func (d *Device) Reached(queue int) (uint64, error) {
	v := C.nngpu_reached(d.c, d.queue(queue))
	return d.seen(uint64(v.value)), check("vkGetSemaphoreCounterValue", v.result)
}
