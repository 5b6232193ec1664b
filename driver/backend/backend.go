// Package backend is the contract between the driver and what runs models: a Vulkan device, or a
// recorder in tests.
//
// The driver validates models and requests before they come here and decides when segments run; a
// backend compiles, binds and submits. Imports only driver/nn.
package backend

import (
	"context"
	"errors"
	"log/slog"
	"os"
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
	// Quick asks for the executable that is expected to have its first result first: where compiling takes long, a form
	// that is ready sooner and runs slower, whose Stats say so, else the one without Quick. Outputs stay within tolerance.
	// For Restore it says that what is restored is such a form.
	//
	// A backend may give such a form without being asked, where it must first find out on the device what else it may use:
	// it does that, and gives no such form, when it is called again with Pause.
	Quick bool
	// Tuning is how long, about, to look for the kernels that run the model fastest, by running it on the device; 0: what
	// is known of the device decides. Other executions have the device in between. Not for quick forms, nor for Restore;
	// backends may leave it out, and do for models that are no single plan.
	Tuning time.Duration
	// Pause, when not nil, is for work in the background: it is called before each piece of work that keeps processors
	// busy for long, and blocks while others need them. Its errors end the compilation.
	Pause func(context.Context) error
	// PauseWithin, when not nil, is Pause of what executions of the executable have compiled while they run. It is kept until
	// Close.
	PauseWithin func(context.Context) error
	// Storable asks for an executable that can be stored. Without it Store of a Storer is an error, and the
	// executable need not keep what it takes.
	Storable bool
}

// Backend turns validated models into executables on one device. Two abilities are optional: Restorer and ExternalMemory.
//
// Safe for concurrent use. Callers guarantee that the model passed validate.Model; a backend that
// meets an invalid model panics, because that is a driver bug. Dimensions of inputs are known; those of temporaries and
// outputs are as far as validate.Resolve finds them, and open where only the data tells.
type Backend interface {
	Info() Info
	// Queues is how many queues of the device it works on, and how they rank beside those of other processes. Where there
	// are two, executables of PriorityHigh have the one and all others the other.
	Queues() (n int, priority string)
	// Memory says how many bytes of the device are in use, how many were at most, and what the limit is; 0 for none.
	Memory() (used, peak, limit int64)
	// LogTo says where trouble goes that no caller is told of: the loss of a device, messages of validation layers. It is
	// called at most once, before all methods but Info. A handler is called from any goroutine, with locks held: it must
	// not call the backend, nor the driver.
	LogTo(l *slog.Logger)
	// Supports reports for each operation of m's main graph nil when Compile accepts it, else why not.
	// The second result is for faults of the device itself.
	Supports(m *nn.Model) ([]error, error)
	// Compile does not retain m. ctx bounds compile time only.
	Compile(ctx context.Context, m *nn.Model, o Options) (Executable, error)
	// CompileImage returns an executable whose one input is the bytes of an image of layout d and whose one output
	// is the tensor that nn.Image speaks of, of the type, dimensions and quantisation of o; all dimensions are
	// known. It does not retain o. The Traffic of its executions counts the image as converted. ctx bounds compile
	// time only.
	//
	// Errors: INVALID_ARGUMENT for an image that cannot be such a tensor; GENERAL_FAILURE for one that the device
	// cannot handle; RESOURCE_EXHAUSTED_*.
	CompileImage(ctx context.Context, d nn.ImageLayout, o *nn.Operand, opts Options) (Executable, error)
	// Allocate returns zeroed memory for a tensor, which only kernels touch. Its form depends on type and
	// dimensions alone, so that any two executables agree on it. All dimensions are known. budget as
	// Options.MemoryBudget.
	//
	// Errors: RESOURCE_EXHAUSTED_*; INVALID_ARGUMENT for a type or size that no kernel handles.
	Allocate(t nn.OperandType, dims nn.Dims, budget int64) (Memory, error)
	// Import lets executions read and write host memory where it is. b is no Go memory, stays mapped until
	// Close, and nobody can shrink what is behind it. An input only if readOnly.
	//
	// Errors: ErrNotImported where the device cannot; then the bytes are copied instead, as Binding.Host.
	Import(b []byte, readOnly bool) (Memory, error)
	// Close frees the device, and its memory with it. Where executables are open or calls are going on it goes with the
	// last of them. Idempotent. What is begun afterwards, on executables too, is GENERAL_FAILURE with nn.ErrClosed.
	Close() error
}

// Stats are the figures of a compiled model.
type Stats struct {
	Pipelines   int     // distinct compute pipelines
	Dispatches  int     // dispatches and copies of one execution
	Segments    int     // parts that are submitted one by one
	ArenaBytes  int64   // device memory of one execution
	WeightBytes int64   // packed constants
	KeptBytes   int64   // host memory with a copy of them, for when the device is lost
	Quick       bool    // a form that gives way to a better one, see Options.Quick
	GFLOP       float64 // multiplications and additions of one execution, in units of 1e9
}

