package qos

import (
	"math"
	"slices"
	"sync"
	"time"
)

const (
	// quantile of the measurements is the estimate. The mean would be exceeded by half of the executions.
	quantile = 0.9
	// window is how many measurements of a segment count. With it the 0.9 quantile leaves the two largest out.
	window = 20
	// maxMeasured is the longest time that is believed; anything longer was not a segment at work.
	maxMeasured = time.Hour
	// seedSlack is by how many times a single measurement may exceed the seed, where a second one confirms it; and by
	// how many times the cost model may overstate.
	seedSlack = 4
)

// Estimator tells how long each segment of a plan takes: the 0.9 quantile of the latest 20 measurements. Until there
// are any, what the cost model said. Safe for concurrent use.
//
// One measurement replaces the seed, though at four times the seed at most; of two the smaller counts; and of
// three and more the largest never does, so that a single outlier (the first run of a cold device, a process that
// was stopped) changes nothing.
//
// What is measured by the Scheduler (Job.Observe) has the time already taken out that went to the scheduler's other
// work. What other processes take of the device at the same time is in it, and belongs there while it lasts:
// the window forgets it after 20 executions. If it lasted so long that estimates refuse everything, and so nothing
// is measured any more, the Scheduler lets a trial through from time to time (Job.Trial), after which Renew forgets all
// that is older.
//
// It must not be copied.
type Estimator struct {
	mu       sync.Mutex
	segments []samples       // guarded by mu
	fastest  time.Duration   // guarded by mu: of all runs so far, or a lower bound
	ran      bool            // guarded by mu: it is of a run
	room     []time.Duration // guarded by mu: of ObserveRange
}

// samples are the latest measurements of one segment.
type samples struct {
	seed  time.Duration
	low   time.Duration // the smallest ever, once there was one
	n     int           // how many are valid, at most window
	at    int           // where the next goes
	times [window]time.Duration
}

// NewEstimator makes one for a plan whose segments the cost model expects to take seeds.
// It does not retain seeds, and needs about 200 bytes for each.
func NewEstimator(seeds []time.Duration) *Estimator {
	e := &Estimator{segments: make([]samples, len(seeds))}
	for i, d := range seeds {
		e.segments[i].seed = min(max(d, 0), maxMeasured)
		e.fastest = min(e.fastest+e.segments[i].seed/seedSlack, never)
	}
	return e
}

// Completed notes that a run of all segments took so long on the device.
func (e *Estimator) Completed(took time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if took >= 0 && (!e.ran || took < e.fastest) {
		e.fastest, e.ran = took, true
	}
}

// Fastest is what the fastest run so far took on the device; before there was one a lower bound, by the seeds.
func (e *Estimator) Fastest() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.fastest
}

// Observe adds a measurement of segment i. Segments that do not exist and times that cannot be are ignored.
func (e *Estimator) Observe(i int, d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.add(i, d)
}

// ObserveRange adds a measurement of segments [first, last) together, divided in proportion to their estimates.
func (e *Estimator) ObserveRange(first, last int, d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	first, last = max(first, 0), min(last, len(e.segments))
	if first >= last || d < 0 {
		return
	}
	if last == first+1 {
		e.add(first, d)
		return
	}
	e.room = e.appendTo(e.room[:0])
	current := e.room
	var sum float64
	for _, c := range current[first:last] {
		sum += float64(c)
	}
	for i := first; i < last; i++ {
		part := 1 / float64(last-first)
		if sum > 0 {
			part = float64(current[i]) / sum
		}
		e.add(i, time.Duration(float64(d)*part))
	}
}

// add records a measurement.
//
// Preconditions: e.mu held.
func (e *Estimator) add(i int, d time.Duration) {
	if i < 0 || i >= len(e.segments) || d < 0 || d > maxMeasured {
		return
	}
	e.segments[i].add(d)
}

// Segments has the estimates, in a slice of the caller's.
func (e *Estimator) Segments() []time.Duration { return e.AppendTo(nil) }

// AppendTo appends the estimates to list.
func (e *Estimator) AppendTo(list []time.Duration) []time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.appendTo(list)
}

// appendTo is AppendTo.
//
// Preconditions: e.mu held.
func (e *Estimator) appendTo(list []time.Duration) []time.Duration {
	list = slices.Grow(list, len(e.segments))
	for i := range e.segments {
		list = append(list, e.segments[i].estimate())
	}
	return list
}

// Renew forgets all measurements but the latest of each segment. It is called after a trial, which says how things are
// now.
func (e *Estimator) Renew() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.segments {
		e.segments[i].renew()
	}
}

func (s *samples) add(d time.Duration) {
	if s.low == 0 || d < s.low {
		s.low = d
	}
	s.times[s.at] = d
	s.at = (s.at + 1) % window
	s.n = min(s.n+1, window)
}

func (s *samples) estimate() time.Duration {
	switch s.n {
	case 0:
		return s.seed
	case 1:
		if s.seed > 0 {
			return min(s.times[0], seedSlack*s.seed)
		}
		return s.times[0]
	case 2:
		return min(s.times[0], s.times[1])
	}
	sorted := s.times
	slices.Sort(sorted[:s.n])
	rank := int(math.Ceil(quantile * float64(s.n))) // nearest rank, from 1
	return sorted[min(max(rank, 1), s.n-1)-1]
}

// renew keeps the latest measurement, which is believed whatever the seed was.
func (s *samples) renew() {
	if s.n > 0 {
		latest := s.times[(s.at-1+window)%window]
		*s = samples{low: s.low, times: [window]time.Duration{latest}, n: 1, at: 1}
	}
}

// forget drops the measurements and the seed. One more is to be added.
func (s *samples) forget() { *s = samples{low: s.low} }
