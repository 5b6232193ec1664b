package qos

import (
	"slices"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
)

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
		if r.report.Trial = r.mayTry(); !r.report.Trial {
			return nn.Errorf(nn.StatusMissedDeadlineTransient, "scheduling", "it takes %v and %v are left: %w", r.rest, left, ErrRefused)
		}
	}
	if s.jobs == 0 {
		return nil
	}
	f := &s.forecast
	defer func() { clear(f.with); clear(f.before) }()
	now := r.came
	r.arrival = s.arrivals + 1
	if !r.report.Trial && s.soonest(r, now) > r.deadline {
		return s.inTheWay(r)
	}
	f.with = s.predict(f.with[:0], r, now)
	others := false
	for _, o := range f.with {
		if !o.atRisk || o.r.report.Trial {
			continue
		}
		if o.r == r {
			return s.inTheWay(r)
		}
		others = others || !s.yields(o.r, r, now)
	}
	if !others {
		return nil
	}
	f.before = s.predict(f.before[:0], nil, now)
	for _, o := range f.with {
		if !o.atRisk || o.r.report.Trial || s.yields(o.r, r, now) {
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

func (s *Scheduler) inTheWay(r *run) error {
	return nn.Errorf(nn.StatusMissedDeadlineTransient, "scheduling",
		"it takes %v, %v are left, and others go before: %w", r.rest, r.deadline-r.came, ErrRefused)
}

// soonest is a lower bound of when r, which was not entered, will be done by the forecast: it counts what the device was
// granted and those of its own client that go before it and are never given up, and costs much less where many clients wait.
//
// Preconditions: s.mu held.
func (s *Scheduler) soonest(r *run, now time.Duration) time.Duration {
	work, segments := r.rest, len(r.segments)
	for _, o := range r.c.runs {
		if !s.noPreempt && o.deadline == never && o.ahead() && s.compare(o, r, now) < 0 {
			work, segments = min(work+o.rest, never), segments+len(o.segments)-o.granted
		}
	}
	took := s.pace.expect(work, segments)
	return min(now+s.backlog(now)+took+s.pace.reserve(took), never)
}

// mayTry reports whether r, which will be late by its estimates, is to be let through for a trial; else it counts as
// refused by them.
//
// Preconditions: s.mu held.
func (r *run) mayTry() bool {
	g := r.job.Group
	if g == nil || !r.job.Trial {
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
