package qos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
)

// never is the deadline of a job without one. Times this far away, and sums of times, are cut to it, so that the
// sum of two never overflows.
const never = 100 * 365 * 24 * time.Hour

// run is a Job between its admission and the return of Run.
type run struct {
	c   *Client
	job *Job

	level    int           // the priority
	deadline time.Duration // since the epoch, at most never
	came     time.Duration // since the epoch
	rest     time.Duration // estimate of the segments that were not granted yet, and of what comes later
	overdue  bool          // the deadline had passed when the job came
	segments []time.Duration
	later    time.Duration // part of rest: what comes after segments

	// All below guarded by c.s.mu; job's functions are called by the goroutine inside Run alone.
	arrival   uint64
	since     time.Duration // since when it has gone without the device
	state     state
	told      time.Duration // when it was told to begin
	waiting   bool          // never got the device
	next      int           // the first segment that was not submitted
	granted   int           // segments before it have a place on the device: next <= granted
	total     time.Duration // estimate of all segments
	parts     []part        // of the segments from next to granted, in order
	flight    []*submission // on the device, in order
	used      time.Duration // device time of segments that are done
	report    Report
	err       error
	complete  bool           // More says that nothing comes any more
	faulty    bool           // a fence failed
	panicked  string         // what a function of the job has panicked with, and where; "": none has
	beginning *beginContext  // while in Begin
	inlined   [2]*submission // room for flight
	places    [2]part        // room for parts
	firstSub  submission     // spares an allocation while it is not used
	firstUsed bool

	// What outlives a job, for the next one.
	wake    chan struct{} // has room for one; nil until a goroutine first parks
	context *beginContext // nil until the first Begin
}

// state says how far the job is with Begin.
type state uint8

const (
	unbegun  state = iota // waits until it is next
	mayBegin              // was told to begin, or is in Begin
	begun                 // may have the device
)

// part is a place on the device for the segments before last that have none yet.
type part struct {
	last int
	at   time.Duration // since when
}

// submission is a range of segments on the device.
type submission struct {
	fence       Fence
	first, last int
	estimate    time.Duration
	at          time.Duration // when it was submitted
	took        time.Duration // valid once landed
	gap         time.Duration // likewise: how long the device waited for it
	landed      bool
	lane        int
}

// newRun prepares j without entering it, until recycle. ctxDeadline is zero or another deadline.
//
// Preconditions: s.mu held.
func (s *Scheduler) newRun(c *Client, j *Job, now time.Duration, ctxDeadline time.Time) *run {
	var r *run
	if n := len(s.spare); n > 0 {
		r, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		r = new(run)
	}
	*r = run{
		c: c, job: j, wake: r.wake, context: r.context,
		level: int(j.Priority), deadline: never, came: now, since: now, waiting: true,
	}
	if j.Begin == nil {
		r.state = begun
	}
	r.plan(j.Segments, j.Later)
	r.total = r.rest
	deadline := j.Deadline
	if deadline.IsZero() || !ctxDeadline.IsZero() && ctxDeadline.Before(deadline) {
		deadline = ctxDeadline
	}
	if !deadline.IsZero() {
		// Sub saturates; adding to now would not.
		left := time.Until(deadline)
		r.overdue = left <= 0
		r.deadline = now + min(max(left, -1), never-now)
	}
	r.flight, r.parts = r.inlined[:0], r.places[:0]
	return r
}

// maxSpare is how many runs are kept for jobs to come.
const maxSpare = 16

// recycle ends the use of r, which is in no list.
//
// Preconditions: s.mu held.
func (s *Scheduler) recycle(r *run) {
	if len(s.spare) == maxSpare {
		return
	}
	*r = run{wake: r.wake, context: r.context}
	if r.wake != nil {
		select {
		case <-r.wake:
		default:
		}
	}
	s.spare = append(s.spare, r)
}

func clampEstimate(d time.Duration) time.Duration { return min(max(d, 0), never) }

// estimate is that of segments [first, last).
func (r *run) estimate(first, last int) time.Duration {
	var sum time.Duration
	for _, d := range r.segments[first:last] {
		sum = min(sum+clampEstimate(d), never)
	}
	return sum
}

