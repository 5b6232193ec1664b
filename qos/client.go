package qos

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
)

// Bounds of a share. Beside a client of the greatest share one of the least waits 16 times as long as among equals.
const (
	MinShare = 0.25
	MaxShare = 4.0
)

// Client is one user of the device: its jobs compete by priority among themselves, and together with those of other
// clients for a share of device time. Safe for concurrent use.
type Client struct {
	s     *Scheduler
	name  string
	share float64

	// All below guarded by s.mu.
	runs    []*run // from admission to the return of Run, in order of arrival
	waiting int    // of runs: those that never got the device
	begins  []*run // of runs: those inside Begin, in the order in which they were told to
	virtual float64
	used    time.Duration
	pending time.Duration // of used: the estimates of what is on the device or has a place there
	closed  bool
}

// NewClient adds a client. share is its relative weight against other clients, 1 being normal; INVALID_ARGUMENT
// outside MinShare and MaxShare. name is for Stats. Close it in the end.
func (s *Scheduler) NewClient(name string, share float64) (*Client, error) {
	if !(share >= MinShare && share <= MaxShare) {
		return nil, nn.Invalid("client", "its share of %v is not within %v and %v", share, MinShare, MaxShare)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &Client{s: s, name: name, share: share, virtual: s.departed}
	s.clients = append(s.clients, c)
	return c, nil
}

// Close ends the waiting jobs of the client with ErrClosed, and the running ones at their next segment, and
// refuses new ones. It does not wait: each Run returns when nothing of its job is on the device. Idempotent.
func (c *Client) Close() {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	for _, r := range c.runs {
		r.stop()
	}
	s.forget(c)
}

// forget drops a closed client once it has no jobs. What it had the next new client inherits: who closes one and makes
// another gains nothing.
//
// Preconditions: s.mu held.
func (s *Scheduler) forget(c *Client) {
	if !c.closed || len(c.runs) > 0 {
		return
	}
	s.departed = max(s.departed, c.virtual)
	s.clients = without(s.clients, c)
}

// Admit is the admission test alone: it returns the error with which Run would refuse j at this moment, or
// nil. It reserves nothing, and does not look at whether there is room in the queue. A nil job is INVALID_ARGUMENT.
func (c *Client) Admit(j *Job) error {
	return c.ask(j, func(r *run) error {
		err := c.s.admit(r)
		if err != nil {
			c.s.stats.Refused++
		}
		return err
	})
}

// CanMeet returns the error with which Run would refuse j at this moment, also for want of room in the queue, or nil. It
// reserves nothing, queues nothing, and does not count as a refusal in Stats. A nil job is INVALID_ARGUMENT.
func (c *Client) CanMeet(j *Job) error {
	return c.ask(j, func(r *run) error {
		err := c.s.admit(r)
		if err == nil {
			_, err = c.room(r)
		}
		return err
	})
}

// Forecast says when j would end if Run were called at this moment and did not refuse it, whatever comes later: the least
// deadline that could be promised to it, with the reserve that admission keeps. Its own deadline only says who goes before
// it. It reserves nothing and counts as nothing in Stats. Errors: INVALID_ARGUMENT for a nil job; ErrClosed.
func (c *Client) Forecast(j *Job) (end time.Time, err error) {
	err = c.ask(j, func(r *run) error {
		end = c.s.epoch.Add(c.s.completion(r))
		return nil
	})
	return end, err
}

// ask calls f, with c.s.mu held, with j as a run that was not entered.
func (c *Client) ask(j *Job, f func(*run) error) error {
	if err := nn.NotNil("job", j); err != nil {
		return err
	}
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.closed {
		return closedError()
	}
	r := s.newRun(c, j, s.now(), time.Time{})
	defer s.recycle(r)
	return f(r)
}

// Run takes j through the device and blocks until its work is done, given up or refused. When it returns, or panics
// because a function of j does, nothing of j is on the device any more.
//
// The nearer of j.Deadline and the deadline of ctx counts. Errors:
//
//   - MISSED_DEADLINE_PERSISTENT: refused before any work, because the deadline has passed or is nearer than
//     j.Fastest.
//   - MISSED_DEADLINE_TRANSIENT: refused before any work, because by the estimates it would end late behind what is
//     running and queued, or make an admitted job of its level or above late; or given up at a border of
//     segments.
//   - RESOURCE_EXHAUSTED_TRANSIENT: too many jobs of the client wait; or the job waited and was dropped for one of a
//     higher priority.
//   - ErrClosed, as GENERAL_FAILURE: the client was closed.
//   - the error of ctx when it was cancelled, at once while the job waits, at the next border when it runs.
//   - the first error of Begin, Submit or a fence.
//   - INVALID_ARGUMENT without a context or a job, or where the job has segments and no Submit.
//
// A job whose last segment is on the device is no longer given up, so one that ends late ends without error: a
// deadline is a hint.
func (c *Client) Run(ctx context.Context, j *Job) (Report, error) {
	if err := cmp.Or(nn.NotNil("context", ctx), nn.NotNil("job", j)); err != nil {
		return Report{}, err
	}
	s := c.s
	deadline, ok := ctx.Deadline()
	if err := ctx.Err(); err != nil && (!ok || !errors.Is(err, context.DeadlineExceeded)) {
		return Report{}, err
	}
	s.mu.Lock()
	r := s.newRun(c, j, s.now(), deadline)
	if err := s.enter(r); err != nil {
		s.recycle(r)
		s.mu.Unlock()
		return Report{}, err
	}
	return r.drive(ctx) // unlocks
}

// enter admits r and queues it.
//
// Preconditions: s.mu held.
func (s *Scheduler) enter(r *run) error {
	c := r.c
	if c.closed {
		return closedError()
	}
	err := s.admit(r)
	if err == nil && r.job.Submit == nil && len(r.segments) > 0 {
		err = nn.Invalid("scheduling", "there is nothing to submit %d segments with", len(r.segments))
	}
	var less *run
	if err == nil {
		less, err = c.room(r)
	}
	if err != nil {
		s.stats.Refused++
		return err
	}
	if less != nil {
		s.displace(less)
	}
	if r.state == begun {
		s.join(c)
	}
	if len(c.runs) == 0 {
		s.active = append(s.active, c)
	}
	if r.report.Trial {
		r.job.Group.doubt.tried(s.epoch.Add(r.came))
		s.stats.Trials++
	}
	s.arrivals++
	r.arrival = s.arrivals
	c.runs = append(c.runs, r)
	c.waiting++
	s.jobs++
	return nil
}

// room reports whether there is room in the queue of c for r, or, where it is full, who gives its place to r: of the
// lowest priority, which must be below that of r, the last in the order of choice that never got the device.
//
// Preconditions: s.mu held.
func (c *Client) room(r *run) (less *run, err error) {
	if c.waiting < c.s.queueLimit {
		return nil, nil
	}
	for _, o := range c.runs {
		if !o.waiting || o.err != nil || o.level >= r.level {
			continue
		}
		if less == nil || o.level < less.level || o.level == less.level && c.s.compare(less, o, r.came) < 0 {
			less = o
		}
	}
	if less == nil {
		err = nn.Errorf(nn.StatusResourceExhaustedTransient, "scheduling", "%d executions of client %q are waiting", c.waiting, c.name)
	}
	return less, err
}

// displace ends r, which never got the device, for the sake of another.
//
// Preconditions: s.mu held.
func (s *Scheduler) displace(r *run) {
	r.err = nn.Errorf(nn.StatusResourceExhaustedTransient, "scheduling", "one of higher priority took its place among those of client %q that wait", r.c.name)
	r.waiting = false
	r.c.waiting--
	s.version++
	s.stats.Displaced++
	r.stop()
}

// leave takes r out. r has nothing on the device and no grants.
//
// Preconditions: s.mu held.
func (s *Scheduler) leave(r *run) {
	c := r.c
	c.runs = without(c.runs, r)
	s.jobs--
	if r.waiting {
		c.waiting--
	}
	if r.state == mayBegin { // it was told to, and never did
		s.endBegin(r)
	}
	if len(c.runs) == 0 {
		s.active = without(s.active, c)
	}
	if s.last == r {
		s.last = nil
	}
	if s.jobs == 0 {
		s.vclock = max(s.vclock, c.virtual)
		s.forecast.drop()
	}
	for n := s.jobs; n < len(s.idle); n++ {
		if s.idle[n] != nil {
			close(s.idle[n])
			s.idle[n] = nil
		}
	}
	s.forget(c)
}

func closedError() error {
	return nn.Errorf(nn.StatusGeneralFailure, "scheduling", "%w", ErrClosed)
}
