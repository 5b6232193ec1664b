package backend

import (
	"context"
	"errors"
)

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
	// Lost reports that the device was lost, and what the memory held with it: nothing but Close works any more. When
	// an error tells of the loss of a device, Lost reports it already.
	Lost() bool
	// Close frees it. Precondition: no execution borrows it. Idempotent; what needs its bytes is nn.ErrClosed afterwards.
	Close() error
}
