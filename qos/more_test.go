package qos_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// loop is a job of n rounds of the same segments, of which it says one at a time; the estimate of the others is right.
func (d *device) loop(name string, p nn.Priority, n int, round ...time.Duration) *qos.Job {
	j := d.job(name, p, round...)
	var took time.Duration
	for _, s := range round {
		took += s
	}
	j.Later = time.Duration(n-1) * took
	left := n
	j.More = func(context.Context) ([]time.Duration, time.Duration, error) {
		if left--; left <= 0 {
			return nil, 0, nil
		}
		return round, time.Duration(left-1) * took, nil
	}
	return j
}

func TestMore(t *testing.T) {
	for _, options := range []qos.Options{{}, {InFlight: 2}, {NoPreempt: true}} {
		synctest.Test(t, func(t *testing.T) {
			d := &device{t: t}
			s := qos.New(options)
			j := d.loop("a", nn.PriorityMedium, 4, 2*ms, 3*ms)
			var observed []span
			j.Observe = func(first, last int, took time.Duration) {
				observed = append(observed, span{first: first, last: last, end: time.Now()})
			}
			began := time.Now()
			report, err := s.MustClient("c", 1).Run(t.Context(), j)
			require.NoError(t, err)
			require.Equal(t, 20*ms, time.Since(began))
			require.Equal(t, len(d.runs), report.Submissions)
			require.Len(t, observed, len(d.runs))
			next := 0
			for _, r := range d.runs {
				if next == 2 {
					next = 0
				}
				require.Equal(t, next, r.first, "numbered from 0 in each round")
				next = r.last
			}
			require.Equal(t, 20*ms, s.Stats().DeviceTime)
			require.Zero(t, s.Stats().Clients[0].Jobs)
		})
	}
}

// TestMoreGivesWay: what is urgent waits for a segment of a loop, and not for the loop.
func TestMoreGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		c := qos.New(qos.Options{}).MustClient("c", 1)
		loop := start(t.Context(), c, d.loop("loop", nn.PriorityLow, 100, 4*ms))
		for range 20 {
			time.Sleep(9 * ms)
			began := time.Now()
			o := <-start(t.Context(), c, d.job("urgent", nn.PriorityHigh, ms))
			require.NoError(t, o.err)
			require.LessOrEqual(t, o.end.Sub(began), 5*ms)
		}
		o := <-loop
		require.NoError(t, o.err)
		require.Equal(t, 100, o.report.Submissions)
	})
}

// TestMoreThatBlocks: others use the device meanwhile, also those that wait since before, and of a lower priority.
func TestMoreThatBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		c := qos.New(qos.Options{}).MustClient("c", 1)
		j := d.loop("loop", nn.PriorityHigh, 2, 4*ms)
		more := j.More
		j.More = func(ctx context.Context) ([]time.Duration, time.Duration, error) {
			time.Sleep(500 * ms)
			return more(ctx)
		}
		began := time.Now()
		loop := start(t.Context(), c, j)
		time.Sleep(ms)
		o := <-start(t.Context(), c, d.job("other", nn.PriorityLow, ms, ms))
		require.NoError(t, o.err)
		require.LessOrEqual(t, o.end.Sub(began), 10*ms)
		o = <-loop
		require.NoError(t, o.err)
		require.Equal(t, 1008*ms, o.end.Sub(began))
	})
}

// TestMoreKeepsItsPlace: between two rounds nobody of a lower priority gets in.
func TestMoreKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		c := qos.New(qos.Options{Ageing: -1}).MustClient("c", 1)
		low := start(t.Context(), c, d.job("low", nn.PriorityLow, each(5, 4*ms)...))
		time.Sleep(ms)
		high := start(t.Context(), c, d.loop("high", nn.PriorityHigh, 5, 2*ms))
		require.NoError(t, (<-high).err)
		require.NoError(t, (<-low).err)
		require.Equal(t, []string{"low", "high", "high", "high", "high", "high", "low", "low", "low", "low"}, d.order())
	})
}

