// Package null is a backend that computes nothing: it records what it was asked to do. Tests of the driver
// use it where no Vulkan device is needed.
package null

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

// Backend accepts every model and leaves outputs as they are. Fields must not change in use. The zero value is
// ready. Safe for concurrent use.
type Backend struct {
	// Refuse, when not nil, decides which operations are refused and why.
	Refuse func(nn.OperationType) error
	// Gate, when not nil, holds every fence until it is closed or receives a value.
	Gate chan struct{}
	// Compute, when not nil, is called when an execution finishes, with the memory that it was given, which it
	// borrows until it returns. Calls can overlap.
	Compute func(inputs, outputs [][]byte) error
	// Hold, when not nil, holds every compilation until it is closed, and is no reason to stop with its
	// context.
	Hold chan struct{}
	// Segments is how many every executable has; 0 for one. Each is expected to take SegmentTime.
	Segments    int
	SegmentTime time.Duration
	// Weights is what every executable takes of device memory, in bytes.
	Weights int64
	// Model, when not nil, is shown every model that is compiled.
	Model func(*nn.Model)
	// Quick: there is a quick form, for who asks for it.
	Quick bool
	// Pieces is how often a compilation pauses that is asked to (backend.Options.Pause): it records "piece" then.
	Pieces int
	// NoImport refuses every import.
	NoImport bool
	// SyncFile, when not nil, makes the sync_file of an execution.
	SyncFile func() (*os.File, error)
	// Steps are what traces of executions tell; none: nothing of steps.
	Steps []backend.Step
	// MaxMemory bounds the bytes of allocated memory; 0 for no bound.
	MaxMemory int64

	losses atomic.Int64 // so far

	mu     sync.Mutex
	calls  []string // guarded by mu
	used   int64    // guarded by mu; bytes of allocated memory
	peak   int64    // guarded by mu; the most that was used
	closed bool     // guarded by mu
}

// Calls returns what was called so far, in order: "compile", "piece", "begin", "submit", "finish", "release",
// "close executable", "close", "compile image", "sync file", and of memory "allocate", "import", "write memory",
// "read memory", "free memory".
func (b *Backend) Calls() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.calls...)
}

func (b *Backend) record(call string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, call)
}

// open is an error once the backend was closed.
func (b *Backend) open() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return closed("null")
	}
	return nil
}

// begin records a call that the backend must be open for.
func (b *Backend) begin(call string) error {
	if err := b.open(); err != nil {
		return err
	}
	b.record(call)
	return nil
}

func closed(what string) error {
	return &nn.Error{Status: nn.StatusGeneralFailure, Where: what, Err: nn.ErrClosed}
}

// Info implements backend.Backend.
func (b *Backend) Info() backend.Info {
	return backend.Info{Name: "null", Driver: "null", Type: backend.TypeOther}
}

// Queues implements backend.Backend.
func (b *Backend) Queues() (n int, priority string) { return 1, "default" }

// LogTo implements backend.Backend: there is never anything to say.
func (b *Backend) LogTo(*slog.Logger) {}

// Supports implements backend.Backend.
func (b *Backend) Supports(m *nn.Model) ([]error, error) {
	if err := nn.NotNil("model", m); err != nil {
		return nil, err
	}
	if err := b.open(); err != nil {
		return nil, err
	}
	reasons := make([]error, len(m.Main.Operations))
	if b.Refuse != nil {
		for i := range reasons {
			reasons[i] = b.Refuse(m.Main.Operations[i].Type)
		}
	}
	return reasons, nil
}

// Compile implements backend.Backend.
func (b *Backend) Compile(ctx context.Context, m *nn.Model, o backend.Options) (backend.Executable, error) {
	if err := cmp.Or(nn.NotNil("context", ctx), nn.NotNil("model", m), b.begin("compile")); err != nil {
		return nil, err
	}
	if b.Hold != nil {
		<-b.Hold
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if b.Model != nil {
		b.Model(m)
	}
	reasons, err := b.Supports(m)
	if err != nil {
		return nil, err
	}
	if err := nn.Unsupported(m, reasons); err != nil {
		return nil, err
	}
	for i := 0; i < b.Pieces && o.Pause != nil; i++ {
		if err := o.Pause(ctx); err != nil {
			return nil, err
		}
		b.record("piece")
	}
	return &executable{
		b: b, inputs: sizes(m, m.Main.Inputs), outputs: sizes(m, m.Main.Outputs), compute: b.Compute, quick: o.Quick && b.Quick,
	}, nil
}

// sizes of operands in bytes, 0 where the model leaves them open.
func sizes(m *nn.Model, list []uint32) []int {
	out := make([]int, len(list))
	for i, index := range list {
		o := &m.Main.Operands[index]
		if n, _ := o.ByteSize(); len(o.Dims) > 0 || !o.Type.IsTensor() {
			out[i] = int(n)
		}
	}
	return out
}

// Close implements backend.Backend. What is called afterwards is GENERAL_FAILURE with nn.ErrClosed.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.closed = true
		b.calls = append(b.calls, "close")
	}
	return nil
}

