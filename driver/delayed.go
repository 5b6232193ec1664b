package driver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

// WithDelayedCompilation makes PrepareModel return once the model was checked. The first execution compiles it, or takes
// it from the cache; what would have been an error of PrepareModel is one of that execution, and of those that
// wait for it, and the next one tries again. Its context bounds the compilation; where it ends too early, one of those
// that wait goes on with its own. A deadline of WithDeadline ends the wait alone, so that a later execution finds the
// model compiled, however near the deadlines are.
//
// Until then Stats are zero, Cached is CacheOff, and the values of the model are retained and must not change; what was
// copied of its pools (see PrepareModel) stays in memory and in the client's account. Cache files are duplicated as far
// as they are needed, so that the client may close its own. PrepareModelFromCache never delays.
func WithDelayedCompilation() Option {
	return func(o *prepareOptions) { o.preparing.delayed = true }
}

// delayed is an executable that is compiled when it is first needed.
type delayed struct {
	// compile makes the executable. done is called when it was made, or in its place.
	compile func(context.Context) (backend.Executable, CacheStatus, error)
	done    func()
	ended   func(error) // is told how each call of compile ended

	mu     sync.Mutex
	exe    backend.Executable // guarded by mu; nil until it was compiled
	status CacheStatus        // guarded by mu
	flight *flight            // guarded by mu; the compilation that is going on
	closed bool               // guarded by mu
}

// flight is one call of compile.
type flight struct {
	ended  chan struct{}
	cancel context.CancelFunc // by Close
	err    error              // once ended; nil also where the next one may try again at once
}

// delay checks what PrepareModel promises and leaves the rest to the first execution.
func (d *Device) delay(m *ownModel, o *prepareOptions) (*delayed, error) {
	reasons, err := d.backend.Supports(m.Model)
	if err != nil {
		return nil, err
	}
	for i, why := range reasons {
		if why != nil {
			return nil, nn.Invalid(fmt.Sprintf("operation %d (%v)", i, m.Main.Operations[i].Type), "%w", why)
		}
	}
	own := *o
	own.preparing.delayed = false
	own.deadline = time.Time{} // it was that of PrepareModel
	m.retain()
	done := m.release
	if f := o.files; f != nil && f.dir == "" && d.cache.restorer != nil {
		files, err := f.duplicate()
		if err != nil { // it could not be saved in them either
			d.cache.notKept(err)
			o.saving.done(err)
			files, own.saving = nil, &saving{} // the transparent cache is not what was asked for
		} else {
			done = func() {
				files.close()
				m.release()
			}
		}
		own.files = files
	}
	compile := func(ctx context.Context) (backend.Executable, CacheStatus, error) { return d.compileFor(ctx, m, &own) }
	return &delayed{compile: compile, done: done, ended: d.counters.prepareEnded, status: CacheOff}, nil
}

// now returns the executable, and compiles it first where nobody has, as long as ctx lasts; waiting, of which ctx is the
// parent or which it is, bounds the wait.
func (x *delayed) now(ctx, waiting context.Context) (backend.Executable, error) {
	for {
		if err := waiting.Err(); err != nil {
			return nil, err
		}
		x.mu.Lock()
		switch {
		case x.closed:
			x.mu.Unlock()
			return nil, closed("executable")
		case x.exe != nil:
			exe := x.exe
			x.mu.Unlock()
			return exe, nil
		case x.flight == nil:
			flying, cancel := context.WithCancel(ctx)
			x.flight = &flight{ended: make(chan struct{}), cancel: cancel}
			go x.fly(flying, x.flight) // Close waits for it
		}
		f := x.flight
		x.mu.Unlock()
		select {
		case <-f.ended:
		case <-waiting.Done():
			return nil, waiting.Err()
		}
		if f.err != nil {
			return nil, f.err
		}
	}
}

// fly compiles. A failure is that of all who wait, unless it is of ctx alone.
func (x *delayed) fly(ctx context.Context, f *flight) {
	defer f.cancel()
	exe, status, err := x.compile(ctx)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.flight = nil
	x.ended(err)
	if err == nil {
		x.exe, x.status = exe, status
		x.done()
	} else if ctx.Err() == nil {
		f.err = err
	}
	close(f.ended)
}

// known is the executable, nil before it was compiled.
func (x *delayed) known() backend.Executable {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.exe
}

// isIdle reports whether no compilation goes on.
func (x *delayed) isIdle() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.flight == nil
}

// cacheStatus is CacheOff before it was compiled.
func (x *delayed) cacheStatus() CacheStatus {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.status
}

// Stats implements backend.Executable.
func (x *delayed) Stats() backend.Stats {
	if exe := x.known(); exe != nil {
		return exe.Stats()
	}
	return backend.Stats{}
}

// unknownModel is the estimate of a model that nothing is known of: one segment, over in no time.
var unknownModel = []time.Duration{time.Millisecond}

// Estimates implements backend.Executable; they are a guess before it was compiled.
func (x *delayed) Estimates() []time.Duration {
	if exe := x.known(); exe != nil {
		return exe.Estimates()
	}
	return unknownModel
}

// Later implements backend.Executable.
func (x *delayed) Later() time.Duration {
	if exe := x.known(); exe != nil {
		return exe.Later()
	}
	return 0
}

// ready compiles the model where nobody has, so that Begin does not take that long and estimates are those of the
// compiled form.
func (x *delayed) ready(ctx context.Context, deadline time.Time) error {
	if x.known() != nil {
		return nil
	}
	waiting, cancel := withDeadline(ctx, deadline)
	defer cancel()
	_, err := x.now(ctx, waiting)
	return err
}

// Begin implements backend.Executable.
func (x *delayed) Begin(ctx context.Context, inputs, outputs []backend.Binding) (backend.Execution, error) {
	exe, err := x.now(ctx, ctx)
	if err != nil {
		return nil, err
	}
	return exe.Begin(ctx, inputs, outputs)
}

// Close implements backend.Executable. It gives up a compilation that is going on and waits for its end. Idempotent.
func (x *delayed) Close() error {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return nil
	}
	x.closed = true
	f := x.flight
	x.mu.Unlock()
	if f != nil {
		f.cancel()
		<-f.ended
	}
	if exe := x.known(); exe != nil {
		return exe.Close()
	}
	x.done()
	return nil
}