// TestMoreShares: two clients with a loop each have the device in turns.
func TestMoreShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		s := qos.New(qos.Options{})
		a := start(t.Context(), s.MustClient("a", 1), d.loop("a", nn.PriorityLow, 50, 2*ms))
		b := start(t.Context(), s.MustClient("b", 1), d.loop("b", nn.PriorityHigh, 50, 2*ms))
		x, y := <-a, <-b
		require.NoError(t, x.err)
		require.NoError(t, y.err)
		require.InDelta(t, 0, float64(x.end.Sub(y.end)), float64(4*ms))
	})
}

// TestMoreCountsForDeadlines: what comes later refuses, is foreseen by others, and is given up when there is more of it
// than was thought.
func TestMoreCountsForDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		s := qos.New(qos.Options{})
		c := s.MustClient("c", 1)
		late := d.loop("late", nn.PriorityMedium, 10, 2*ms)
		late.Deadline = time.Now().Add(15 * ms)
		_, err := c.Run(t.Context(), late)
		require.ErrorIs(t, err, qos.ErrRefused)
		require.Empty(t, d.runs)

		loop := start(t.Context(), c, d.loop("loop", nn.PriorityMedium, 10, 2*ms))
		synctest.Wait()
		behind := d.job("behind", nn.PriorityMedium, 2*ms)
		behind.Deadline = time.Now().Add(100 * ms)
		end, err := c.Forecast(behind)
		require.NoError(t, err)
		require.Less(t, time.Until(end), 10*ms, "an earlier deadline goes before")
		behind.Deadline = time.Time{}
		end, err = c.Forecast(behind)
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Until(end), 20*ms)
		require.NoError(t, (<-loop).err)

		endless := d.loop("endless", nn.PriorityMedium, 1000, 2*ms)
		endless.Later = 0
		more := endless.More
		endless.More = func(ctx context.Context) ([]time.Duration, time.Duration, error) {
			segments, _, err := more(ctx)
			return segments, 0, err
		}
		endless.Deadline = time.Now().Add(21 * ms)
		began := time.Now()
		report, err := c.Run(t.Context(), endless)
		require.ErrorIs(t, err, qos.ErrDeadline)
		require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(err))
		require.NotZero(t, report.Submissions)
		require.LessOrEqual(t, time.Since(began), 23*ms)
	})
}

func TestMoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		s := qos.New(qos.Options{})
		c := s.MustClient("c", 1)
		j := d.job("a", nn.PriorityMedium, ms)
		wrong := errors.New("wrong")
		j.More = func(context.Context) ([]time.Duration, time.Duration, error) { return nil, 0, wrong }
		_, err := c.Run(t.Context(), j)
		require.Equal(t, wrong, err)
		j.More = func(context.Context) ([]time.Duration, time.Duration, error) { panic("oh") }
		require.Panics(t, func() { _, _ = c.Run(t.Context(), j) })
		ctx, cancel := context.WithCancel(t.Context())
		endless := d.loop("endless", nn.PriorityMedium, 1000, 2*ms)
		r := start(ctx, c, endless)
		time.Sleep(11 * ms)
		cancel()
		o := <-r
		require.Equal(t, context.Canceled, o.err)
		require.Equal(t, 6, o.report.Submissions)
		r = start(t.Context(), c, d.loop("closed", nn.PriorityMedium, 1000, 2*ms))
		time.Sleep(11 * ms)
		c.Close()
		require.ErrorIs(t, (<-r).err, qos.ErrClosed)
		require.Empty(t, s.Stats().Clients)
	})
}

// TestMoreBeginsIt: Begin may set More, and a job may have nothing to submit before it.
func TestMoreBeginsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		s := qos.New(qos.Options{})
		j := d.job("a", nn.PriorityMedium, ms)
		j.Segments = nil
		rounds := 0
		j.Begin = func(context.Context) error {
			j.More = func(context.Context) ([]time.Duration, time.Duration, error) {
				if rounds++; rounds > 3 {
					return nil, 0, nil
				}
				return each(1, ms), 0, nil
			}
			return nil
		}
		_, err := s.MustClient("c", 1).Run(t.Context(), j)
		require.NoError(t, err)
		require.Equal(t, 3*ms, s.Stats().DeviceTime)
	})
}
