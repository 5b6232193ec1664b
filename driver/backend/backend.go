// Package backend is the contract between the driver and what runs models: a Vulkan device, or a
// recorder in tests.
//
// The driver validates models and requests before they come here and decides when segments run; a
// backend compiles, binds and submits. Imports only driver/nn.
package backend

import (
	"context"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
)

// DeviceType is the kind of a device; values are the HAL's.
type DeviceType int32

// Device types of NN HAL 1.2.
const (
	TypeOther       DeviceType = 1
	TypeCPU         DeviceType = 2
	TypeGPU         DeviceType = 3
	TypeAccelerator DeviceType = 4
)

func (t DeviceType) String() string {
	switch t {
	case TypeOther:
		return "OTHER"
	case TypeCPU:
		return "CPU"
	case TypeGPU:
		return "GPU"
	case TypeAccelerator:
		return "ACCELERATOR"
	}
	return "UNKNOWN"
}

// Info describes a device.
type Info struct {
	Name   string // as the implementation reports it
	Driver string // name and version of the Vulkan driver
	Type   DeviceType
}

// Options steer a compilation.
type Options struct {
	Preference nn.Preference
	Priority   nn.Priority
	// MemoryBudget bounds the device bytes that the backend may hold at once; 0 for the device's own limit.
	MemoryBudget int64
	// Storable asks for an executable that can be stored. Without it Store of a Storer is an error, and the
	// executable need not keep what it takes.
	Storable bool
}

// Backend turns validated models into executables on one device.
//
// Safe for concurrent use. Callers guarantee that the model passed validate.Model; a backend that
// meets an invalid model panics, because that is a driver bug.
type Backend interface {
	Info() Info
	// Supports reports for each operation of m's main graph nil when Compile accepts it, else why not.
	// The second result is for faults of the device itself.
	Supports(m *nn.Model) ([]error, error)
	// Compile does not retain m. ctx bounds compile time only.
	Compile(ctx context.Context, m *nn.Model, o Options) (Executable, error)
	// Close frees the device. All executables must be closed before.
	Close() error
}

// Stats are the figures of a compiled model.
type Stats struct {
	Pipelines   int     // distinct compute pipelines
	Dispatches  int     // dispatches and copies of one execution
	Segments    int     // parts that are submitted one by one
	ArenaBytes  int64   // device memory of one execution
	WeightBytes int64   // packed constants
	GFLOP       float64 // multiplications and additions of one execution, in units of 1e9
}

// Executable is a compiled model. Safe for concurrent use.
type Executable interface {
	Stats() Stats
	// Begin takes a slot (arena, command buffers) for one execution and copies the inputs into it. It
	// blocks until a slot is free or ctx is done. inputs[i] is dense, row-major and of the size that the
	// model gives input i, nil for an omitted one; it is borrowed until Begin returns. outputs[i] is
	// borrowed until Finish or Release.
	Begin(ctx context.Context, inputs, outputs [][]byte) (Execution, error)
	// Close waits for the executions in flight and frees everything.
	Close() error
}

// Execution is one run of an executable. Not safe for concurrent use.
type Execution interface {
	// Submit hands segments [first, last) to the device, after those submitted before, and does not
	// wait for them. A run submits segments 0 to Stats.Segments once each, in order.
	Submit(first, last int) (Fence, error)
	// Finish copies the outputs to the caller's memory. Precondition: the fence of the last segment was
	// waited for without error.
	Finish() error
	// DeviceTime is the time between the first and the last segment's work on the device, 0 where it
	// cannot be measured. Precondition as of Finish.
	DeviceTime() time.Duration
	// Release waits for what was submitted, then gives the slot back. Idempotent.
	Release()
}

// Fence is signalled when submitted work is done. Safe for concurrent use.
type Fence interface {
	// Wait blocks until the work is done, failed, or ctx is done; only the wait ends with ctx, never the
	// work.
	Wait(ctx context.Context) error
}
