package qos

import (
	"slices"
	"time"
)

const (
	// forecastGrain limits the steps in which the turns of several clients are played: a segment at least, and this part
	// of the time until then. So what is near is exact, and what is far takes few steps.
	forecastGrain = 64
	// forecastAge is how long a line-up serves while nothing happens: jobs age meanwhile.
	forecastAge = 50 * time.Millisecond
	// laterGrain is how long a segment counts that the job has not announced yet (Job.Later).
	laterGrain = 5 * time.Millisecond
	// ordered is how many jobs of a queue are selected one by one; most forecasts need no more. Then the rest is sorted.
	ordered = 8
)

// forecast is the memory of predict. What is lined up serves all forecasts until something changes, so that many
// requests that are refused cost little, however many jobs wait.
type forecast struct {
	version uint64        // of what is lined up; 0: nothing is
	at      time.Duration // when it was
	granted time.Duration // what the device will take for what has a place there and was not submitted
	open    int           // jobs with deadlines
	queues  []queue
	jobs    []planned
	lines   []line
	with    []outcome
	before  []outcome
}

// queue is a client in a forecast.
type queue struct {
	c       *Client
	virtual float64
	jobs    []planned
	sorted  int // of jobs: the first in the order in which they will go
}

// planned is a job in a forecast.
type planned struct {
	r     *run
	next  int
	rest  time.Duration
	later time.Duration // part of rest: after all segments
}

// line is a queue on its way through a forecast.
type line struct {
	queue   *queue
	virtual float64
	taken   int     // of the queue's jobs
	extra   *run    // that is to go as well
	first   planned // who goes next
}

// outcome is what a forecast says of a job with a deadline.
type outcome struct {
	r      *run
	end    time.Duration // never where it would be given up
	atRisk bool          // it may well end after its deadline
}

// ahead reports whether r is still to be granted something.
func (r *run) ahead() bool { return r.err == nil && (r.granted < len(r.segments) || r.later > 0) }

func (r *run) planned() planned { return planned{r, r.granted, r.rest, r.later} }

// predict plays the order of choice with what is there, and extra if not nil, by the estimates and the pace, and
// appends what becomes of those with a deadline, and of extra. It ends as soon as extra will be late, unless that is a
// trial.
//
// It takes the order within each client as it is now: jobs that age on the way are not foreseen, nor
// what comes later, nor what rescue does then.
//
// Preconditions: s.mu held.
func (s *Scheduler) predict(out []outcome, extra *run, now time.Duration) []outcome {
	f := &s.forecast
	s.lineUp(now)
	at := min(now+s.backlog(now)+f.granted, never)
	open, asked := f.open, extra
	if extra != nil {
		open++
	}
	wanted := func(r *run) bool { return r.deadline < never || r == asked }
	s.form(extra, now)
	defer f.forget()
	for open > 0 {
		if extra != nil && at > extra.deadline && !extra.report.Trial {
			return append(out, outcome{r: extra, end: never, atRisk: true})
		}
		i := s.turn(f.lines, now)
		l := &f.lines[i]
		p := &l.first
		took := s.pace.expect(p.rest, len(p.r.segments)-p.next)
		lost := p.r != extra && !p.r.report.Trial && p.r.deadline < never && at+took > p.r.deadline+p.r.tolerance(p.rest)
		finished := true
		switch {
		case lost:
			out = append(out, outcome{r: p.r, end: never, atRisk: true})
		case len(f.lines) > 1:
			took = s.pace.expect(p.advance((at - now) / forecastGrain))
			finished = p.next == len(p.r.segments) && p.later == 0
			fallthrough
		default:
			at = min(at+took, never)
			l.virtual += float64(took) / p.r.c.share
			if finished && wanted(p.r) {
				out = append(out, outcome{r: p.r, end: at, atRisk: at+s.pace.reserve(at-now) > p.r.deadline})
			}
		}
		if !finished {
			continue
		}
		if p.r == extra {
			extra = nil
		}
		if wanted(p.r) {
			open--
		}
		if !s.advance(l, now) {
			f.lines = slices.Delete(f.lines, i, i+1)
		}
	}
	return out
}

// completion is when r, which was not entered, will be done by the forecast: the least deadline that admission does not find
// too near for it.
//
// Preconditions: s.mu held.
func (s *Scheduler) completion(r *run) time.Duration {
	now := r.came
	end := now + max(r.rest, clampEstimate(r.job.Fastest))
	if s.jobs > 0 {
		r.arrival = s.arrivals + 1
		r.report.Trial = true // so that it is played to its end, however late that is
		f := &s.forecast
		f.with = s.predict(f.with[:0], r, now)
		defer func() { clear(f.with) }()
		i := slices.IndexFunc(f.with, func(o outcome) bool { return o.r == r })
		end = max(end, s.soonest(r, now), f.with[i].end+s.pace.reserve(f.with[i].end-now))
	}
	return min(end, never)
}

