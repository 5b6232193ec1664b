package qos

import (
	"sync"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
)

// PrepareCost is what a preparation has to do, known before it is done.
type PrepareCost struct {
	Pipelines   int   // that do not exist yet
	WeightBytes int64 // to be packed and moved to the device
	Steps       int   // of the plan
}

// Seeds of a PrepareEstimator: what a software implementation takes on two slow cores. Shader compilation is
// most of it: 2 to 50 ms for a small pipeline, and there are tens in a network.
const (
	seedBase     = 2 * time.Millisecond
	seedPipeline = 30 * time.Millisecond
	seedMegabyte = 2 * time.Millisecond
	seedStep     = 50 * time.Microsecond
	// prepareSlack is by how many times they may overstate.
	prepareSlack = 16
)

// Bounds of a PrepareCost; what is beyond counts as this.
const (
	maxPipelines   = 1 << 16
	maxWeightBytes = 1 << 44
	maxSteps       = 1 << 24
)

// PrepareEstimator tells how long it takes to prepare a model on one device. It learns two numbers: what a pipeline
// that does not exist yet takes, and by what factor the device differs in all else from a fixed model of weights
// and steps. Each is the 0.9 quantile of the latest 20 measurements with the largest left out. Safe for concurrent use.
// The zero value is ready, and knows no more than the seeds.
type PrepareEstimator struct {
	mu sync.Mutex
	// pipeline has times per pipeline; rest has times in units of 1/1024 of the modelled ones. Guarded by mu.
	pipeline, rest samples
	doubt          doubt // guarded by mu
	trying         bool  // guarded by mu: the next measurement is that of a trial
}

// restUnit is the sample that says that the model of all but pipelines is right.
const restUnit = 1024 * time.Nanosecond

// bound brings c into the range that is computed with.
func (c PrepareCost) bound() PrepareCost {
	return PrepareCost{
		Pipelines:   min(max(c.Pipelines, 0), maxPipelines),
		WeightBytes: min(max(c.WeightBytes, 0), maxWeightBytes),
		Steps:       min(max(c.Steps, 0), maxSteps),
	}
}

// modelled is what all but the pipelines takes by the seeds.
func (c PrepareCost) modelled() time.Duration {
	return seedBase + time.Duration(float64(c.WeightBytes)/1e6*float64(seedMegabyte)) + time.Duration(c.Steps)*seedStep
}

// total is what c takes where a pipeline takes so long, and all else rest, in units of the model.
func (c PrepareCost) total(pipeline, rest time.Duration) time.Duration {
	others := time.Duration(min(float64(c.modelled())*(float64(rest)/float64(restUnit)), float64(never)))
	return min(others+time.Duration(c.Pipelines)*pipeline, never)
}

// Estimate is how long a preparation of cost c is expected to take.
func (e *PrepareEstimator) Estimate(c PrepareCost) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return c.bound().total(e.pipeline.or(seedPipeline), e.rest.or(restUnit))
}

// least is a lower bound of Estimate.
//
// Preconditions: e.mu held.
func (e *PrepareEstimator) least(c PrepareCost) time.Duration {
	pipeline, rest := time.Duration(seedPipeline/prepareSlack), restUnit/prepareSlack
	if e.pipeline.n > 0 {
		pipeline = e.pipeline.low
	}
	if e.rest.n > 0 {
		rest = e.rest.low
	}
	return c.bound().total(pipeline, rest)
}

// or is the estimate, seed before there was a measurement.
func (s *samples) or(seed time.Duration) time.Duration {
	if s.n == 0 {
		return seed
	}
	return s.estimate()
}

// Admit refuses a preparation of cost c that is expected to end after deadline: MISSED_DEADLINE_PERSISTENT where the
// deadline had passed at since, when it was asked for, or leaves less time than the fastest preparation took; else
// MISSED_DEADLINE_TRANSIENT. The zero time and times decades away are no deadline. Preparations do not queue.
// Client.Admit does the same for executions. Once in a while a preparation is let through as a trial.
func (e *PrepareEstimator) Admit(c PrepareCost, since, deadline time.Time) error {
	if deadline.IsZero() {
		return nil
	}
	now := time.Now()
	given, left := deadline.Sub(since), deadline.Sub(now)
	needs := e.Estimate(c)
	if left > 0 && (left >= never || needs <= left) {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	status := nn.StatusMissedDeadlineTransient
	switch {
	case given <= 0 || given < e.least(c):
		status = nn.StatusMissedDeadlinePersistent
	case left > 0 && given < needs:
		if e.doubt.due(now) {
			e.doubt.tried(now)
			e.trying = true
			return nil
		}
		e.doubt.refused(now)
	}
	return nn.Errorf(status, "preparation", "it takes about %v and %v are left: %w", needs, left, ErrRefused)
}

// Observe adds a measurement: a preparation of cost c took d. One that was abandoned must not be given.
func (e *PrepareEstimator) Observe(c PrepareCost, d time.Duration) {
	if d < 0 || d > maxMeasured {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.doubt.measured()
	c = c.bound()
	if e.trying {
		e.trying = false
		if c.Pipelines > 0 {
			e.pipeline.forget()
		} else {
			e.rest.forget()
		}
	}
	if c.Pipelines == 0 {
		e.rest.add(min(time.Duration(float64(d)/float64(c.modelled())*float64(restUnit)), maxMeasured))
		return
	}
	// Without a measurement of the rest alone, the fixed model must not make pipelines look free.
	others := min(c.total(0, e.rest.or(restUnit)), d/2)
	e.pipeline.add((d - others) / time.Duration(c.Pipelines))
}
