package vk

/*
#include "shim.h"
*/
import "C"

import (
	"time"
)

// Features that are switched on with a device.
type Features uint32

// Optional features; the timeline semaphore is always on.
const (
	FeatureIntegerDot Features = C.NNGPU_FEATURE_INTEGER_DOT
	FeatureRobust     Features = C.NNGPU_FEATURE_ROBUST
)

// Device is a VkDevice with one queue and one timeline semaphore.
//
// Objects may be made and destroyed concurrently. Submit and WaitIdle use the queue: one call at a time.
type Device struct {
	c      *C.nngpu_device
	handle uint64
}

// NewDevice makes a device with a queue of the given family. Preconditions: props are p's; it has timeline
// semaphores and the features. The instance outlives the device.
func NewDevice(p Physical, props *Properties, family int, f Features) (*Device, error) {
	r := C.nngpu_device_create(p.inst.c, C.uint64_t(p.handle), C.uint32_t(props.API), C.uint32_t(family), C.uint32_t(f))
	if err := check("vkCreateDevice", r.result); err != nil {
		return nil, err
	}
	return &Device{c: r.device, handle: uint64(r.handle)}, nil
}

// Close destroys the device. Preconditions: it is idle and all its objects are destroyed.
func (d *Device) Close() {
	if d.c != nil {
		C.nngpu_device_destroy(d.c)
		d.c = nil
	}
}

// WaitIdle blocks until the queue is empty.
func (d *Device) WaitIdle() error { return check("vkDeviceWaitIdle", C.nngpu_device_idle(d.c)) }

// Submit hands command buffers to the queue, in order; the timeline reaches value when they are done.
// Preconditions: value is larger than in any earlier call; no other call uses the queue. Borrows the command
// buffers until then.
func (d *Device) Submit(cmds []CommandBuffer, value uint64) error {
	return check("vkQueueSubmit", C.nngpu_submit(d.c, first(cmds), C.uint32_t(len(cmds)), C.uint64_t(value)))
}

// Wait blocks until the timeline reaches value, for at most the given time, and says whether it did.
func (d *Device) Wait(value uint64, limit time.Duration) (bool, error) {
	r := C.nngpu_wait(d.c, C.uint64_t(value), C.uint64_t(max(limit, 0)))
	if Result(r) == timeout {
		return false, nil
	}
	if err := check("vkWaitSemaphores", r); err != nil {
		return false, err
	}
	return true, nil
}

// Reached is the value of the timeline.
func (d *Device) Reached() (uint64, error) {
	v := C.nngpu_reached(d.c)
	return uint64(v.value), check("vkGetSemaphoreCounterValue", v.result)
}

// QueryPool holds timestamps.
type QueryPool uint64

// NewQueryPool makes a pool of n timestamps.
func (d *Device) NewQueryPool(n int) (QueryPool, error) {
	v := C.nngpu_query_pool(d.c, C.uint32_t(n))
	return QueryPool(v.value), check("vkCreateQueryPool", v.result)
}

// DestroyQueryPool destroys p, which no pending work may use.
func (d *Device) DestroyQueryPool(p QueryPool) { C.nngpu_query_pool_destroy(d.c, C.uint64_t(p)) }

// Timestamps reads timestamps from query first on into out, in ticks. Precondition: the timeline has
// reached the value of the submission that wrote them; reading earlier blocks on some drivers.
func (d *Device) Timestamps(p QueryPool, firstQuery int, out []uint64) error {
	if len(out) == 0 {
		return nil
	}
	r := C.nngpu_timestamps(d.c, C.uint64_t(p), C.uint32_t(firstQuery), C.uint32_t(len(out)), first(out))
	return check("vkGetQueryPoolResults", r)
}
