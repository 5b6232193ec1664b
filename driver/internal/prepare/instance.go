package prepare

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// Instance is a model with known dimensions of its inputs: the only one of a model that leaves none open; a template
// has one for each list of dimensions that executions came with. Safe for concurrent use.
type Instance struct {
	Group qos.Group // of its executions, which wait for the same slots
	// TimedByDevice: the device times its segments, so that the host's times of them are not wanted.
	TimedByDevice atomic.Bool

	of *Model
	// compile makes the first form, and says how a better one is made; nil: none will be.
	compile func(context.Context) (*Form, Status, *improvement, error)
	source  func() // releases what compile needs; nil once there is a form

	inputs, outputs []nn.Dims // of a template's
	users           int       // of a template's: guarded by its mutex; executions

	life context.Context // of the improvement
	end  context.CancelFunc
	work sync.WaitGroup // the improvement, until what it replaced is closed

	mu     sync.Mutex
	form   *Form        // guarded by mu; nil until it was compiled
	status Status       // guarded by mu
	flight *flight      // guarded by mu; the compilation of the first form
	next   *improvement // guarded by mu; not begun yet; nil: there is none
	left   int          // guarded by mu; executions until next begins
	early  *time.Timer  // guarded by mu; counts an execution if none comes; nil: there is none
	ended  bool         // guarded by mu; nothing begins any more
	err    error        // guarded by mu; of closing the first form

	accounting sync.Mutex
	bytes      int64 // guarded by accounting; in the client's account
	counted    bool  // guarded by accounting; a form was counted once
}

// flight is one call of compile.
type flight struct {
	ended  chan struct{}
	cancel context.CancelFunc // by close
	err    error              // once ended; nil also where the next one may try again at once
}

// newInstance returns an instance of m without a form. release is called when it gets one, or is closed without.
func newInstance(m *Model, compile func(context.Context) (*Form, Status, *improvement, error), release func()) *Instance {
	x := &Instance{of: m, compile: compile, source: release, status: Off}
	x.life, x.end = context.WithCancel(context.Background())
	return x
}

// Form is what an execution that begins now runs on; nil if nothing is compiled yet.
func (x *Instance) Form() *Form {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.form
}

// Status says what a cache did for it; Off until it is compiled.
func (x *Instance) Status() Status {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.status
}

// Ready compiles the model unless that was done, as long as ctx lasts; deadline, which may be zero, bounds only the
// wait.
func (x *Instance) Ready(ctx context.Context, deadline time.Time) error {
	if x.Form() != nil {
		return nil
	}
	waiting, cancel := WithDeadline(ctx, deadline)
	defer cancel()
	for {
		if err := waiting.Err(); err != nil {
			return err
		}
		x.mu.Lock()
		switch {
		case x.ended:
			x.mu.Unlock()
			return closed("executable")
		case x.form != nil:
			x.mu.Unlock()
			return nil
		case x.flight == nil:
			flying, cancel := context.WithCancel(ctx)
			x.flight = &flight{ended: make(chan struct{}), cancel: cancel}
			go x.fly(flying, x.flight) // close waits for it
		}
		f := x.flight
		x.mu.Unlock()
		select {
		case <-f.ended:
		case <-waiting.Done():
			return waiting.Err()
		}
		if f.err != nil {
			return f.err
		}
	}
}

// fly compiles the first form. All who wait get its error, unless only ctx ended.
func (x *Instance) fly(ctx context.Context, f *flight) {
	defer f.cancel()
	form, status, next, err := x.compile(ctx)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.flight = nil
	x.of.device.counts.Ended(err)
	if err == nil {
		x.set(form, status, next)
	} else if ctx.Err() == nil {
		f.err = err
	}
	close(f.ended)
}

// set notes the first form. Precondition: x.mu is held.
func (x *Instance) set(form *Form, status Status, next *improvement) {
	x.form, x.status, x.next = form, status, next
	x.source()
	x.source, x.compile = nil, nil
	if next == nil {
		return
	}
	if x.left = next.options.After; x.left == 0 {
		x.left = 1
		x.early = time.AfterFunc(firstResult, x.Executed)
	}
}