// Executable is a compiled model. One that can be kept outside of the process is a Storer. Safe for concurrent use.
type Executable interface {
	Stats() Stats
	// Estimates has the expected time of each segment on the device. The caller must not change it.
	Estimates() []time.Duration
	// Later is the expected time on the device of what comes after those segments; 0 unless executions are Continuing.
	Later() time.Duration
	// Begin takes a slot (arena, command buffers) for one execution and copies the inputs that lie in host
	// memory into it. It blocks until a slot is free or ctx is done.
	//
	// No execution writes beyond what is bound: a binding of another size than the executable has for it, and that
	// is not omitted, is GENERAL_FAILURE. An output of which only the data tells the size may be bound to any (see OutputDims).
	Begin(ctx context.Context, inputs, outputs []Binding) (Execution, error)
	// Close waits for the executions in flight and frees everything. Idempotent; Begin is nn.ErrClosed afterwards.
	Close() error
}

// Binding says where an execution finds an input or leaves an output: in Host or in Memory. The zero Binding is
// an omitted input, or an output without room.
//
// What is bound for an output whose dimensions only the data tells is room: Host of any length, or Length bytes of imported
// memory, at the front of which the dense result is written, and what lies behind that stays as it is; or allocated memory,
// which takes a result of the dimensions that it was allocated for and no other. Where that does not suffice, see Execution.OutputDims.
type Binding struct {
	// Host is dense and row-major, of the size that the model gives. That of an input is borrowed until Begin
	// returns, that of an output until Finish or Release.
	Host []byte
	// Memory comes from the same backend's Allocator and is borrowed until Release. Allocated memory has the
	// type and dimensions of the operand; in imported memory the tensor is dense and row-major at Offset.
	Memory Memory
	// Offset is in bytes, 0 for allocated memory.
	Offset int64
	// Length is how many bytes of Memory are bound: the size of the dense tensor.
	Length int64
}

// Size is the number of bytes that are bound.
func (b *Binding) Size() int64 {
	if b.Memory != nil {
		return b.Length
	}
	return int64(len(b.Host))
}

// Hosts binds each of list in host memory; nil is an omitted input.
func Hosts(list [][]byte) []Binding {
	out := make([]Binding, len(list))
	for i, b := range list {
		out[i].Host = b
	}
	return out
}

// Traffic counts the bytes that an execution moved beside its computation.
type Traffic struct {
	Copied    int64 // by the host or by copy commands, of inputs and outputs
	Converted int64 // between the client's dense form and the device's, read
}

// Execution is one run of an executable. One whose segments are not all known when it begins is Continuing. Not safe for
// concurrent use.
type Execution interface {
	// Submit hands segments [first, last) to the device, after those submitted before, and does not
	// wait for them. A run submits segments 0 to Segments once each, in order. The fence is valid until Release.
	Submit(first, last int) (Fence, error)
	// Segments is how many there are; it may differ between executions of an executable that is replaced by
	// a better one.
	Segments() int
	// Finish copies the outputs that lie in host memory there. Precondition: the fence of the last segment was
	// waited for without error.
	Finish() error
	// DeviceTime is the time between the first and the last segment's work on the device, 0 where it
	// cannot be measured. Precondition as of Finish.
	DeviceTime() time.Duration
	// SegmentTimes has the time that each segment took on the device; nil where only the host can tell. It is valid until
	// Release. Precondition as of Finish.
	SegmentTimes() []time.Duration
	// Traffic says what was moved. Precondition as of Finish.
	Traffic() Traffic
	// OutputDims has the dimensions of each output of a model that leaves some of them open although the dimensions of all
	// inputs are known: as far as they are known now, nil of those that are not yet. All are after the end, and those of an
	// execution that ended with OUTPUT_INSUFFICIENT_SIZE as far as they were computed. They are valid until Release, and
	// neither contradict what the model says of the output nor leave a known one open. Of other models it may be nil.
	//
	// Where an output has more bytes than are bound, or its dimensions are not those of the memory that it is bound to,
	// the execution ends with OUTPUT_INSUFFICIENT_SIZE before anything of that output is written: an error of Submit, of
	// Finish, or of Next of a Continuing. It goes on before, as far as it can without writing beyond what is bound, until
	// the dimensions of all outputs are known.
	OutputDims() []nn.Dims
	// SyncFile returns a sync_file that is signalled when the device has done the last segment, and that the caller
	// closes; nil where it has done so already. Precondition: every segment was submitted, and Release was not called.
	//
	// Errors: ErrNoSyncFile where the device makes none, or where the host has to bring outputs to their place
	// afterwards.
	SyncFile() (*os.File, error)
	// Release waits for what was submitted, then gives the slot back, and this Execution with it: it may be another's
	// as soon as Begin is called again.
	Release()
}

// ErrNoSyncFile: the end of this execution cannot be a sync_file.
var ErrNoSyncFile = errors.New("no sync_file")

// Fence is signalled when submitted work is done. Safe for concurrent use.
type Fence interface {
	// Wait blocks until the work is done, failed, or ctx is done; only the wait ends with ctx, never the
	// work.
	Wait(ctx context.Context) error
}
