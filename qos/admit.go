package qos

import (
	"cmp"
	"slices"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
)

// forecastGrain bounds how finely the turns of several clients are foreseen: never finer than by segments, nor by less
// than this part of the time until then. What is near must be right, and what is far may take few steps.
const forecastGrain = 64

// forecast is the memory of predict, kept between calls.
type forecast struct {
	queues []queue
	jobs   []planned
	with   []outcome
	before []outcome
}

// queue is a client in a forecast.
type queue struct {
	c       *Client
	virtual float64
	jobs    []planned // in the order in which they will go
}

// planned is a job in a forecast.
type planned struct {
	r    *run
	next int
	rest time.Duration
}

// outcome is what a forecast says of a job with a deadline.
type outcome struct {
	r      *run
	end    time.Duration // never where it would be given up
	atRisk bool          // it may well end after its deadline
}

// admit is the admission test of r, which was not entered. It sets r.arrival.
//
// A job without a deadline is always admitted, and nothing else is looked at then.
//
// Preconditions: s.mu held.
func (s *Scheduler) admit(r *run) error {
	if r.deadline == never && !r.overdue {
		return nil
	}
	left := max(r.deadline-r.came, 0)
	if fastest := clampEstimate(r.job.Fastest); r.overdue || left < fastest {
		return nn.Errorf(nn.StatusMissedDeadlinePersistent, "scheduling",
			"it never took less than %v and %v are left: %w", fastest, left, ErrRefused)
	}
	if r.rest > left {
		if r.report.Probe = r.mayProbe(); !r.report.Probe {
			return nn.Errorf(nn.StatusMissedDeadlineTransient, "scheduling", "it takes %v and %v are left: %w", r.rest, left, ErrRefused)
		}
	}
	if s.jobs == 0 {
		return nil
	}
	f := &s.forecast
	defer f.forget()
	now := r.came
	r.arrival = s.arrivals + 1
	f.with = s.predict(f.with[:0], r, now)
	others := false
	for _, o := range f.with {
		if !o.atRisk || o.r.report.Probe {
			continue
		}
		if o.r == r {
			return nn.Errorf(nn.StatusMissedDeadlineTransient, "scheduling",
				"it takes %v, %v are left, and others go before: %w", r.rest, r.deadline-now, ErrRefused)
		}
		others = others || !s.yields(o.r, r, now)
	}
	if !others {
		return nil
	}
	f.before = s.predict(f.before[:0], nil, now)
	for _, o := range f.with {
		if !o.atRisk || o.r.report.Probe || s.yields(o.r, r, now) {
			continue
		}
		i := slices.IndexFunc(f.before, func(b outcome) bool { return b.r == o.r })
		if i >= 0 && f.before[i].end < o.end {
			return nn.Errorf(nn.StatusMissedDeadlineTransient, "scheduling",
				"another execution that was admitted would be late: %w", ErrRefused)
		}
	}
	return nil
}

// mayProbe reports whether r, which will be late by its estimates, is to be let through for a probe; else it counts as
// refused by them.
//
// Preconditions: s.mu held.
func (r *run) mayProbe() bool {
	g := r.job.Group
	if g == nil || !r.job.Probe {
		return false
	}
	now := r.c.s.epoch.Add(r.came)
	if g.doubt.due(now) {
		return true
	}
	g.doubt.refused(now)
	return false
}

// yields reports whether r is entitled to push o back: priorities order the jobs of one client, so only there.
func (s *Scheduler) yields(o, r *run, now time.Duration) bool {
	return o.c == r.c && s.levelOf(o, now) < r.level
}

// forget lets go of the jobs, keeping the room.
func (f *forecast) forget() {
	clear(f.queues[:cap(f.queues)])
	clear(f.jobs[:cap(f.jobs)])
	clear(f.with[:cap(f.with)])
	clear(f.before[:cap(f.before)])
}