// Begin begins an execution on the current form. Precondition: Ready.
func (x *Instance) Begin(ctx context.Context, inputs, outputs []backend.Binding) (backend.Execution, error) {
	x.mu.Lock()
	if x.ended {
		x.mu.Unlock()
		return nil, closed("executable")
	}
	f := x.form
	f.beginning.Add(1)
	x.mu.Unlock()
	defer f.beginning.Done()
	return f.Begin(ctx, inputs, outputs)
}

// Executed counts an execution that has ended. After enough of them a better form is compiled in the background.
func (x *Instance) Executed() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.next == nil || x.ended {
		return
	}
	if x.left--; x.left == 0 {
		next := x.next
		x.next = nil
		x.work.Go(func() { x.improve(next) })
	}
}

func (x *Instance) improve(next *improvement) {
	defer next.close()
	better, err := next.run(x.life)
	if err != nil {
		if x.life.Err() == nil {
			x.of.device.log.Warn("a model could not be optimised in the background and stays slow", "error", err)
		}
		return
	}
	x.mu.Lock()
	old := x.form
	x.form = better
	x.mu.Unlock()
	old.beginning.Wait()
	err = old.Close() // waits for the executions
	x.mu.Lock()
	x.err = err
	x.mu.Unlock()
}

// KeepEstimates notes in the transparent cache what was learned of the segments, if there is a time for each, else
// nothing. Precondition: it is compiled.
func (x *Instance) KeepEstimates(learned []time.Duration) {
	x.Form().keepEstimates(x.of.device, learned)
}

// isIdle reports whether no compilation is running that executions wait for.
func (x *Instance) isIdle() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.flight == nil
}

// isCompiled reports whether it takes any memory of the device.
func (x *Instance) isCompiled() bool { return x.Form() != nil }

// account updates the client's account for forms that are compiled late, or replaced by better ones, beside the
// constants there. A better one may exceed the client's budget: it exists already, and the model worked before.
func (x *Instance) account(constants int64) error {
	f := x.Form()
	if f == nil {
		return nil
	}
	s := f.Stats()
	n := s.ArenaBytes + s.WeightBytes
	x.accounting.Lock()
	defer x.accounting.Unlock()
	switch {
	case n == x.bytes:
	case x.counted:
		x.of.account.Outgrow(n - x.bytes)
	default:
		if err := x.of.account.TakeBeside(x.bytes+constants, n-x.bytes, "model"); err != nil {
			return err
		}
	}
	x.setBytes(n)
	x.counted = true
	return nil
}

// setBytes notes what is in the account. Precondition: x.accounting is held.
func (x *Instance) setBytes(n int64) {
	x.of.held.Add(n - x.bytes)
	x.bytes = n
}

// taken is what it has in the client's account.
func (x *Instance) taken() int64 {
	x.accounting.Lock()
	defer x.accounting.Unlock()
	return x.bytes
}

// close gives up running compilations and waits for their end, keeps what was learned of the executions and frees
// everything. Idempotent. Precondition: no execution uses it or will.
func (x *Instance) close() error {
	x.mu.Lock()
	if x.ended {
		x.mu.Unlock()
		return nil
	}
	x.ended = true
	f := x.flight
	x.mu.Unlock()
	if f != nil {
		f.cancel()
		<-f.ended
	}
	x.end()
	x.work.Wait()
	if x.early != nil {
		x.early.Stop()
	}
	if x.next != nil {
		x.next.close()
	}
	if x.source != nil {
		x.source()
	}
	err := x.err
	if x.form != nil {
		x.form.keepLearned(x.of.device)
		err = errors.Join(err, x.form.Close())
	}
	x.accounting.Lock()
	defer x.accounting.Unlock()
	x.of.account.Give(x.bytes)
	x.setBytes(0)
	return err
}

// Info describes an instance that is compiled.
type Info struct {
	Inputs, Outputs []nn.Dims
	Stats           backend.Stats
	Estimates       []time.Duration
	Status          Status
}

// info is false where the instance is not compiled.
func (x *Instance) info() (Info, bool) {
	f := x.Form()
	if f == nil {
		return Info{}, false
	}
	return Info{CloneDims(x.inputs), CloneDims(x.outputs), f.Stats(), f.Est.Segments(), cmp.Or(x.Status(), Off)}, true
}
