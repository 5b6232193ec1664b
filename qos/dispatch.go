package qos

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
)

const (
	// beginPatience is how long a job inside Begin counts as at work. After it, it counts as blocked.
	beginPatience = 2 * time.Millisecond
	// lanes is how many queues of a device there may be.
	lanes = 2
	// longestWhole is how much work may go in one submission though it has more segments than one.
	longestWhole = 16 * time.Millisecond
)

// dispatch fills the free places on the device and lets those begin who are next. It is called whenever a place
// or the order may have changed, and is cheap when there is nothing to do.
//
// A long queue must not take all arenas while the first jobs are still in Begin: of one client, one job more than there
// are places on the device may be at work there. One that is blocked does not count, so that it keeps nobody out.
//
// Preconditions: s.mu held.
func (s *Scheduler) dispatch(now time.Duration) {
	s.version++
	for s.inFlight < s.slots {
		r := s.choose(now, (*run).ready)
		if r == nil {
			break
		}
		s.grant(r, now)
	}
	// Whoever would be next if it had begun begins.
	next := func() *run { return s.choose(now, func(r *run) bool { return r.eligible(now) }) }
	for r := next(); r != nil && r.state == unbegun; r = next() {
		r.state, r.told = mayBegin, now
		r.c.begins = append(r.c.begins, r)
		if g := r.job.Group; g != nil {
			g.begins = append(g.begins, r)
		}
		r.notify()
	}
	for _, c := range s.active {
		if i := c.lastAtWork(); i >= 0 && !c.begins[i].blocked(now) && len(c.begins) < c.waiting {
			s.lookAgain(c.begins[i].told + beginPatience - now)
		}
	}
}

// lookAgain has dispatch called after a time.
//
// Preconditions: s.mu held.
func (s *Scheduler) lookAgain(after time.Duration) {
	if s.looking {
		return
	}
	s.looking = true
	time.AfterFunc(after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.looking = false
		s.dispatch(s.now())
	})
}

// endBegin notes that r is no longer inside Begin.
//
// Preconditions: s.mu held, r.state is mayBegin.
func (s *Scheduler) endBegin(r *run) {
	r.c.begins = without(r.c.begins, r)
	if g := r.job.Group; g != nil {
		g.begins = without(g.begins, r)
	}
}

// without takes x out of list, if it is there; it changes list.
func without[T comparable](list []T, x T) []T {
	if i := slices.Index(list, x); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// blocked reports whether r has been inside Begin for longer than its own work there takes.
func (r *run) blocked(now time.Duration) bool {
	return r.state == mayBegin && now-r.told >= beginPatience
}

// ready reports whether r may be granted a place.
func (r *run) ready() bool {
	return r.state == begun && r.err == nil && r.granted < len(r.segments)
}

// eligible reports whether r is to be counted when it is decided who begins.
func (r *run) eligible(now time.Duration) bool {
	if r.state != unbegun {
		return r.ready()
	}
	g := r.job.Group
	return r.err == nil && !r.c.busyBeginning(now) && (g == nil || len(g.begins) == 0 || !g.begins[0].blocked(now))
}

// lastAtWork is the index in c.begins of the job that must be blocked before another of c may begin; negative: none need be.
func (c *Client) lastAtWork() int { return len(c.begins) - c.s.slots - 1 }

// busyBeginning reports whether as many jobs of c are at work in Begin as may be.
func (c *Client) busyBeginning(now time.Duration) bool {
	i := c.lastAtWork()
	return i >= 0 && !c.begins[i].blocked(now)
}

// wanting reports whether c wants the device, or has it: whether it has a job that has begun.
func (c *Client) wanting() bool {
	return slices.ContainsFunc(c.runs, func(r *run) bool { return r.state == begun })
}

// join is called before a job of c becomes one that has begun: time in which c had none earns nothing.
//
// Preconditions: s.mu held.
func (s *Scheduler) join(c *Client) {
	if !c.wanting() {
		c.virtual = max(c.virtual, s.vclock)
	}
}

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
	if !s.noPreempt && a.c != b.c && a.c.virtual != b.c.virtual {
		return a.c.virtual < b.c.virtual
	}
	return s.compare(a, b, now) < 0
}