func (b *Backend) segments() int { return max(b.Segments, 1) }

type executable struct {
	b               *Backend
	inputs, outputs []int // sizes
	compute         func(inputs, outputs [][]byte) error
	converted       int64 // bytes, by each execution
	quick           bool
	closed          atomic.Bool

	mu   sync.Mutex
	free []*execution // guarded by mu; that were released
}

func (e *executable) Stats() backend.Stats {
	return backend.Stats{Segments: e.b.segments(), WeightBytes: e.b.Weights, Quick: e.quick}
}

func (e *executable) Estimates() []time.Duration {
	return slices.Repeat([]time.Duration{e.b.SegmentTime}, e.b.segments())
}

func (e *executable) Later() time.Duration { return 0 }

func (e *executable) Begin(ctx context.Context, inputs, outputs []backend.Binding) (backend.Execution, error) {
	if e.closed.Load() {
		return nil, closed("executable")
	}
	if err := e.b.begin("begin"); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	trace := backend.TraceOf(ctx)
	from := trace.Now()
	x := e.take()
	x.losses, x.traffic = e.b.losses.Load(), backend.Traffic{Converted: e.converted}
	err := x.hosts("input", inputs, e.inputs, &x.inputs)
	if err == nil {
		err = x.hosts("output", outputs, e.outputs, &x.outputs)
	}
	for _, m := range x.borrowed {
		err = cmp.Or(err, e.b.since(m.losses))
	}
	if err != nil {
		x.Release()
		return nil, err
	}
	x.trace = e.b.tracer(trace, from)
	return x, nil
}

// take returns an execution that was released, or a new one.
func (e *executable) take() *execution {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := len(e.free); n > 0 {
		x := e.free[n-1]
		e.free = e.free[:n-1]
		x.released = false
		return x
	}
	return &execution{b: e.b, of: e, compute: e.compute}
}

// hosts appends the bytes of each binding to out and borrows its memory.
func (x *execution) hosts(what string, list []backend.Binding, sizes []int, out *[][]byte) error {
	for i := range list {
		b := &list[i]
		if b.Memory == nil && b.Host == nil {
			*out = append(*out, nil)
			continue
		}
		n := b.Size()
		if sizes[i] > 0 && n != int64(sizes[i]) {
			return fmt.Errorf("%s %d: %d bytes, the model has %d", what, i, n, sizes[i])
		}
		m, ok := b.Memory.(*memory)
		if !ok {
			*out = append(*out, b.Host)
			x.traffic.Copied += n
			continue
		}
		if n < 0 || b.Offset < 0 || b.Offset > int64(len(m.data))-n {
			return fmt.Errorf("%s %d: %d bytes at %d of memory of %d", what, i, n, b.Offset, len(m.data))
		}
		if err := m.borrow(); err != nil {
			return err
		}
		x.borrowed = append(x.borrowed, m)
		*out = append(*out, m.data[b.Offset:b.Offset+n:b.Offset+n])
	}
	return nil
}

func (e *executable) Close() error {
	if !e.closed.Swap(true) {
		e.b.record("close executable")
	}
	return nil
}

type execution struct {
	b               *Backend
	of              *executable
	compute         func(inputs, outputs [][]byte) error
	inputs, outputs [][]byte
	borrowed        []*memory
	losses          int64 // of the device, when it began
	traffic         backend.Traffic
	released        bool
	trace           *tracer // nil without a trace
}

func (x *execution) Submit(int, int) (backend.Fence, error) {
	x.b.record("submit")
	x.trace.submitted()
	return fence{x}, x.b.since(x.losses)
}

// SyncFile implements backend.Execution.
func (x *execution) SyncFile() (*os.File, error) {
	x.b.record("sync file")
	if x.b.SyncFile == nil {
		return nil, backend.ErrNoSyncFile
	}
	return x.b.SyncFile()
}

func (x *execution) Finish() error {
	x.b.record("finish")
	x.trace.finish()
	if x.compute != nil {
		return x.compute(x.inputs, x.outputs)
	}
	return nil
}

func (x *execution) Segments() int { return x.b.segments() }

func (x *execution) DeviceTime() time.Duration { return 0 }

func (x *execution) SegmentTimes() []time.Duration { return nil }

func (x *execution) OutputDims() []nn.Dims { return nil }

func (x *execution) Traffic() backend.Traffic { return x.traffic }

func (x *execution) Release() {
	if x.released {
		return
	}
	for _, m := range x.borrowed {
		m.giveBack()
	}
	x.b.record("release")
	clear(x.inputs)
	clear(x.outputs)
	clear(x.borrowed)
	x.inputs, x.outputs, x.borrowed, x.released = x.inputs[:0], x.outputs[:0], x.borrowed[:0], true
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	x.of.free = append(x.of.free, x)
}

type fence struct{ x *execution }

func (f fence) Wait(ctx context.Context) error {
	b := f.x.b
	defer f.x.trace.waited()
	if b.Gate == nil {
		return b.since(f.x.losses)
	}
	select {
	case <-b.Gate:
		return b.since(f.x.losses)
	case <-ctx.Done():
		return ctx.Err()
	}
}
