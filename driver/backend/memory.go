package backend

import (
	"context"
	"errors"

	"github.com/nngpu/nngpu/driver/nn"
)

// Allocator is a Backend that executions can share memory with. Safe for concurrent use.
type Allocator interface {
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
}

// ErrNotImported: the device cannot use this memory where it is.
var ErrNotImported = errors.New("memory cannot be imported")

// Memory is memory that the device reads and writes in executions. Safe for concurrent use, as far as the
// bytes are not fought over.
type Memory interface {
	// Bytes is what it takes of the device's account; 0 for imported memory.
	Bytes() int64
	// Write sets allocated memory to a dense, row-major value of the tensor's size, and Read gives it back.
	// Preconditions: no execution writes it; for Write none reads it either.
	Write(ctx context.Context, dense []byte) error
	Read(ctx context.Context, dense []byte) error
	// Close frees it. Precondition: no execution borrows it. Idempotent; what needs its bytes is nn.ErrClosed afterwards.
	Close() error
}

// Losable is a Memory whose device can be lost. Safe for concurrent use.
type Losable interface {
	Memory
	// Lost reports that the device was lost, and what the memory held with it: nothing but Close works any more. When
	// an error tells of the loss of a device, Lost reports it already.
	Lost() bool
}
