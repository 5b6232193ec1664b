package qos

import (
	"slices"
	"time"
)

// rescue returns the job that goes in place of best, the first in the order of levels and deadlines: one of a lower
// level of the client that would miss its deadline if it waited any longer, while all those of higher levels have
// deadlines and are expected to meet them behind it. Where there is none it is best. Real-time systems know this as
// slack stealing.
//
// So what was admitted is not lost to later work that is more important and not in a hurry. A job counts as in danger
// while less time is left beyond its need than it takes as a whole: a lower bound, or one that shrinks as it goes on,
// lets more of them miss.
//
// Preconditions: s.mu held.
func (s *Scheduler) rescue(best *run, now time.Duration, may func(*run) bool) *run {
	c := best.c
	if len(c.runs) < 2 || best.deadline == never {
		return best
	}
	share := 0.0
	for _, o := range s.active {
		share += o.share
	}
	at := now + s.backlog(now)
	// end is when work of the client is safely done, at its share of the device.
	end := func(work time.Duration, segments int) time.Duration {
		took := time.Duration(min(float64(s.pace.expect(work, segments))*share/c.share, float64(never)))
		return at + took + s.pace.reserve(took)
	}
	top := s.levelOf(best, now)
	var urgent *run
	for _, r := range c.runs {
		if r.deadline == never || s.levelOf(r, now) >= top || !may(r) {
			continue
		}
		n := len(r.segments) - r.granted
		lost := at+s.pace.expect(r.rest, n) > r.deadline+r.tolerance(r.rest)
		if lost || end(min(r.rest+r.total, never), n+len(r.segments)) <= r.deadline {
			continue
		}
		if urgent == nil || s.compare(r, urgent, now) < 0 {
			urgent = r
		}
	}
	if urgent == nil {
		return best
	}
	level := s.levelOf(urgent, now)
	above := s.above[:0]
	for _, r := range c.runs {
		if s.levelOf(r, now) > level && r.ahead() {
			above = append(above, r)
		}
	}
	slices.SortFunc(above, func(a, b *run) int { return s.compare(a, b, now) })
	work, segments, harmless := urgent.rest, len(urgent.segments)-urgent.granted, true
	for _, r := range above {
		work, segments = min(work+r.rest, never), segments+len(r.segments)-r.granted
		aged := s.ageing >= 0 && now-r.came-r.used >= s.ageing // it has waited enough
		harmless = harmless && !aged && r.deadline < never && end(work, segments) <= r.deadline
	}
	clear(above)
	s.above = above
	if harmless {
		return urgent
	}
	return best
}
