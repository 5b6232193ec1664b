package against

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// turns is a pretended device that does one thing at a time. A channel, because time goes on in a bubble of synctest
// while somebody waits for one, but not for a mutex.
type turns chan struct{}

func newTurns() turns { return make(turns, 1) }

// pretended runs on a device for a while, in slices between which others get their turn.
type pretended struct {
	device turns
	slices int
	each   time.Duration
	runs   atomic.Int64
	err    func(run int64) error
}

func (p *pretended) Run(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	if p.err != nil {
		if err := p.err(p.runs.Load()); err != nil {
			p.runs.Add(1)
			return 0, err
		}
	}
	for range p.slices {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		p.device <- struct{}{}
		time.Sleep(p.each)
		<-p.device
		time.Sleep(time.Nanosecond) // somebody else's turn
	}
	p.runs.Add(1)
	return time.Since(start), nil
}

// uncounted stands where no preemption is counted.
func uncounted() int64 { return 0 }

func TestContestAloneAndLoaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTurns()
		front := &pretended{device: d, slices: 1, each: time.Millisecond}
		back := &pretended{device: d, slices: 50, each: 4 * time.Millisecond}
		c := contest{preemptions: uncounted, foreground: front, duration: 2 * time.Second}
		alone, err := c.measure(t.Context())
		require.NoError(t, err)
		require.Greater(t, len(alone.times), 400)
		require.Equal(t, time.Millisecond+1, alone.times[len(alone.times)-1])
		require.Zero(t, alone.background)
		require.Zero(t, alone.missed+alone.refused)

		c.background = back
		loaded, err := c.measure(t.Context())
		require.NoError(t, err)
		require.Greater(t, loaded.times[len(loaded.times)/2], alone.times[len(alone.times)-1])
		require.Greater(t, loaded.background, 2.0)
		require.Less(t, loaded.background, 5.0)
	})
}

func TestContestCountsPreemptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		front := &pretended{device: newTurns(), slices: 1, each: time.Millisecond}
		c := contest{preemptions: uncounted, foreground: front, duration: time.Second}
		c.preemptions = func() int64 { return 100 + 2*front.runs.Load() }
		o, err := c.measure(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 2*len(o.times), o.preemptions)
	})
}

// TestContestAtRate: requests come whether those before have ended or not, and wait where too many are under way.
func TestContestAtRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		front := &pretended{device: newTurns(), slices: 1, each: time.Millisecond}
		c := contest{preemptions: uncounted, foreground: front, rate: 100, duration: time.Second}
		o, err := c.measure(t.Context())
		require.NoError(t, err)
		require.Len(t, o.times, 100)
		require.Equal(t, time.Millisecond+1, o.times[99])

		front.each = 30 * time.Millisecond // thrice what the rate allows
		o, err = c.measure(t.Context())
		require.NoError(t, err)
		require.Len(t, o.times, 100)
		require.Greater(t, o.times[99], 1900*time.Millisecond, "the last waited for all before it")
	})
}

// TestContestAtExtremeRates: it ends, after one execution at least.
func TestContestAtExtremeRates(t *testing.T) {
	for _, tc := range []struct {
		rate     float64
		duration time.Duration
		want     int
	}{{1e-10, time.Second, 1}, {math.SmallestNonzeroFloat64, time.Second, 1}, {0.1, time.Second, 1}, {1, 0, 1}, {1e12, time.Microsecond, 1000}} {
		synctest.Test(t, func(t *testing.T) {
			front := &pretended{device: newTurns(), slices: 1, each: time.Nanosecond}
			c := contest{preemptions: uncounted, foreground: front, rate: tc.rate, duration: tc.duration}
			o, err := c.measure(t.Context())
			require.NoError(t, err)
			require.Len(t, o.times, tc.want, tc.rate)
		})
	}
}

func TestContestCountsOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := errors.New("late")
		front := &pretended{device: newTurns(), slices: 1, each: time.Millisecond}
		front.err = func(run int64) error {
			switch run % 4 {
			case 0:
				return nn.Errorf(nn.StatusMissedDeadlineTransient, "execution", "%w", qos.ErrRefused)
			case 1:
				time.Sleep(10 * time.Millisecond)
				return nn.Errorf(nn.StatusMissedDeadlinePersistent, "execution", "%w", late)
			case 2:
				time.Sleep(20 * time.Millisecond)
			}
			return nil
		}
		c := contest{preemptions: uncounted, foreground: front, deadline: 10 * time.Millisecond, rate: 20, duration: 2 * time.Second}
		o, err := c.measure(t.Context())
		require.NoError(t, err)
		require.Equal(t, 10, o.refused)
		require.Equal(t, 20, o.missed, "half of them with a result")
		require.Len(t, o.times, 20)
	})
}

func TestContestFails(t *testing.T) {
	broken := errors.New("broken")
	fails := func(int64) error { return broken }
	for _, rate := range []float64{0, 50} {
		synctest.Test(t, func(t *testing.T) {
			good := &pretended{device: newTurns(), slices: 1, each: time.Millisecond}
			bad := &pretended{device: newTurns(), err: fails}
			c := contest{preemptions: uncounted, foreground: bad, rate: rate, duration: time.Hour}
			_, err := c.measure(t.Context())
			require.ErrorIs(t, err, broken)
			c = contest{preemptions: uncounted, foreground: good, background: bad, rate: rate, duration: time.Hour}
			_, err = c.measure(t.Context())
			require.ErrorIs(t, err, broken)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			c = contest{preemptions: uncounted, foreground: good, rate: rate, duration: time.Hour}
			_, err = c.measure(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
	}
}

func TestOutcome(t *testing.T) {
	const soon, deadline, later = time.Millisecond, 2 * time.Millisecond, 3 * time.Millisecond
	status := func(s nn.Status) error { return nn.Errorf(s, "execution", "%w", errors.New("test")) }
	early := func(s nn.Status) error { return nn.Errorf(s, "execution", "%w", qos.ErrRefused) }
	for _, tc := range []struct {
		name     string
		err      error
		took     time.Duration
		deadline time.Duration
		want     outcome
	}{
		{"in time", nil, soon, deadline, ended},
		{"no deadline", nil, later, 0, ended},
		{"late", nil, later, deadline, endedLate},
		{"refused for now", early(nn.StatusMissedDeadlineTransient), soon, deadline, refused},
		{"refused for ever", early(nn.StatusMissedDeadlinePersistent), later, deadline, refused},
		{"given up", status(nn.StatusMissedDeadlineTransient), later, deadline, missed},
		{"full queue", status(nn.StatusResourceExhaustedTransient), soon, 0, refused},
		{"the end of the measurement", nn.Errorf(nn.StatusGeneralFailure, "execution", "%w", context.Canceled), soon, deadline, failed},
		{"anything else", status(nn.StatusGeneralFailure), soon, deadline, failed},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, outcomeOf(tc.err, tc.took, tc.deadline)) })
	}
}