// drive takes the job through its life. It returns with s.mu unlocked, and panics where a function of the job has.
//
// Preconditions: s.mu held, r entered.
func (r *run) drive(ctx context.Context) (Report, error) {
	s := r.c.s
	for {
		now := s.now()
		if r.err == nil && !r.submitted() {
			r.err = r.verdict(ctx, now)
		}
		if r.err != nil {
			s.giveBack(r)
		}
		if r.mayGoOn() && len(r.flight) == 0 {
			r.goOn(ctx)
			continue
		}
		if (r.err != nil || r.submitted()) && len(r.flight) == 0 {
			s.leave(r)
			s.dispatch(now)
			if r.count(now); r.report.Submissions == 0 {
				r.report.Queued = now - r.came
			}
			report, panicked, err := r.report, r.panicked, r.err
			s.recycle(r)
			s.mu.Unlock()
			if panicked != "" {
				panic(panicked)
			}
			return report, err
		}
		s.dispatch(now)
		switch {
		case r.err == nil && r.next < r.granted:
			r.submit(now)
		case len(r.flight) > 0:
			r.land()
		case r.state == mayBegin:
			r.begin(ctx)
		default:
			r.park(ctx, now)
		}
	}
}

// verdict says why the job must end now, or nil.
//
// Preconditions: s.mu held.
func (r *run) verdict(ctx context.Context, now time.Duration) error {
	err := ctx.Err()
	expired := errors.Is(err, context.DeadlineExceeded)
	if err != nil && !expired {
		return err
	}
	if r.c.closed {
		return closedError()
	}
	s := r.c.s
	rest := min(r.rest+r.estimate(r.next, r.granted), never)
	at := now
	if !r.report.Trial { // nor does a trial believe the estimate of its own segment
		at += s.backlog(now)
	}
	if !expired && (r.deadline == never || at <= r.lostWith(rest)) {
		return nil
	}
	return nn.Errorf(nn.StatusMissedDeadlineTransient, "scheduling", "given up at segment %d of %d, whose rest would take %v: %w",
		r.next, len(r.segments), rest, ErrDeadline)
}

// tolerance is by how much the rest of a running job may seem to be late before it is given up. The estimates are
// high quantiles, so a sum of many overstates; towards the end nothing is left that could make up for it.
func (r *run) tolerance(rest time.Duration) time.Duration {
	n := len(r.segments)
	if n == 0 {
		return 0
	}
	return min(rest/8, clampEstimate(r.segments[n-1])/2)
}

// count adds the end of r to the statistics.
//
// Preconditions: s.mu held.
func (r *run) count(now time.Duration) {
	s := r.c.s
	if g := r.job.Group; g != nil && (r.err == nil || r.report.Trial) {
		g.doubt.measured()
	}
	late := &s.stats.Missed
	if r.report.Trial {
		late = &s.stats.LateTrials
	}
	switch status := nn.StatusOf(r.err); {
	case status == nn.StatusMissedDeadlineTransient || status == nn.StatusMissedDeadlinePersistent:
		*late++
	case r.err == nil:
		s.stats.Completed++
		if now > r.deadline {
			*late++
		}
	}
}

// submit hands over what was granted. It unlocks meanwhile.
//
// Preconditions: s.mu held, r.next < r.granted.
func (r *run) submit(now time.Duration) {
	s := r.c.s
	first, last := r.next, r.parts[0].last
	if len(s.flight) == 0 {
		r.c.pay(now - max(r.parts[0].at, slices.Max(s.lastEnd[:]))) // the device waited
	}
	r.parts = append(r.parts[:0], r.parts[1:]...)
	sub := &r.firstSub
	if r.firstUsed {
		sub = new(submission)
	}
	r.firstUsed = true
	*sub = submission{first: first, last: last, estimate: r.estimate(first, last), at: now, lane: min(max(r.job.Lane, 0), lanes-1)}
	r.next = last
	s.flight = append(s.flight, sub)
	r.flight = append(r.flight, sub)
	s.version++
	if r.report.Submissions == 0 {
		r.report.Queued = now - r.came
	}
	r.report.Submissions++
	s.stats.Submissions++
	s.mu.Unlock()
	var fence Fence
	err := r.call(func() (err error) {
		fence, err = r.job.Submit(first, last)
		return err
	})
	s.mu.Lock()
	if err != nil {
		r.err = err
		r.flight = r.flight[:len(r.flight)-1]
		s.withdraw(r, sub)
		return
	}
	sub.fence = fence
}

