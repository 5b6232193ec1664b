package qos

import (
	"slices"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
)

// forecastSteps bounds how finely the turns of several clients are foreseen: never finer than by segments, nor
// by less than this part of all that waits.
const forecastSteps = 256

// forecast is the memory of predict, kept between calls.
type forecast struct {
	queues []queue
	jobs   []planned
	late   []*run
	before []*run
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

// admit is the admission test of r, which was not entered. It sets r.arrival.
//
// A job without a deadline is always admitted, and nothing else is looked at then.
//
// Preconditions: s.mu held.
func (s *Scheduler) admit(r *run) error {
	if r.deadline == never && !r.overdue {
		return nil
	}
	if r.overdue || r.came+r.rest > r.deadline {
		return nn.Errorf(nn.StatusMissedDeadlinePersistent, "scheduling",
			"it takes %v and %v are left: %w", r.rest, r.deadline-r.came, ErrRefused)
	}
	if s.jobs == 0 {
		return nil
	}
	defer s.forecast.forget()
	now := r.came
	r.arrival = s.arrivals + 1
	s.forecast.late = s.predict(s.forecast.late[:0], r, now)
	late := s.forecast.late
	if slices.Contains(late, r) {
		return nn.Errorf(nn.StatusMissedDeadlineTransient, "scheduling",
			"it takes %v, %v are left, and others go before: %w", r.rest, r.deadline-now, ErrRefused)
	}
	// Priorities order the jobs of one client, so only there is r entitled to push others back.
	late = slices.DeleteFunc(late, func(o *run) bool { return o.c == r.c && s.levelOf(o, now) < r.level })
	if len(late) == 0 {
		return nil
	}
	s.forecast.before = s.predict(s.forecast.before[:0], nil, now)
	for _, o := range late {
		if !slices.Contains(s.forecast.before, o) {
			return nn.Errorf(nn.StatusMissedDeadlineTransient, "scheduling",
				"another execution that was admitted would be late: %w", ErrRefused)
		}
	}
	return nil
}

// forget lets go of the jobs, keeping the room.
func (f *forecast) forget() {
	clear(f.queues[:cap(f.queues)])
	clear(f.jobs[:cap(f.jobs)])
	clear(f.late[:cap(f.late)])
	clear(f.before[:cap(f.before)])
}

// predict plays the order of choice with what is there, and extra if not nil, by the estimates, and appends to late
// those that would be given up. Estimates are high quantiles, so their sums overstate: what goes before extra is
// taken to need as much less as work lately did, extra itself is not.
//
// It takes the order within each client as it is now: jobs that age on the way
// are not foreseen, nor those that come later.
//
// Preconditions: s.mu held.
func (s *Scheduler) predict(late []*run, extra *run, now time.Duration) []*run {
	f := &s.forecast
	at := now + s.backlog(now)
	f.queues, f.jobs = f.queues[:0], f.jobs[:0]
	accuracy := s.accuracy.ratio()
	deadlines, total := 0, time.Duration(0)
	plan := func(r *run) {
		at += r.estimate(r.next, r.granted)
		if r.err != nil || r.granted == len(r.job.Segments) {
			return
		}
		f.jobs = append(f.jobs, planned{r: r, next: r.granted, rest: r.rest})
		total = min(total+r.rest, never)
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
		f.queues = append(f.queues, queue{c: c, virtual: c.virtual, jobs: f.jobs[first:]})
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
				return int(a.r.arrival) - int(b.r.arrival)
			}
			return s.compare(a.r, b.r, now)
		})
	}
	f.queues = slices.DeleteFunc(f.queues, func(q queue) bool { return len(q.jobs) == 0 })
	for deadlines > 0 {
		i := s.turn(f.queues, now)
		q := &f.queues[i]
		p := &q.jobs[0]
		finished := false
		if p.r.deadline < never && at+p.rest > p.r.deadline+s.leniency(p, extra) {
			late = append(late, p.r)
			finished = true
		} else {
			took := p.advance(len(f.queues) == 1, total/forecastSteps)
			if p.r != extra {
				took = time.Duration(float64(took) * accuracy)
			}
			at = min(at+took, never)
			q.virtual += float64(took) / q.c.share
			finished = p.next == len(p.r.job.Segments)
		}
		if finished {
			if p.r.deadline < never {
				deadlines--
			}
			q.jobs = q.jobs[1:]
			if len(q.jobs) == 0 {
				f.queues = slices.Delete(f.queues, i, i+1)
			}
		}
	}
	return late
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

// leniency is the tolerance of admitted jobs. The one that asks has none.
func (s *Scheduler) leniency(p *planned, extra *run) time.Duration {
	if p.r == extra {
		return 0
	}
	return p.r.tolerance(p.rest)
}

// advance runs one segment, or more until they take atLeast, or all, and says how long they take.
func (p *planned) advance(all bool, atLeast time.Duration) time.Duration {
	n := len(p.r.job.Segments)
	if all {
		p.next = n
		return p.rest
	}
	var took time.Duration
	for p.next < n && (took == 0 || took < atLeast) {
		took += clampEstimate(p.r.job.Segments[p.next])
		p.next++
	}
	took = min(took, never)
	p.rest = max(p.rest-took, 0)
	return took
}

// accuracy compares what work took with its estimates.
type accuracy struct{ took, estimated time.Duration }

const (
	// accuracyWindow is the device time over which accuracy looks back, by halving.
	accuracyWindow = 2 * time.Second
	// leastAccuracy bounds what one stretch of luck can promise.
	leastAccuracy = 0.75
	// accuracyReserve is the part of what estimates overstate that is not given away. With segments that vary by
	// a tenth, three times overloaded, none of it makes up to 2 % of the admitted late, and a quarter of it
	// refuses up to 6 % of all for nothing.
	accuracyReserve = 0.1
)

func (a *accuracy) add(took, estimated time.Duration) {
	a.took, a.estimated = min(a.took+took, never), min(a.estimated+estimated, never)
	if a.estimated > accuracyWindow {
		a.took, a.estimated = a.took/2, a.estimated/2
	}
}

// ratio is what to multiply estimates of much work with: at most 1, because what took longer than estimated
// may have been an exception, which Estimator is there to judge.
func (a *accuracy) ratio() float64 {
	if a.estimated <= 0 {
		return 1
	}
	r := min(max(float64(a.took)/float64(a.estimated), leastAccuracy), 1)
	return r + (1-r)*accuracyReserve
}
