package driver

import (
	"context"
	"os"
	"sync"

	"github.com/nngpu/nngpu/driver/internal/fence"
	"github.com/nngpu/nngpu/driver/nn"
)

// Fence is signalled once: with success, or with an error. Safe for concurrent use.
//
// Fences of the driver and of other programs meet as file descriptors: ImportFence makes a Fence of an eventfd or a
// sync_file, File gives an eventfd of a Fence.
type Fence struct {
	done chan struct{}

	mu    sync.Mutex
	sent  bool             // guarded by mu
	err   error            // guarded by mu; final once sent
	files []*fence.EventFD // guarded by mu; to be signalled
	then  []func()         // guarded by mu; called before done is closed
}

// ErrFenceClosed is the error of an imported fence that was closed before it was signalled. It is ErrClosed as well.
var ErrFenceClosed = fence.ErrClosed

// NewFence returns a fence that Signal signals.
func NewFence() *Fence { return &Fence{done: make(chan struct{})} }

// ImportFence makes a fence of an eventfd or a sync_file, which is duplicated: file may be closed afterwards. It is
// signalled when the descriptor becomes readable, and failed where a sync_file says so or the counter of an eventfd
// is FenceFailed or more. The descriptor is only looked at, never read. Close gives the wait up.
//
// Errors: INVALID_ARGUMENT for anything but an eventfd or a sync_file.
func ImportFence(file *os.File) (*Fence, error) {
	f := NewFence()
	stop, err := fence.Watch(file, f.Signal)
	if err != nil {
		return nil, err
	}
	f.onSignal(stop)
	return f, nil
}

// Signal signals the fence; err says that what it stands for failed. Only the first call counts.
func (f *Fence) Signal(err error) {
	f.mu.Lock()
	if f.sent {
		f.mu.Unlock()
		return
	}
	f.sent, f.err = true, err
	files, then := f.files, f.then
	f.files, f.then = nil, nil
	f.mu.Unlock()
	for _, call := range then {
		call()
	}
	close(f.done)
	for _, e := range files {
		e.Signal(err)
	}
}

// onSignal calls then once, when the fence is being signalled and before anybody sees it; at once if that was.
func (f *Fence) onSignal(then func()) {
	f.mu.Lock()
	late := f.sent
	if !late {
		f.then = append(f.then, then)
	}
	f.mu.Unlock()
	if late {
		then()
	}
}

func (f *Fence) signalled() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// Done is closed when the fence is signalled.
func (f *Fence) Done() <-chan struct{} { return f.done }

// Err is the error that the fence was signalled with; nil before.
func (f *Fence) Err() error {
	if !f.signalled() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Wait blocks until the fence is signalled, and returns its error, or until ctx is done: then the error is that of ctx,
// GENERAL_FAILURE where it was cancelled and MISSED_DEADLINE_TRANSIENT by its deadline. The fence of an execution may
// have failed with such an error itself; then Err returns it as well.
func (f *Fence) Wait(ctx context.Context) error {
	if err := nn.NotNil("context", ctx); err != nil {
		return err
	}
	select {
	case <-f.done:
		return f.Err()
	default:
	}
	select {
	case <-f.done:
		return f.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// File returns an eventfd, which the caller closes. It becomes readable when the fence is signalled; its counter is
// then 1, or FenceFailed plus the status where the fence failed. A process that holds only the descriptor can so
// tell success from failure.
func (f *Fence) File() (*os.File, error) {
	e, file, err := fence.New()
	if err != nil {
		return nil, &nn.Error{Status: nn.StatusResourceExhaustedTransient, Where: "fence", Err: err}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sent {
		e.Signal(f.err)
	} else {
		f.files = append(f.files, e)
	}
	return file, nil
}

// Close gives up an imported fence that is not signalled yet, with ErrFenceClosed. Idempotent; other fences need no
// Close.
func (f *Fence) Close() { f.Signal(ErrFenceClosed) }

// FenceFailed is the least value of the counter of a failed fence's eventfd; the status is added to it.
const FenceFailed = fence.Failed
