package qos

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
)

const (
	// beginAhead is how many jobs more than there are places on the device may be inside Begin.
	beginAhead = 8
	// beginPatience is how long a job inside Begin counts as at work. After it, it counts as blocked.
	beginPatience = 2 * time.Millisecond
)

// oneMayBegin reports whether another job may begin. A long queue must not take all arenas while the first ones are
// still at it; but some may block in Begin for long, when all arenas of their model are taken, and must not keep
// out those of other models.
//
// Preconditions: s.mu held.
func (s *Scheduler) oneMayBegin(now time.Duration) bool {
	if s.beginning <= s.slots || s.beginning >= s.slots+beginAhead {
		return s.beginning <= s.slots
	}
	atWork := 0
	for _, c := range s.active {
		for _, r := range c.runs {
			if r.state == mayBegin && now-r.told < beginPatience {
				atWork++
			}
		}
	}
	return atWork <= s.slots
}

// dispatch fills the free places on the device and lets those begin who are next. It is called whenever a place
// or the order may have changed, and is cheap when there is nothing to do.
//
// Preconditions: s.mu held.
func (s *Scheduler) dispatch(now time.Duration) {
	for s.inFlight < s.slots {
		r := s.choose(now, (*run).ready)
		if r == nil {
			break
		}
		s.grant(r, now)
	}
	// Whoever would be next if it had begun begins.
	for s.oneMayBegin(now) {
		r := s.choose(now, (*run).eligible)
		if r == nil || r.state == begun {
			break
		}
		r.state, r.told = mayBegin, now
		s.beginning++
		r.notify()
	}
}

// ready reports whether r may be granted a place.
func (r *run) ready() bool {
	return r.state == begun && r.err == nil && r.granted < len(r.job.Segments)
}

// eligible reports whether r is to be counted when it is decided who begins.
func (r *run) eligible() bool { return r.state == unbegun && r.err == nil || r.ready() }

// choose returns the first in the order of choice among those that may, or nil.
//
// Preconditions: s.mu held.
func (s *Scheduler) choose(now time.Duration, may func(*run) bool) *run {
	var best *run
	for _, c := range s.active {
		if best != nil && !s.noPreempt && c.virtual > best.c.virtual {
			continue
		}
		for _, r := range c.runs {
			if may(r) && (best == nil || s.before(r, best, now)) {
				best = r
			}
		}
	}
	if best == nil || s.noPreempt {
		return best
	}
	return s.rescue(best, now, may)
}

// before is the order of choice.
func (s *Scheduler) before(a, b *run, now time.Duration) bool {
	if s.noPreempt {
		return a.arrival < b.arrival
	}
	if a.c != b.c && a.c.virtual != b.c.virtual {
		return a.c.virtual < b.c.virtual
	}
	return s.compare(a, b, now) < 0
}

// compare orders jobs of one client.
func (s *Scheduler) compare(a, b *run, now time.Duration) int {
	return cmp.Or(
		cmp.Compare(s.levelOf(b, now), s.levelOf(a, now)),
		cmp.Compare(a.deadline, b.deadline),
		cmp.Compare(a.arrival, b.arrival))
}

// levelOf is the priority with ageing.
func (s *Scheduler) levelOf(r *run, now time.Duration) int {
	if s.ageing < 0 {
		return r.level
	}
	return r.level + int((now-r.since)/s.ageing)
}

// grant gives r a place on the device for its next segment, or for all its segments.
//
// Preconditions: s.mu held, r is ready, s.inFlight < s.slots.
func (s *Scheduler) grant(r *run, now time.Duration) {
	n := len(r.job.Segments)
	last := r.granted + 1
	if s.goesWhole(r, now) {
		r.whole, last = r.granted, n
	}
	s.inFlight++
	s.vclock = max(s.vclock, s.leastVirtual())
	s.charge(r.c, r.estimate(r.granted, last))
	if last == n {
		r.rest = 0
	} else {
		r.rest -= r.estimate(r.granted, last)
	}
	r.granted = last
	r.since = now
	if r.waiting {
		r.waiting = false
		r.c.waiting--
	}
	if p := s.last; p != nil && p != r && p.ready() {
		p.report.Preemptions++
		s.stats.Preemptions++
	}
	s.last = r
	r.notify()
}

// goesWhole reports whether the rest of r goes in one submission. Work that is alone on the device and urgent
// does, unless its deadline is so near that it may have to be given up on the way.
func (s *Scheduler) goesWhole(r *run, now time.Duration) bool {
	if s.noPreempt {
		return true
	}
	return r.level >= int(nn.PriorityHigh) && s.jobs == 1 && r.rest <= (r.deadline-now)/2
}

// leastVirtual is the least virtual time of the clients that have jobs.
//
// Preconditions: s.mu held, there are jobs.
func (s *Scheduler) leastVirtual() float64 {
	least := math.Inf(1)
	for _, c := range s.active {
		least = min(least, c.virtual)
	}
	return least
}

// charge adds device time to what c used.
func (s *Scheduler) charge(c *Client, d time.Duration) {
	c.used += d
	s.stats.DeviceTime += d
	c.virtual += float64(d) / c.share
}

// giveBack returns the places that r was granted and has not used.
//
// Preconditions: s.mu held.
func (s *Scheduler) giveBack(r *run) {
	if r.next == r.granted {
		return
	}
	single := min(r.granted, max(r.whole, r.next)) - r.next
	s.inFlight -= single
	if r.granted > r.next+single {
		s.inFlight--
	}
	left := r.estimate(r.next, r.granted)
	s.charge(r.c, -left)
	r.rest += left
	r.granted = r.next
}

// land notes that sub, of r, was seen to be done, and frees its place.
//
// The device runs submissions in order, so what was before sub is done as well, even if its own goroutine has
// not seen it yet: the time is then divided by the estimates.
//
// Preconditions: s.mu held.
func (s *Scheduler) land(r *run, sub *submission) {
	now := s.now()
	s.inFlight--
	r.since = now
	if !sub.landed {
		i := slices.Index(s.flight, sub)
		done := s.flight[:i+1]
		var sum time.Duration
		for _, f := range done {
			sum += f.estimate
		}
		total := now - max(s.lastEnd, done[0].at)
		gap := max(done[0].at-max(s.lastEnd, r.came), 0)
		for _, f := range done {
			f.landed = true
			f.gap, gap = gap, 0
			f.took = total / time.Duration(len(done))
			if sum > 0 {
				f.took = time.Duration(float64(total) * (float64(f.estimate) / float64(sum)))
			}
		}
		s.lastEnd = now
		s.flight = slices.Delete(s.flight, 0, i+1)
	}
	r.used += sub.took
	s.pace.add(sub.took, sub.estimate, sub.gap)
	s.charge(r.c, sub.took-sub.estimate)
}

// withdraw takes back sub, of r, which the device did not accept.
//
// Preconditions: s.mu held.
func (s *Scheduler) withdraw(r *run, sub *submission) {
	s.inFlight--
	s.charge(r.c, -sub.estimate)
	if i := slices.Index(s.flight, sub); i >= 0 {
		s.flight = slices.Delete(s.flight, i, i+1)
	}
}

// backlog is the estimate of what is on the device and not done.
//
// Preconditions: s.mu held.
func (s *Scheduler) backlog(now time.Duration) time.Duration {
	var sum time.Duration
	for i, f := range s.flight {
		left := f.estimate
		if i == 0 {
			left = max(0, left-(now-max(s.lastEnd, f.at)))
		}
		sum = min(sum+left, never)
	}
	return sum
}
