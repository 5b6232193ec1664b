package driver

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// ExecuteOption changes one execution.
type ExecuteOption func(*executeOptions)

type executeOptions struct {
	deadline  time.Time     // zero: none
	timeout   time.Duration // since the call; 0: none
	after     time.Duration // ExecuteFenced: since its wait fences were signalled; 0: none
	since     time.Time     // from when the client counts: the call, or the fences of after; zero: not known yet
	loops     time.Duration // WithLoopTimeout; 0: defaultLoopTimeout
	timing    bool
	profiling profiling
	priority  *nn.Priority // nil: the model's
	exported  *export      // WithSyncFile; nil: not asked
	err       error        // of an option
}

// limit takes over the context's deadline, and the end of the timeout, where they are nearer. Precondition: since is set.
func (o *executeOptions) limit(ctx context.Context) {
	nearer := func(t time.Time) {
		if o.deadline.IsZero() || t.Before(o.deadline) {
			o.deadline = t
		}
	}
	if t, ok := ctx.Deadline(); ok {
		nearer(t)
	}
	if o.timeout > 0 {
		nearer(o.since.Add(o.timeout))
	}
}

// decodeExecute checks what every execution is called with beside its request, and adds the options to o.
func decodeExecute(ctx context.Context, opts []ExecuteOption, o *executeOptions) error {
	if err := apply(opts, o); err != nil {
		return err
	}
	return cmp.Or(o.err, checkContext("execution", ctx))
}

// WithDeadline says when the execution must have ended. One that is not expected to end by then is refused:
// MISSED_DEADLINE_PERSISTENT where the deadline had passed at the call, or leaves less time than the fastest execution
// of the model took (before there was one, less than a quarter of the cost model's estimate); else
// MISSED_DEADLINE_TRANSIENT, whatever the reason. One that turns out late is given up between two segments, with
// TRANSIENT as well. It is refused before its pools are mapped and its buffers waited for, as far as that can be told
// then. Slowness that other programs caused does not refuse executions for ever: where nothing of a model was measured
// for half a second because all was refused, about one execution a second is let through as a trial (Result.Schedule,
// Device.Scheduling). The nearer of this deadline and the context's counts. It is a hint: an execution may end late
// without an error.
func WithDeadline(t time.Time) ExecuteOption {
	return func(o *executeOptions) { o.deadline = t }
}

// WithExecutionPriority gives the execution a lower priority than its model was prepared with, so that one model serves
// several tiers. A higher one is INVALID_ARGUMENT.
func WithExecutionPriority(p nn.Priority) ExecuteOption {
	return func(o *executeOptions) {
		if o.priority = &p; p > nn.PriorityHigh {
			o.err = nn.Invalid("priority", "%v", p)
		}
	}
}

// WithTimeout is WithDeadline of d after each call, for executions that run again and again.
func WithTimeout(d time.Duration) ExecuteOption {
	return func(o *executeOptions) {
		if o.timeout = d; d <= 0 {
			o.err = nn.Invalid("timeout", "%v", d)
		}
	}
}

// checkPriority refuses executions of o with a higher priority than the model has.
func (p *PreparedModel) checkPriority(o *executeOptions) error {
	if o.priority != nil && *o.priority > p.priority {
		return nn.Invalid("priority", "%v is above that of the model, %v", *o.priority, p.priority)
	}
	return nil
}

// WithTiming asks for Result.OnDevice and Result.InDriver.
func WithTiming() ExecuteOption {
	return func(o *executeOptions) { o.timing = true }
}

// WithDurationAfterFences bounds the time of ExecuteFenced from when its wait fences were signalled; the nearer of it
// and the deadline counts. Other executions ignore it.
func WithDurationAfterFences(d time.Duration) ExecuteOption {
	return func(o *executeOptions) {
		if o.after = d; d <= 0 {
			o.err = nn.Invalid("duration after fences", "%v", d)
		}
	}
}

// NNAPI's LoopTimeoutDurationNs::DEFAULT and MAXIMUM.
const (
	defaultLoopTimeout = 2 * time.Second
	maxLoopTimeout     = 15 * time.Second
)

// WithLoopTimeout bounds each WHILE of the model, of those that are nested each by itself: above 0, at most 15 seconds;
// without it 2 seconds. A loop that takes longer ends the execution, between two iterations, with
// MISSED_DEADLINE_TRANSIENT.
func WithLoopTimeout(d time.Duration) ExecuteOption {
	return func(o *executeOptions) {
		if o.loops = d; d <= 0 || d > maxLoopTimeout {
			o.err = nn.Invalid("loop timeout", "%v is not above 0 and at most %v", d, maxLoopTimeout)
		}
	}
}

