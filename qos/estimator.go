package qos

import (
	"math"
	"slices"
	"sync"
	"time"
)

const (
	// DefaultQuantile is that of an Estimator. The mean would be exceeded by half of the executions.
	DefaultQuantile = 0.9
	// window is how many measurements of a segment count. With it the 0.9 quantile leaves the two largest out.
	window = 20
	// maxMeasured is the longest time that is believed; anything longer was not a segment at work.
	maxMeasured = time.Hour
	// seedSlack is by how many times a single measurement may exceed the seed; a second one confirms it.
	seedSlack = 4
	// refusalsToRelax is how many refusals it takes until Relax forgets something.
	refusalsToRelax = 8
	// mostRefusals is how many there are between two probes in the end: one in a thousand misses in vain.
	mostRefusals = 1024
)

// Estimator tells how long each segment of a plan takes: a high quantile of the latest 20 measurements. Until there
// are any, what the cost model said. Safe for concurrent use.
//
// One measurement replaces the seed, though at four times the seed at most; of two the smaller counts; and of
// three and more the largest never does, so that a single outlier (the first run of a cold device, a process that
// was stopped) changes nothing.
//
// What is measured by the Scheduler (Job.Observe) has the time already taken out that went to the scheduler's other
// work. What other processes take of the device at the same time is in it, and belongs there while it lasts:
// the window forgets it after 20 executions. If it lasted so long that estimates refuse everything, and so nothing
// is measured any more, Relax brings them down again.
//
// It must not be copied.
type Estimator struct {
	mu       sync.Mutex
	quantile float64         // guarded by mu
	segments []samples       // guarded by mu
	refusals probing         // guarded by mu
	cached   []time.Duration // guarded by mu: never written to once handed out; nil when out of date
}

// samples are the latest measurements of one segment.
type samples struct {
	seed  time.Duration
	n     int // how many are valid, at most window
	at    int // where the next goes
	times [window]time.Duration
}

// NewEstimator makes one for a plan whose segments the cost model expects to take seeds, with the default quantile.
// It does not retain seeds, and needs about 200 bytes for each.
func NewEstimator(seeds []time.Duration) *Estimator {
	e := &Estimator{quantile: DefaultQuantile, segments: make([]samples, len(seeds))}
	for i, d := range seeds {
		e.segments[i].seed = min(max(d, 0), maxMeasured)
	}
	return e
}

// SetQuantile sets which quantile of the measurements is the estimate, within 0 and 1. Others are ignored.
func (e *Estimator) SetQuantile(q float64) {
	if !(q >= 0 && q <= 1) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.quantile, e.cached = q, nil
}

// Len is the number of segments.
func (e *Estimator) Len() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.segments)
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
	current := e.current()
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
	e.cached = nil
}

// Segments has the estimates. The caller must not change the slice; it never changes by itself.
func (e *Estimator) Segments() []time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.current()
}

// current computes the estimates if they are out of date.
//
// Preconditions: e.mu held.
func (e *Estimator) current() []time.Duration {
	if e.cached == nil {
		e.cached = make([]time.Duration, len(e.segments))
		for i := range e.segments {
			e.cached[i] = e.segments[i].estimate(e.quantile)
		}
	}
	return e.cached
}

// Relax is to be called when a job was refused because its estimate is above left, the time that it had. Estimates
// that are too high would otherwise refuse for ever, as what is refused is not measured. If all segments together
// were once seen to be as quick as left, then at every eighth such refusal the largest measurement of each is
// forgotten. If they never were, the estimates are lowered to what is left, by half at most, so that the next one
// runs and is measured: after eight refusals, then after twice as many each time, for they may be right.
func (e *Estimator) Relax(left time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var least time.Duration
	for i := range e.segments {
		least = min(least+e.segments[i].least(), never)
	}
	seen := least <= left
	if !e.refusals.due(seen) {
		return
	}
	for i := range e.segments {
		if seen {
			e.segments[i].forgetLargest()
		} else {
			e.segments[i].lower(float64(left) / float64(least))
		}
	}
	e.cached = nil
}

// probing counts refusals and says when estimates are to be doubted.
type probing struct {
	n      int // since the last time
	wanted int // for the next probe; 0 for refusalsToRelax
}

// due counts a refusal. seen says that the measurements themselves have what was refused.
func (p *probing) due(seen bool) bool {
	p.n++
	wanted := max(p.wanted, refusalsToRelax)
	if seen {
		wanted, p.wanted = refusalsToRelax, 0
	}
	if p.n < wanted {
		return false
	}
	p.n = 0
	if !seen {
		p.wanted = min(2*wanted, mostRefusals)
	}
	return true
}

func (s *samples) add(d time.Duration) {
	s.times[s.at] = d
	s.at = (s.at + 1) % window
	s.n = min(s.n+1, window)
}

func (s *samples) estimate(quantile float64) time.Duration {
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

// least is the smallest measurement, or the seed.
func (s *samples) least() time.Duration {
	if s.n == 0 {
		return s.seed
	}
	return slices.Min(s.times[:s.n])
}

// forgetLargest drops the largest measurement and keeps the order of the others.
func (s *samples) forgetLargest() {
	if s.n < 2 {
		return
	}
	kept := s.oldestFirst()
	largest := 0
	for i, d := range kept {
		if d > kept[largest] {
			largest = i
		}
	}
	kept = slices.Delete(kept, largest, largest+1)
	*s = samples{seed: s.seed, n: len(kept), at: len(kept)}
	copy(s.times[:], kept)
}

// lower replaces all measurements by a seed that is the smallest of them times factor, which is taken to be a half
// at least.
func (s *samples) lower(factor float64) {
	*s = samples{seed: time.Duration(float64(s.least()) * min(max(factor, 0.5), 1))}
}

// oldestFirst is a copy of the measurements in the order in which they came.
func (s *samples) oldestFirst() []time.Duration {
	out := make([]time.Duration, 0, window)
	for k := range s.n {
		out = append(out, s.times[(s.at-s.n+k+window)%window])
	}
	return out
}