// compare orders jobs of one client; without preemption all.
func (s *Scheduler) compare(a, b *run, now time.Duration) int {
	if s.noPreempt {
		return cmp.Compare(a.arrival, b.arrival)
	}
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

// grant gives r a place on the device for its next segment, or for more.
//
// Preconditions: s.mu held, r is ready, s.inFlight < s.slots.
func (s *Scheduler) grant(r *run, now time.Duration) {
	last := r.granted + s.together(r, now)
	s.inFlight++
	s.vclock = max(s.vclock, s.leastVirtual())
	took := r.estimate(r.granted, last)
	s.book(r.c, took)
	if r.rest -= took; last == len(r.segments) {
		r.rest = r.later
	}
	r.parts = append(r.parts, part{last, now})
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

// together is how many segments of r go in its next submission. Work that is alone on the device and urgent goes in long
// ones, unless its deadline is so near that it may have to be given up on the way.
func (s *Scheduler) together(r *run, now time.Duration) int {
	left := r.segments[r.granted:]
	if s.noPreempt {
		return len(left)
	}
	if r.level < int(nn.PriorityHigh) || s.jobs > 1 || r.rest > (r.deadline-now)/2 {
		return 1
	}
	if r.rest <= longestWhole {
		return len(left)
	}
	n, sum := 1, clampEstimate(left[0])
	for n < len(left) && sum+clampEstimate(left[n]) <= longestWhole {
		sum += clampEstimate(left[n])
		n++
	}
	return n
}

// leastVirtual is the least virtual time of the clients that want the device, by what they really had.
//
// Preconditions: s.mu held, there is one.
func (s *Scheduler) leastVirtual() float64 {
	least := math.Inf(1)
	for _, c := range s.active {
		if v := c.virtual - float64(c.pending)/c.share; v < least && c.wanting() {
			least = v
		}
	}
	return least
}

// book charges c in advance.
func (s *Scheduler) book(c *Client, d time.Duration) {
	c.pending += d
	s.charge(c, d)
}

// charge adds device time to what c used.
func (s *Scheduler) charge(c *Client, d time.Duration) {
	c.used += d
	s.stats.DeviceTime += d
	c.pay(d)
}

// pay counts d against the share of c.
func (c *Client) pay(d time.Duration) { c.virtual += float64(d) / c.share }

// giveBack returns the places that r was granted and has not used.
//
// Preconditions: s.mu held.
func (s *Scheduler) giveBack(r *run) {
	s.inFlight -= len(r.parts)
	r.parts = r.parts[:0]
	left := r.estimate(r.next, r.granted)
	s.book(r.c, -left)
	r.rest += left
	r.granted = r.next
}

// land notes that sub, of r, was seen to be done, and frees its place.
//
// The device runs the submissions of a lane in order, so what was before sub there is done as well, even if its own
// goroutine has not seen it yet: the time is then divided by the estimates.
//
// Preconditions: s.mu held.
func (s *Scheduler) land(r *run, sub *submission) {
	now := s.now()
	s.inFlight--
	r.since = now
	if !sub.landed {
		lane := sub.lane
		i := slices.Index(s.flight, sub)
		done := make([]*submission, 0, 4)
		k := -1
		s.flight = slices.DeleteFunc(s.flight, func(f *submission) bool {
			if k++; k > i || f.lane != lane {
				return false
			}
			done = append(done, f)
			return true
		})
		var sum time.Duration
		for _, f := range done {
			sum += f.estimate
		}
		total := now - max(s.lastEnd[lane], done[0].at)
		gap := max(done[0].at-max(s.lastEnd[lane], r.came), 0)
		for _, f := range done {
			f.landed = true
			f.gap, gap = gap, 0
			f.took = total / time.Duration(len(done))
			if sum > 0 {
				f.took = time.Duration(float64(total) * (float64(f.estimate) / float64(sum)))
			}
		}
		s.lastEnd[lane] = now
	}
	r.used += sub.took
	s.pace.add(sub.took, sub.estimate, sub.gap)
	s.book(r.c, -sub.estimate)
	s.charge(r.c, sub.took)
}

// withdraw takes back sub, of r, which the device did not accept.
//
// Preconditions: s.mu held.
func (s *Scheduler) withdraw(r *run, sub *submission) {
	s.inFlight--
	s.book(r.c, -sub.estimate)
	r.c.pay(s.now() - sub.at)
	s.flight = without(s.flight, sub)
}

// backlog is the estimate of what is on the device and not done.
//
// Preconditions: s.mu held.
func (s *Scheduler) backlog(now time.Duration) time.Duration {
	var sum time.Duration
	var seen [lanes]bool
	for _, f := range s.flight {
		left := f.estimate
		if !seen[f.lane] {
			seen[f.lane] = true
			left = max(0, left-(now-max(s.lastEnd[f.lane], f.at)))
		}
		sum = min(sum+left, never)
	}
	return sum
}