// land waits for the oldest submission of r. It unlocks meanwhile.
//
// Preconditions: s.mu held, r.flight not empty.
func (r *run) land() {
	s := r.c.s
	sub := r.flight[0]
	s.mu.Unlock()
	err := r.call(func() error { return sub.fence.Wait(context.Background()) })
	s.mu.Lock()
	s.land(r, sub)
	r.flight = append(r.flight[:0], r.flight[1:]...)
	done := *sub
	r.firstUsed = r.firstUsed && sub != &r.firstSub
	if err != nil {
		r.faulty = true
		if r.err == nil {
			r.err = err
		}
	}
	if r.job.Observe != nil && !r.faulty {
		// The place is free, and nobody waits for the callback. A job that may go on keeps its place until it has said what
		// comes next: otherwise less urgent work would get in between any two iterations of a loop.
		if !r.mayGoOn() {
			s.dispatch(s.now())
		}
		s.mu.Unlock()
		err := r.call(func() error {
			r.job.Observe(done.first, done.last, done.took)
			return nil
		})
		s.mu.Lock()
		r.err = cmp.Or(r.err, err)
	}
}

// errPanicked ends a job one of whose functions has panicked.
var errPanicked = errors.New("a function of the job has panicked")

// call calls a function of the job. One that panics ends the job like one that fails; Run panics in the end, when nothing
// of the job is on the device or in the scheduler any more.
func (r *run) call(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.panicked, err = fmt.Sprintf("%v\n\n%s", p, debug.Stack()), errPanicked
		}
	}()
	return f()
}

// begin calls the job's Begin. It unlocks meanwhile.
//
// Preconditions: s.mu held, r.state is mayBegin.
func (r *run) begin(ctx context.Context) {
	s := r.c.s
	var deadline time.Time
	if at, ok := ctx.Deadline(); r.deadline < never && (!ok || at.After(s.epoch.Add(r.lost()))) {
		deadline = s.epoch.Add(r.lost())
	}
	if r.context == nil || r.context.isMade() {
		r.context = &beginContext{}
	}
	x := r.context
	x.start(ctx, deadline)
	r.beginning = x
	s.mu.Unlock()
	err := r.call(func() error { return r.job.Begin(x) })
	expired := errors.Is(x.Err(), context.DeadlineExceeded)
	x.stop()
	s.mu.Lock()
	r.beginning = nil
	s.endBegin(r)
	s.join(r.c)
	r.state = begun
	switch {
	case err == nil || r.err != nil:
	case r.c.closed:
		r.err = closedError()
	case expired:
		r.err = nn.Errorf(nn.StatusMissedDeadlineTransient, "scheduling", "given up before it began: %w", ErrDeadline)
	default:
		r.err = err
	}
}

// park waits until r is told to go on, its deadline cannot be met any more, or ctx is done.
//
// Preconditions: s.mu held, nothing of r is on the device.
func (r *run) park(ctx context.Context, now time.Duration) {
	s := r.c.s
	if r.wake == nil {
		r.wake = make(chan struct{}, 1)
	}
	wake := r.wake
	var late <-chan time.Time
	if r.deadline < never {
		t := time.NewTimer(r.lost() - now + 1)
		defer t.Stop()
		late = t.C
	}
	s.mu.Unlock()
	select {
	case <-wake:
	case <-ctx.Done():
	case <-late:
	}
	s.mu.Lock()
}

// lost is when the rest of r, which has nothing on the device, can no longer be done in time.
//
// Preconditions: s.mu held.
func (r *run) lost() time.Duration { return r.lostWith(r.rest) }

// lostWith is when work of r that is estimated to take rest can no longer be done in time. The estimates of a trial are
// what it tests, so that for it only the deadline counts.
//
// Preconditions: s.mu held.
func (r *run) lostWith(rest time.Duration) time.Duration {
	if r.report.Trial {
		return r.deadline
	}
	return r.deadline + r.tolerance(rest) - r.c.s.pace.atBest(rest, len(r.segments)-r.next)
}

// stop makes the goroutine of r look again if it is parked or in Begin.
//
// Preconditions: s.mu held.
func (r *run) stop() {
	r.notify()
	if r.beginning != nil {
		r.beginning.stop()
	}
}

// notify makes the goroutine of r look again if it is parked.
//
// Preconditions: s.mu held.
func (r *run) notify() {
	if r.wake != nil {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}
