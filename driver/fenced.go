package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/internal/prepare"
	"github.com/nngpu/nngpu/driver/nn"
)

// FencedExecution is a run that waits for fences and ends with one.
type FencedExecution struct {
	fence  *Fence
	result FencedResult // final once fence is signalled
	export *export      // nil: not asked for
}

// FencedResult is what a fenced execution reports.
type FencedResult struct {
	Result
	// SinceLaunch is the time from the call until the outputs were written, SinceFences that from when all wait
	// fences were signalled. Both are 0 without WithTiming.
	SinceLaunch, SinceFences time.Duration
}

// errStillRunning is the error of FencedExecution.Result before the fence is signalled.
var errStillRunning = errors.New("the execution has not ended")

// ExecuteFenced starts an execution that begins when all of waits are signalled, and returns at once. Its fence is
// signalled when the outputs are written, or with the error: that of a wait fence too. The pools of r and waits are
// borrowed until then. Outputs must have known, non-empty dimensions.
//
// WithDurationAfterFences bounds the time from when the wait fences were signalled, the deadlines that from the call.
// Nothing enters the device's queue before the wait fences are signalled, so that they never delay anybody else.
//
// Errors of the call itself: INVALID_ARGUMENT for what is wrong with the request or with a fence that has failed
// already, MISSED_DEADLINE_PERSISTENT for a deadline that has passed, that of ctx too, or that no execution was ever quick enough for;
// context.Canceled, as GENERAL_FAILURE, where ctx was cancelled. Where it is cancelled later that is the error of the
// fence, and its deadline is one like WithDeadline.
func (p *PreparedModel) ExecuteFenced(ctx context.Context, r *nn.Request, waits []*Fence, opts ...ExecuteOption) (*FencedExecution, error) {
	a := newExecution(p, r)
	if err := decodeExecute(ctx, opts, &a.o); err != nil {
		return nil, err
	}
	return a.executeFenced(ctx, waits)
}

// executeFenced is ExecuteFenced of an execution that has its options.
func (a *execution) executeFenced(ctx context.Context, waits []*Fence) (*FencedExecution, error) {
	a.o.since = a.start
	e, err := a.launch(ctx, waits)
	if err != nil {
		a.refused(err)
		return nil, err
	}
	return e, nil
}

// launch starts what executeFenced starts.
func (a *execution) launch(ctx context.Context, waits []*Fence) (*FencedExecution, error) {
	p, o := a.p, &a.o
	if err := p.checkPriority(o); err != nil {
		return nil, err
	}
	waits = slices.Clone(waits)
	for i, w := range waits {
		where := fmt.Sprintf("wait fence %d", i)
		if w == nil {
			return nil, nn.Invalid(where, "there is none")
		}
		if err := w.Err(); err != nil {
			return nil, nn.Invalid(where, "has failed: %w", err)
		}
	}
	o.limit(ctx)
	if err := checkDeadline("execution", o.deadline, o.since); err != nil {
		return nil, err
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	launched := false
	defer func() {
		if !launched {
			p.running.Done()
		}
	}()
	if err := a.b.checkFenced(); err != nil {
		return nil, err
	}
	if err := a.admitFenced(); err != nil {
		return nil, err
	}
	if err := p.client.beginPending(); err != nil {
		return nil, err
	}
	launched = true
	e := &FencedExecution{fence: NewFence(), export: o.exported}
	go func() {
		defer p.running.Done()
		defer p.client.endPending()
		err := e.run(ctx, a, waits)
		e.export.set(nil, cmp.Or(err, backend.ErrNoSyncFile)) // if it has not left yet, it never will
		e.fence.Signal(err)
	}()
	return e, nil
}

// checkFenced checks the request as far as it can be before the wait fences are signalled.
func (b *boundRequest) checkFenced() error {
	outputs, err := b.checkOutputs()
	if err != nil {
		return err
	}
	for i, dims := range outputs {
		o := b.output(i)
		if !known(o.Type, dims) {
			return nn.Invalid(fmt.Sprintf("output %d", i), "dimensions %v are open in a fenced execution", []uint32(dims))
		}
	}
	return nil
}

// run is what the execution does once it was launched.
func (e *FencedExecution) run(ctx context.Context, a *execution, waits []*Fence) error {
	o, launch := &a.o, a.start
	waiting, cancel := prepare.WithDeadline(ctx, o.deadline)
	err := waitForAll(waiting, waits)
	cancel()
	if err != nil {
		a.refused(err)
		return err
	}
	begin := time.Now()
	a.executionState = executionState{start: begin}
	if o.after > 0 {
		if t := begin.Add(o.after); o.deadline.IsZero() || t.Before(o.deadline) {
			o.deadline, o.since = t, begin
		}
	}
	if _, err := a.execute(ctx, &e.result.Result); err != nil {
		return err
	}
	e.result.Shapes = cloneShapes(e.result.Shapes)
	if o.timing {
		e.result.SinceLaunch, e.result.SinceFences = time.Since(launch), time.Since(begin)
	}
	return nil
}

// waitForAll blocks until all of waits are signalled, or one of them has failed, or ctx is done.
func waitForAll(ctx context.Context, waits []*Fence) error {
	wait := func(ctx context.Context, i int) error {
		if err := waits[i].Wait(ctx); err != nil {
			return fmt.Errorf("wait fence %d: %w", i, err)
		}
		return nil
	}
	if len(waits) == 1 {
		return wait(ctx, 0)
	}
	group, ctx := errgroup.WithContext(ctx)
	for i := range waits {
		group.Go(func() error { return wait(ctx, i) })
	}
	return group.Wait()
}

// Fence is signalled when the execution has ended, with its error. It may be a wait fence of others.
func (e *FencedExecution) Fence() *Fence { return e.fence }

// Result is what came out. Before the fence is signalled the error is GENERAL_FAILURE; afterwards it is the
// execution's.
func (e *FencedExecution) Result() (*FencedResult, error) {
	if !e.fence.signalled() {
		return nil, &nn.Error{Status: nn.StatusGeneralFailure, Where: "fenced execution", Err: errStillRunning}
	}
	if err := e.fence.Err(); err != nil {
		return nil, err
	}
	return &e.result, nil
}

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
