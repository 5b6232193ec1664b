package suite

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// Subject is a network that is to be measured.
type Subject struct {
	Network, Type string
	Prepare       time.Duration
	GFLOP         float64 // of one execution
	Bytes         int64   // of constants, input and output
	Run           func(context.Context) error
	Error         string // why it cannot be measured

	bursts [][]time.Duration // executions
	used   time.Duration     // by the bursts
}

// Plan is how subjects are measured.
type Plan struct {
	Gauges map[Bound]Gauge // of the ceilings that the device has
	// Duration is the time of each subject, in as many bursts as there are rounds, or fewer of one execution each. Those
	// that are not sure by then have more.
	Duration time.Duration
	Until    time.Time // nothing begins later
	Step     func()    // called for each of Rounds and each subject
}

const (
	// Rounds is how often each subject has its turn at least, unless it is too slow.
	Rounds = 25
	// sure is the spread of a subject that needs no more bursts, most how many times Plan.Duration another one may have.
	sure, most = 0.02, 4
	// readings is how often each ceiling is measured before the first burst.
	readings = 5
)

// OutOfTime is the error of a subject that had no turn before Plan.Until.
const OutOfTime = "left out: the time is used up"

// Measure measures the subjects, and sets what it finds in r. A subject that fails is left out from then on. The only error
// is that of ctx; what was measured before is in r.
func Measure(ctx context.Context, subjects []*Subject, p *Plan, r *Result) error {
	g := &gauges{of: maps.Clone(p.Gauges), rates: map[Bound][]float64{}}
	for range readings {
		g.read(ctx)
	}
	g.keep(subjects)
	order := slices.Clone(subjects)
	rng := rand.New(rand.NewPCG(1, 2)) // the same neighbours each time
	for more := true; more; r.Rounds++ {
		rng.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
		more = r.Rounds+1 < Rounds
		for _, s := range order {
			if r.Rounds < Rounds {
				p.Step()
			}
			if !s.due(r.Rounds, p) {
				continue
			}
			more = true
			g.read(ctx)
			s.burst(ctx, p.Duration/Rounds)
			if ctx.Err() != nil {
				break
			}
		}
		if ctx.Err() != nil || !time.Now().Before(p.Until) {
			break
		}
	}
	r.Ceilings = g.ceilings()
	for _, s := range subjects {
		if s.Error == "" && len(s.bursts) == 0 {
			s.Error = OutOfTime
		}
		r.Rows = append(r.Rows, s.row(&r.Ceilings))
	}
	return ctx.Err()
}

// due reports whether the subject has a turn in a round. In the first Rounds each has as many turns as its share of the
// time allows, later ones are for those that are not sure.
func (s *Subject) due(round int, p *Plan) bool {
	switch {
	case s.Error != "" || !time.Now().Before(p.Until):
		return false
	case round < Rounds:
		return s.used <= p.Duration*time.Duration(round)/Rounds
	case s.used >= most*p.Duration:
		return false
	}
	spread, ok := s.spread()
	return !ok || spread > sure
}

// burst runs the subject for some time. The first execution finds what others left in the caches and does not count, unless
// it takes all of the time.
func (s *Subject) burst(ctx context.Context, d time.Duration) {
	var times []time.Duration
	begin := time.Now()
	for first := true; len(times) == 0 || time.Since(begin) < d; first = false {
		start := time.Now()
		if err := s.Run(ctx); err != nil {
			s.Error = err.Error()
			return
		}
		if took := time.Since(start); !first || took >= d {
			times = append(times, took)
		}
		if ctx.Err() != nil {
			return
		}
	}
	s.bursts = append(s.bursts, times)
	s.used += time.Since(begin)
}

// spread is how much the fastest executions of every other burst and of the rest differ, as a part of the faster; false
// where there are no two bursts.
func (s *Subject) spread() (float64, bool) {
	if len(s.bursts) < 2 {
		return 0, false
	}
	var best [2]time.Duration
	for i, times := range s.bursts {
		b := &best[i%2]
		if fastest := slices.Min(times); *b == 0 || fastest < *b {
			*b = fastest
		}
	}
	low, high := min(best[0], best[1]), max(best[0], best[1])
	return float64(high-low) / float64(max(low, 1)), true
}
