package against

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// runner executes a model once. Safe for concurrent use.
type runner interface {
	// Run returns the time from the call until the results were there.
	Run(ctx context.Context) (latency time.Duration, err error)
}

// contest is a model in the foreground whose latency is measured, beside one in the background.
type contest struct {
	foreground runner
	background runner // nil: none
	toEnd      bool   // the last execution of the background is not given up but ends, so that its profile is there
	// preemptions counts how often an execution gave way to another so far.
	preemptions func() int64

	rate     float64       // executions of the foreground a second; 0: one after the other with short pauses
	deadline time.Duration // of each execution of the foreground, which its runner sets; 0: none
	duration time.Duration // of the measurement
}

const (
	// saturating is the number of executions of the background at the same time: while one runs, the next waits.
	saturating = 2
	// settling is the time that the background has before the foreground starts.
	settling = 100 * time.Millisecond
	// longestPause between two executions in the foreground; the mean is half of it. Pauses are random so that the
	// foreground comes at any moment of what the background does.
	longestPause = 4 * time.Millisecond
	// maxOutstanding bounds the executions of the foreground at the same time. Further ones wait, and their latency
	// counts from when they came.
	maxOutstanding = 16
)

// observations are what a contest showed.
type observations struct {
	times       []time.Duration // of the foreground's executions that ended with a result, ascending
	missed      int             // admitted, but ended after the deadline or without a result
	refused     int             // at once, because of the deadline or of a full queue
	preemptions int64
	background  float64 // executions a second
}

// measure runs the contest. It returns when everything that it started has ended.
func (c *contest) measure(ctx context.Context) (*observations, error) {
	runs := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !c.toEnd {
		runs = ctx
	}
	var load sync.WaitGroup
	b := &backgroundCount{start: time.Now()}
	if c.background != nil {
		for range saturating {
			load.Go(func() {
				if err := b.saturate(ctx, runs, c.background); err != nil {
					cancel(err)
				}
			})
		}
		pause(ctx, settling)
	}
	before := c.preemptions()
	f := &foreground{contest: c, rng: rand.New(rand.NewPCG(3, 4))}
	var err error
	if c.rate > 0 {
		err = f.atRate(ctx)
	} else {
		err = f.inTurn(ctx)
	}
	preemptions := c.preemptions() - before
	rate := b.perSecond()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	cancel(nil)
	load.Wait()
	if err != nil {
		return nil, err
	}
	slices.Sort(f.times)
	return &observations{times: f.times, missed: f.missed, refused: f.refused, preemptions: preemptions, background: rate}, nil
}

// pause waits; it reports whether ctx is still going on.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// backgroundCount counts the executions of the background.
type backgroundCount struct {
	start time.Time

	mu   sync.Mutex
	runs int       // guarded by mu
	last time.Time // guarded by mu; when the last of them ended
}

// saturate runs r one time after the other until ctx ends; runs ends those that are going on.
func (b *backgroundCount) saturate(ctx, runs context.Context, r runner) error {
	for ctx.Err() == nil {
		_, err := r.Run(runs)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		b.mu.Lock()
		b.runs, b.last = b.runs+1, time.Now()
		b.mu.Unlock()
	}
	return nil
}

// perSecond is the rate until the last execution ended, so that one still going on does not lower it.
func (b *backgroundCount) perSecond() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if took := b.last.Sub(b.start); b.runs > 0 && took > 0 {
		return float64(b.runs) / took.Seconds()
	}
	return 0
}

// foreground runs the measured model and counts.
type foreground struct {
	contest *contest
	rng     *rand.Rand // of the goroutine that starts the executions

	mu              sync.Mutex
	times           []time.Duration // guarded by mu
	missed, refused int             // guarded by mu
	err             error           // guarded by mu; the first that is no outcome
}

// inTurn runs one execution after the other with short random pauses between them: at least one.
func (f *foreground) inTurn(ctx context.Context) error {
	end := time.Now().Add(f.contest.duration)
	for {
		f.one(ctx, time.Now())
		if f.failed() != nil || !time.Now().Before(end) {
			return f.failed()
		}
		if !pause(ctx, time.Duration(f.rng.Int64N(int64(longestPause)))) {
			return context.Cause(ctx)
		}
	}
}

// period is the distance between two executions at the rate, at most the duration: a rate may be so low that it exceeds
// what a time.Duration holds, and there is one execution then.
func (c *contest) period() time.Duration {
	return time.Duration(max(1, min(float64(time.Second)/c.rate, float64(c.duration))))
}

// atRate starts executions at equal distances, whether those before have ended or not.
func (f *foreground) atRate(ctx context.Context) error {
	start, period := time.Now(), f.contest.period()
	slots := make(chan struct{}, maxOutstanding)
	var running sync.WaitGroup
	defer running.Wait()
	for i := 0; ; i++ {
		due := start.Add(time.Duration(i) * period)
		if i > 0 && due.Sub(start) >= f.contest.duration {
			break
		}
		if !pause(ctx, time.Until(due)) {
			return context.Cause(ctx)
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if f.failed() != nil {
			break
		}
		running.Go(func() {
			f.one(ctx, due)
			<-slots
		})
	}
	running.Wait()
	return f.failed()
}

// one runs the model once for a request that came at due.
func (f *foreground) one(ctx context.Context, due time.Time) {
	late := time.Since(due)
	latency, err := f.contest.foreground.Run(ctx)
	took := time.Since(due)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return
	}
	switch outcomeOf(err, took-late, f.contest.deadline) {
	case ended:
		f.times = append(f.times, late+latency)
	case endedLate:
		f.times = append(f.times, late+latency)
		f.missed++
	case missed:
		f.missed++
	case refused:
		f.refused++
	case failed:
		f.err = err
	}
}

func (f *foreground) failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// outcome is how an execution of the foreground ended.
type outcome int

const (
	ended     outcome = iota // with a result
	endedLate                // with a result, after the deadline
	missed                   // given up on the way
	refused                  // before any work, because of the deadline or of a full queue
	failed
)

// outcomeOf tells how an execution ended from its error and the time that the call took.
func outcomeOf(err error, took, deadline time.Duration) outcome {
	switch status := nn.StatusOf(err); {
	case err == nil && deadline > 0 && took > deadline:
		return endedLate
	case err == nil:
		return ended
	case errors.Is(err, context.Canceled):
		return failed
	case status == nn.StatusResourceExhaustedTransient, errors.Is(err, qos.ErrRefused):
		return refused
	case status == nn.StatusMissedDeadlineTransient, status == nn.StatusMissedDeadlinePersistent:
		return missed
	}
	return failed
}
