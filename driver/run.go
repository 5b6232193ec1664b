package driver

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/internal/prepare"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// execution is one on its way through the scheduler and the device. One that has ended can be made again: what it
// has to itself stays, and so does the request. Not safe for concurrent use.
type execution struct {
	p *PreparedModel
	b *boundRequest
	o executeOptions
	executionState

	// What is made once: the functions of the job, and room for the estimates of its segments.
	begins    func(context.Context) error
	submits   func(first, last int) (qos.Fence, error)
	observes  func(first, last int, took time.Duration)
	continues func(context.Context) ([]time.Duration, time.Duration, error)
	segments  []time.Duration
}

// executionState is what begins anew with each execution.
type executionState struct {
	instance *prepare.Instance // that it runs on; nil before the request is bound
	form     *prepare.Form     // that job was made for; nil before plan
	job      qos.Job
	x        backend.Execution // nil before Begin
	// Of a backend.Continuing: it, and the segments of its part once that is not the first.
	continuing backend.Continuing
	part       []time.Duration

	profiler *profiler // nil: nobody asked

	// For the metrics: when it began, whether work of it reached the device, how long it waited for that, what the device
	// says that it took (0 where it cannot), and the time until its outputs were written.
	start     time.Time
	submitted bool
	queued    time.Duration
	onDevice  time.Duration
	took      time.Duration

	converting time.Duration // what making inputs of images was expected to take
	used       time.Duration // on the device, so far
	earlier    time.Duration // on the device, before it ran once more
}

// newExecution returns an execution of r as it is now, without options. Where it has ended for good, recycle may follow.
func newExecution(p *PreparedModel, r *nn.Request) *execution {
	a := spareExecutions.Get().(*execution)
	a.p, a.start = p, time.Now()
	a.b.reset(p, r)
	return a
}

// spareExecutions are empty but for what is made once.
var spareExecutions = sync.Pool{New: func() any { return &execution{b: &boundRequest{}} }}

// recycle keeps a, which nobody will use, for another execution, and nothing of what the caller gave or gets.
func (a *execution) recycle() {
	*a.b = boundRequest{}
	*a = execution{b: a.b, begins: a.begins, submits: a.submits, observes: a.observes, continues: a.continues, segments: a.segments[:0]}
	spareExecutions.Put(a)
}

// again makes a, which has ended if it ever began, an execution that begins now, with such options.
func (a *execution) again(ctx context.Context, o *executeOptions, more []ExecuteOption) error {
	a.o, a.executionState = *o, executionState{start: time.Now()}
	return decodeExecute(ctx, more, &a.o)
}

// refused counts an execution that ends with err before it was bound.
func (a *execution) refused(err error) {
	a.p.client.device.counters.executionEnded(a, nil, err)
}

// on is the instance that it runs on, as far as that can be told; nil: it cannot.
func (a *execution) on() *prepare.Instance {
	if a.instance != nil {
		return a.instance
	}
	var inputs []nn.Dims
	if a.b != nil && a.b.dims != nil {
		inputs = a.b.dims.InputDims
	}
	return a.p.model.Peek(inputs)
}

// plan makes the job, without its functions. It reports false where the model is not compiled yet, so that nothing is
// known of it.
func (a *execution) plan() bool {
	on := a.on()
	if on == nil {
		return false
	}
	if a.form = on.Form(); a.form == nil {
		return false
	}
	a.segments = a.form.Est.AppendTo(a.segments[:0])
	a.job = qos.Job{
		Priority: a.priority(), Deadline: a.o.deadline, Segments: a.segments, Fastest: a.form.Est.Fastest(),
		Group: &on.Group, Lane: a.p.lane(), Later: a.form.Later(),
	}
	// Time that was lost in waiting is no reason to doubt the estimates.
	a.job.Trial = a.given() < a.converting+a.expected()
	return true
}

// deviceTime is what it took on the device, as far as that is known.
func (a *execution) deviceTime() time.Duration { return a.earlier + cmp.Or(a.onDevice, a.used) }

// expected is how long the job is estimated to take.
func (a *execution) expected() time.Duration { return total(a.job.Segments) + a.job.Later }

// priority is that of the execution.
func (a *execution) priority() nn.Priority {
	if a.o.priority != nil {
		return *a.o.priority
	}
	return a.p.priority
}

// admit refuses what the scheduler would refuse, before anything is done for it. It costs nothing without a deadline.
// What it lets through is tested again by run: time goes on meanwhile. Precondition: the request was checked.
func (a *execution) admit() error {
	if a.o.deadline.IsZero() || !a.plan() {
		return nil
	}
	own := a.job.Segments
	if first := a.b.conversions(); len(first) > 0 {
		a.job.Segments = slices.Concat(first, own)
	}
	err := a.verdict(a.p.client.queue.Admit(&a.job))
	a.job.Segments = own
	return err
}

// admitFenced refuses what no execution was ever quick enough for. How busy this one is says nothing before the
// fences are signalled that the execution waits for.
func (a *execution) admitFenced() error {
	o := &a.o
	if o.deadline.IsZero() && o.after == 0 || !a.plan() {
		return nil
	}
	if end := o.since.Add(o.after); o.after > 0 && (o.deadline.IsZero() || end.Before(o.deadline)) {
		a.job.Deadline = end
	}
	if !a.unreachable() {
		return nil
	}
	return a.verdict(a.p.client.queue.Admit(&a.job))
}

