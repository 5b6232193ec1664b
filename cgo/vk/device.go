package vk

/*
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Features that are switched on with a device.
type Features uint32

// Optional features; the timeline semaphore is always on.
const (
	FeatureIntegerDot Features = C.NNGPU_FEATURE_INTEGER_DOT
	FeatureRobust     Features = C.NNGPU_FEATURE_ROBUST
	// FeatureHostMemory: ImportHost. FeatureMemoryFD and FeatureDmaBuf: fds of the kind.
	FeatureHostMemory Features = C.NNGPU_FEATURE_HOST_MEMORY
	FeatureMemoryFD   Features = C.NNGPU_FEATURE_MEMORY_FD
	FeatureDmaBuf     Features = C.NNGPU_FEATURE_DMA_BUF
	// FeatureSyncFD: SyncFD.
	FeatureSyncFD Features = C.NNGPU_FEATURE_SEMAPHORE_FD
	// FeatureBinaries: CapturePipeline and the like.
	FeatureBinaries Features = C.NNGPU_FEATURE_PIPELINE_BINARY
	FeatureFloat16  Features = C.NNGPU_FEATURE_FLOAT16
	FeatureInt8     Features = C.NNGPU_FEATURE_INT8
	// FeatureMatrix: cooperative matrices, and Workgroup.Subgroup, which they need.
	FeatureMatrix Features = C.NNGPU_FEATURE_MATRIX
	// FeatureCalibrated: Calibrate.
	FeatureCalibrated Features = C.NNGPU_FEATURE_CALIBRATED
	// FeatureSwapchain: NewSwapchain.
	FeatureSwapchain Features = C.NNGPU_FEATURE_SWAPCHAIN
	// FeatureArrays: NewArray.
	FeatureArrays Features = C.NNGPU_FEATURE_ARRAYS
)

// Device is a VkDevice with one or two queues, each with a timeline semaphore.
//
// Objects may be made and destroyed concurrently. Submit uses a queue and WaitIdle all: one call at a time for each
// queue.
type Device struct {
	c        *C.nngpu_device
	handle   uint64
	props    *Properties // immutable
	features Features    // immutable
	queues   int         // immutable
	faults   atomic.Pointer[injected]
}

// NewDevice makes a device. Preconditions: props are p's; it has timeline semaphores and the features. The instance
// outlives the device.
func NewDevice(p Physical, props *Properties, q Queues, f Features) (*Device, error) {
	r := C.nngpu_device_create(p.inst.c, C.uint64_t(p.handle), C.uint32_t(props.API), q.c(props), C.uint32_t(f))
	if err := check("vkCreateDevice", r.result); err != nil {
		return nil, err
	}
	d := &Device{c: r.device, handle: uint64(r.handle), props: props, features: f, queues: q.count()}
	d.enlist()
	return d, nil
}

// Close destroys the device. Preconditions: it is idle and all its objects are destroyed.
func (d *Device) Close() {
	if d.c != nil {
		d.delist()
		C.nngpu_device_destroy(d.c)
		d.c = nil
	}
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

// Moment is one moment on the device's clock and on the host's.
type Moment struct {
	Ticks     uint64        // as in Timestamps
	Host      time.Duration // of CLOCK_MONOTONIC
	Deviation time.Duration // by how much the two may be apart
}

// Calibrate reads both clocks. Without FeatureCalibrated the error is ErrNotSupported.
func (d *Device) Calibrate() (Moment, error) {
	if d.features&FeatureCalibrated == 0 {
		return Moment{}, fmt.Errorf("%w: no calibrated timestamps", ErrNotSupported)
	}
	m := C.nngpu_calibrate(d.c)
	return Moment{
		Ticks: uint64(m.ticks), Host: time.Duration(m.host_ns), Deviation: time.Duration(m.deviation_ns),
	}, check("vkGetCalibratedTimestampsEXT", m.result)
}