// Result is what an execution reports beside its outputs.
type Result struct {
	// Shapes has one entry for each output.
	Shapes []nn.OutputShape
	// OnDevice is the time between the first and the last work on the device, InDriver that from the call until
	// the outputs were written. Both are 0 where they are not known, and without WithTiming.
	OnDevice, InDriver time.Duration
	// Traffic is what was moved beside the computation.
	Traffic backend.Traffic
	// Schedule says how long the execution waited for the device, and how often it gave way.
	Schedule qos.Report
	// Predicted is the time on the device that was expected.
	Predicted time.Duration

	profiler *profiler // nil without WithProfile
}

// Execute runs the model once and returns when the outputs are written. The pools of r are borrowed until
// then; outputs may be half written when it fails. When ctx ends, work that was not submitted is given
// up; the call returns when the device has finished with what was.
//
// Where the model leaves the dimensions of an output open, its argument gives the room. Too little of it is
// OUTPUT_INSUFFICIENT_SIZE: then, and with no other error, there is a result, whose Shapes say what is needed. That is found
// before anything is computed, unless only the data tells the dimensions: then they are known as far as it was computed, and
// other outputs may be written. A buffer of open dimensions takes such an output as well; where it had others before, the
// execution runs twice.
//
// Other errors: INVALID_ARGUMENT for what is wrong with r, which includes a closed pool, or with an option;
// GENERAL_FAILURE for a pool that cannot be mapped or read, with ErrClosed for a closed model, and with
// context.Canceled where ctx was cancelled; MISSED_DEADLINE_* as WithDeadline says, and where ctx ended by its
// deadline; RESOURCE_EXHAUSTED_*; DEVICE_UNAVAILABLE.
func (p *PreparedModel) Execute(ctx context.Context, r *nn.Request, opts ...ExecuteOption) (*Result, error) {
	a := newExecution(p, r)
	res, err := a.once(ctx, opts)
	a.recycle()
	return res, err
}

// once runs an execution with options.
func (a *execution) once(ctx context.Context, opts []ExecuteOption) (*Result, error) {
	if err := decodeExecute(ctx, opts, &a.o); err != nil {
		return nil, err
	}
	if err := a.p.enter(); err != nil {
		return nil, err
	}
	defer a.p.running.Done()
	return a.execute(ctx, &Result{})
}

// execute runs an execution of an entered model, and puts what it reports into res.
func (a *execution) execute(ctx context.Context, res *Result) (*Result, error) {
	res, err := a.bindAndRun(ctx, res)
	a.p.client.device.counters.executionEnded(a, res, err)
	return res, err
}

// bindAndRun binds the request, runs it and brings its outputs to their places.
func (a *execution) bindAndRun(ctx context.Context, res *Result) (*Result, error) {
	o, b := &a.o, a.b
	if err := a.p.checkPriority(o); err != nil {
		return nil, err
	}
	if o.since.IsZero() {
		o.since = a.start
	}
	o.limit(ctx)
	if err := checkDeadline("execution", o.deadline, o.since); err != nil {
		return nil, err
	}
	a.job.Deadline, a.profiler = o.deadline, newProfiler(o.profiling)
	*res = Result{}
	if err := b.start(ctx, a); err != nil {
		if nn.StatusOf(err) != nn.StatusOutputInsufficientSize {
			return nil, err
		}
		res.Shapes = b.shapes
		return res, err
	}
	defer b.release()
	res.Shapes = b.shapes
	a.profiler.isBound()
	var err error
	if b.sized {
		err = a.runSized(ctx, res)
	} else {
		err = a.run(ctx, res)
	}
	if err = b.finish(err); err != nil {
		err = fmt.Errorf("execute: %w", err)
		if b.sized && nn.StatusOf(err) == nn.StatusOutputInsufficientSize {
			*res = Result{Shapes: b.shapes}
			return res, err
		}
		return nil, err
	}
	res.Traffic.Copied += b.copied
	res.Traffic.Converted += b.converted
	a.took = time.Since(a.start)
	if a.profiler != nil {
		a.profiler.hasEnded(a.start, a.took, &res.Schedule)
		res.profiler = a.profiler
	}
	if res.InDriver = a.took; !o.timing {
		res.InDriver, res.OnDevice = 0, 0
	}
	res.OnDevice = min(res.OnDevice, res.InDriver) // different clocks
	return res, nil
}