// given is the time between the call and the deadline; without one the longest.
func (a *execution) given() time.Duration {
	if a.job.Deadline.IsZero() {
		return math.MaxInt64
	}
	return a.job.Deadline.Sub(a.o.since)
}

// unreachable reports whether no execution was ever quick enough.
func (a *execution) unreachable() bool { return a.form != nil && a.given() < a.form.Est.Fastest() }

// verdict is err, of the scheduler, with the status that it has for the client, who counts from the call: what would
// have been in time, had it not waited for fences, buffers or a compilation, may be so the next time.
func (a *execution) verdict(err error) error {
	if nn.StatusOf(err) != nn.StatusMissedDeadlinePersistent || !errors.Is(err, qos.ErrDeadline) {
		return err
	}
	if !a.unreachable() {
		return &nn.Error{Status: nn.StatusMissedDeadlineTransient, Where: "execution", Err: err}
	}
	return err
}

// run waits for its turn, takes a slot, and has the device do the work. Precondition: the request is bound.
func (a *execution) run(ctx context.Context, res *Result) (err error) {
	p, on := a.p, a.on()
	a.b.unsubmitted = true
	if err := on.Ready(ctx, a.o.deadline); err != nil {
		return err
	}
	if err := p.model.Account(on); err != nil {
		return err
	}
	a.plan() // anew: the form may be a better one by now
	res.Predicted = a.expected()
	if a.begins == nil {
		a.begins, a.submits, a.observes, a.continues = a.begin, a.submit, a.observe, a.goOn
	}
	a.job.Begin, a.job.Submit, a.job.Observe = a.begins, a.submits, a.observes
	defer func() {
		if a.x == nil {
			return
		}
		if a.b.sized {
			a.b.hear(a.x)
		}
		a.x.Release()
		on.Executed()
	}()
	res.Schedule, err = p.client.queue.Run(ctx, &a.job)
	a.profiler.hasRun()
	if res.Schedule.Trial {
		defer a.form.Est.Renew()
	}
	if a.queued += res.Schedule.Queued; err != nil {
		return a.verdict(err)
	}
	if err := a.x.Finish(); err != nil {
		return err
	}
	a.onDevice = a.x.DeviceTime()
	res.OnDevice, res.Traffic = a.onDevice, a.x.Traffic()
	if a.o.profiling == everyStep { // what it took says nothing of the next one
		return nil
	}
	if times := a.x.SegmentTimes(); len(times) == len(a.job.Segments) { // the device knows better than the host
		on.TimedByDevice.Store(true)
		for i, t := range times {
			a.form.Est.Observe(i, t)
		}
		a.used = total(times)
	}
	if a.part != nil || a.x.Segments() == len(a.job.Segments) {
		a.form.Est.Completed(a.used)
	}
	a.form.Runs.Add(1)
	return nil
}

// begin takes a slot. What idle instances of the same template keep of the device gives way to it.
func (a *execution) begin(ctx context.Context) (err error) {
	from := a.profiler.now()
	for {
		a.x, err = a.on().Begin(a.profiler.traced(ctx), a.b.inputs, a.b.outputs)
		if !a.p.model.MakeRoom(err) {
			break
		}
	}
	a.profiler.hasBegun(from)
	if c, ok := a.x.(backend.Continuing); ok && err == nil {
		c.LimitLoops(cmp.Or(a.o.loops, defaultLoopTimeout))
		a.continuing, a.job.More = c, a.continues
	}
	return err
}

// goOn asks the execution what comes now.
func (a *execution) goOn(ctx context.Context) (segments []time.Duration, later time.Duration, err error) {
	segments, later, err = a.continuing.Next(ctx)
	if len(segments) > 0 {
		a.part = segments
	}
	return segments, later, err
}

// submit hands segments to the device.
func (a *execution) submit(first, last int) (qos.Fence, error) {
	if n := a.x.Segments(); a.part == nil && n != len(a.job.Segments) { // the executable was replaced in between
		first, last = first*n/len(a.job.Segments), last*n/len(a.job.Segments)
	}
	if first == last {
		return doneFence{}, nil
	}
	a.b.unsubmitted, a.submitted = false, true
	from := a.profiler.now()
	f, err := a.x.Submit(first, last)
	if err != nil {
		return nil, err
	}
	if last == a.x.Segments() {
		a.o.exported.submitted(a.x, a.b)
	}
	return a.profiler.submitted(from, f), nil
}

// observe notes what segments took.
func (a *execution) observe(first, last int, took time.Duration) {
	a.used += took
	if a.o.profiling == everyStep {
		return
	}
	if a.part == nil && a.x.Segments() == len(a.job.Segments) && !a.on().TimedByDevice.Load() {
		a.form.Est.ObserveRange(first, last, took)
	}
}

// doneFence is that of no work.
type doneFence struct{}

func (doneFence) Wait(context.Context) error { return nil }

func total(list []time.Duration) (sum time.Duration) {
	for _, d := range list {
		sum += d
	}
	return sum
}
