package driver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

// WithSyncFile asks ExecuteFenced for FencedExecution.SyncFile. Other executions ignore it.
func WithSyncFile() ExecuteOption {
	return func(o *executeOptions) { o.exported = newExport() }
}

// export is a sync_file on its way from the goroutine that submits to who asked for it. take is safe for concurrent use.
type export struct {
	done chan struct{} // closed when file and err are set
	file *os.File
	err  error

	taken atomic.Bool // by who calls take first, to whom file belongs
}

// errTaken is the error of SyncFile from the second time on.
var errTaken = errors.New("it was given out already")

// take gives what came out to the first caller. Precondition: done is closed.
func (e *export) take() (*os.File, error) {
	if e.err != nil {
		return nil, &nn.Error{Status: nn.StatusOf(e.err), Where: "sync_file", Err: e.err}
	}
	if !e.taken.CompareAndSwap(false, true) {
		return nil, nn.Errorf(nn.StatusGeneralFailure, "sync_file", "%w", errTaken)
	}
	return e.file, nil
}

func newExport() *export { return &export{done: make(chan struct{})} }

// set is called once with what came out; later calls change nothing. Only the executing goroutine calls it.
func (e *export) set(file *os.File, err error) {
	if e == nil {
		return
	}
	select {
	case <-e.done:
	default:
		e.file, e.err = file, err
		close(e.done)
	}
}

// submitted exports the end of x, all of whose segments were submitted.
func (e *export) submitted(x backend.Execution, b *boundRequest) {
	if e == nil {
		return
	}
	if len(b.files) > 0 {
		e.set(nil, fmt.Errorf("%w: outputs are written to files afterwards", backend.ErrNoSyncFile))
		return
	}
	if b.sized {
		e.set(nil, fmt.Errorf("%w: the dimensions of outputs are judged afterwards", backend.ErrNoSyncFile))
		return
	}
	e.set(x.SyncFile())
}

// errNotAsked is the error of SyncFile without WithSyncFile.
var errNotAsked = errors.New("the execution was started without WithSyncFile")

// SyncFile returns a sync_file of the kernel, which the caller closes, that is signalled when the device has done the
// work; nil where it has done so already. It blocks until all of the work is submitted, or ctx is done: what is not
// submitted can still be given up, and a sync_file cannot. Once, for an execution with WithSyncFile; then errors of
// the device after the submission are those of Fence alone. Safe for concurrent use.
//
// Errors: GENERAL_FAILURE where an earlier call has returned it; backend.ErrNoSyncFile, as GENERAL_FAILURE, where the device
// makes none, or where outputs do not lie in device memory and the host copies them afterwards; that of the execution
// where it ended before; that of ctx, GENERAL_FAILURE where it was cancelled and MISSED_DEADLINE_TRANSIENT by its deadline.
func (e *FencedExecution) SyncFile(ctx context.Context) (*os.File, error) {
	if err := nn.NotNil("context", ctx); err != nil {
		return nil, err
	}
	if e.export == nil {
		return nil, nn.Errorf(nn.StatusInvalidArgument, "sync_file", "%w", errNotAsked)
	}
	select {
	case <-e.export.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return e.export.take()
}