// predict plays the order of choice with what is there, and extra if not nil, by the estimates and the pace, and
// appends what becomes of those with a deadline.
//
// It takes the order within each client as it is now: jobs that age on the way are not foreseen, nor
// what comes later, nor what rescue does then.
//
// Preconditions: s.mu held.
func (s *Scheduler) predict(out []outcome, extra *run, now time.Duration) []outcome {
	f := &s.forecast
	at, deadlines := s.lineUp(extra, now)
	for deadlines > 0 {
		i := s.turn(f.queues, now)
		q := &f.queues[i]
		p := &q.jobs[0]
		took := s.pace.expect(p.rest, len(p.r.job.Segments)-p.next)
		lost := p.r != extra && !p.r.report.Probe && p.r.deadline < never && at+took > p.r.deadline+p.r.tolerance(p.rest)
		finished := true
		switch {
		case lost:
			out = append(out, outcome{r: p.r, end: never, atRisk: true})
		case len(f.queues) > 1:
			took = s.pace.expect(p.advance((at - now) / forecastGrain))
			finished = p.next == len(p.r.job.Segments)
			fallthrough
		default:
			at = min(at+took, never)
			q.virtual += float64(took) / q.c.share
			if finished && p.r.deadline < never {
				out = append(out, outcome{r: p.r, end: at, atRisk: at+s.pace.reserve(at-now) > p.r.deadline})
			}
		}
		if !finished {
			continue
		}
		if p.r.deadline < never {
			deadlines--
		}
		q.jobs = q.jobs[1:]
		if len(q.jobs) == 0 {
			f.queues = slices.Delete(f.queues, i, i+1)
		}
	}
	return out
}

// lineUp fills s.forecast.queues with what is there, and extra if not nil, in the order of choice. It returns when the
// device will be done with what it was granted, and how many jobs have deadlines.
//
// Preconditions: s.mu held.
func (s *Scheduler) lineUp(extra *run, now time.Duration) (at time.Duration, deadlines int) {
	f := &s.forecast
	f.queues, f.jobs = f.queues[:0], f.jobs[:0]
	at = now + s.backlog(now)
	plan := func(r *run) {
		at = min(at+s.pace.expect(r.estimate(r.next, r.granted), r.granted-r.next), never)
		if r.err != nil || r.granted == len(r.job.Segments) {
			return
		}
		f.jobs = append(f.jobs, planned{r: r, next: r.granted, rest: r.rest})
		if r.deadline < never {
			deadlines++
		}
	}
	for _, c := range s.active {
		first := len(f.jobs)
		for _, r := range c.runs {
			plan(r)
		}
		if extra != nil && extra.c == c {
			plan(extra)
		}
		virtual := c.virtual
		if !c.wanting() {
			virtual = max(virtual, s.vclock)
		}
		f.queues = append(f.queues, queue{c: c, virtual: virtual, jobs: f.jobs[first:]})
	}
	if extra != nil && len(extra.c.runs) == 0 {
		first := len(f.jobs)
		plan(extra)
		f.queues = append(f.queues, queue{c: extra.c, virtual: max(extra.c.virtual, s.vclock), jobs: f.jobs[first:]})
	}
	if s.noPreempt {
		f.queues = append(f.queues[:0], queue{c: f.queues[0].c, jobs: f.jobs})
	}
	for _, q := range f.queues {
		slices.SortFunc(q.jobs, func(a, b planned) int {
			if s.noPreempt {
				return cmp.Compare(a.r.arrival, b.r.arrival)
			}
			return s.compare(a.r, b.r, now)
		})
	}
	f.queues = slices.DeleteFunc(f.queues, func(q queue) bool { return len(q.jobs) == 0 })
	return at, deadlines
}

// turn is the index of the queue that goes next.
func (s *Scheduler) turn(queues []queue, now time.Duration) int {
	best := 0
	for i := range queues {
		a, b := &queues[i], &queues[best]
		if a.virtual < b.virtual || a.virtual == b.virtual && s.compare(a.jobs[0].r, b.jobs[0].r, now) < 0 {
			best = i
		}
	}
	return best
}

// advance runs one segment, or more until they are estimated to take atLeast, and says how long and how many that is.
func (p *planned) advance(atLeast time.Duration) (took time.Duration, segments int) {
	first, n := p.next, len(p.r.job.Segments)
	for p.next < n && (took == 0 || took < atLeast) {
		took += clampEstimate(p.r.job.Segments[p.next])
		p.next++
	}
	took = min(took, never)
	p.rest = max(p.rest-took, 0)
	return took, p.next - first
}