// form fills s.forecast.lines.
//
// Preconditions: s.mu held, lineUp was called.
func (s *Scheduler) form(extra *run, now time.Duration) {
	f := &s.forecast
	f.lines = f.lines[:0]
	for i := range f.queues {
		q := &f.queues[i]
		l := line{queue: q, virtual: q.virtual}
		if extra != nil && (s.noPreempt || extra.c == q.c) {
			l.extra, extra = extra, nil
		}
		if s.advance(&l, now) {
			f.lines = append(f.lines, l)
		}
	}
	if extra != nil {
		l := line{queue: &noQueue, virtual: max(extra.c.virtual, s.vclock), extra: extra}
		s.advance(&l, now)
		f.lines = append(f.lines, l)
	}
}

var noQueue queue

// advance makes the next of l the first. It reports false where there is none.
//
// Preconditions: s.mu held.
func (s *Scheduler) advance(l *line, now time.Duration) bool {
	var head *planned
	if l.taken < len(l.queue.jobs) {
		head = s.at(l.queue, l.taken, now)
	}
	switch {
	case head == nil && l.extra == nil:
		return false
	case head == nil || l.extra != nil && s.compare(l.extra, head.r, now) < 0:
		l.first, l.extra = l.extra.planned(), nil
	default:
		l.first = *head
		l.taken++
	}
	return true
}

// at is the i-th job of q in the order in which they will go.
//
// Preconditions: s.mu held.
func (s *Scheduler) at(q *queue, i int, now time.Duration) *planned {
	order := func(a, b planned) int { return s.compare(a.r, b.r, now) }
	for ; q.sorted <= i; q.sorted++ {
		rest := q.jobs[q.sorted:]
		if q.sorted == ordered {
			slices.SortFunc(rest, order)
			q.sorted = len(q.jobs)
			break
		}
		best := 0
		for k := range rest {
			if order(rest[k], rest[best]) < 0 {
				best = k
			}
		}
		rest[0], rest[best] = rest[best], rest[0]
	}
	return &q.jobs[i]
}

// lineUp fills s.forecast.queues with what is there, unless it is known.
//
// Preconditions: s.mu held.
func (s *Scheduler) lineUp(now time.Duration) {
	f := &s.forecast
	if f.version == s.version && now-f.at < forecastAge {
		return
	}
	f.drop()
	f.version, f.at = s.version, now
	for _, c := range s.active {
		first := len(f.jobs)
		for _, r := range c.runs {
			f.granted = min(f.granted+s.pace.expect(r.estimate(r.next, r.granted), r.granted-r.next), never)
			if !r.ahead() {
				continue
			}
			f.jobs = append(f.jobs, r.planned())
			if r.deadline < never {
				f.open++
			}
		}
		virtual := c.virtual
		if !c.wanting() {
			virtual = max(virtual, s.vclock)
		}
		f.queues = append(f.queues, queue{c: c, virtual: virtual, jobs: f.jobs[first:]})
	}
	if s.noPreempt {
		f.queues = append(f.queues[:0], queue{jobs: f.jobs})
	}
}

// drop forgets what is lined up.
func (f *forecast) drop() {
	clear(f.jobs)
	clear(f.queues)
	f.version, f.granted, f.open, f.jobs, f.queues = 0, 0, 0, f.jobs[:0], f.queues[:0]
}

// forget lets go of the jobs of a forecast.
func (f *forecast) forget() { clear(f.lines) }

// turn is the index of the line that goes next.
func (s *Scheduler) turn(lines []line, now time.Duration) int {
	best := 0
	for i := 1; i < len(lines); i++ {
		a, b := &lines[i], &lines[best]
		if a.virtual < b.virtual || a.virtual == b.virtual && s.compare(a.first.r, b.first.r, now) < 0 {
			best = i
		}
	}
	return best
}

// advance runs one segment, or more until they are estimated to take atLeast, and says how long and how many that is.
func (p *planned) advance(atLeast time.Duration) (took time.Duration, segments int) {
	n := len(p.r.segments)
	for p.next < n && (took == 0 || took < atLeast) {
		took += clampEstimate(p.r.segments[p.next])
		p.next++
		segments++
	}
	if p.next == n && p.later > 0 && (took == 0 || took < atLeast) { // into segments that nobody knows yet
		part := min(p.later, max(atLeast-took, laterGrain))
		p.later -= part
		took += part
		segments++
	}
	took = min(took, never)
	p.rest = max(p.rest-took, 0)
	return took, segments
}
