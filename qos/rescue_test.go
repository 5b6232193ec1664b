package qos_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// TestRescue: a low job of 8 ms runs when, after 1 ms, a high one of 6 ms comes to the same client.
func TestRescue(t *testing.T) {
	const none = time.Duration(0)
	lowFirst, highFirst := []string{"low", "high"}, []string{"low", "high", "low"}
	lowLost := lowFirst // nothing of it is left to go
	for _, tc := range []struct {
		name      string
		options   qos.Options
		low, high time.Duration // deadlines
		want      []string
		lost      bool // the low one
	}{
		{"in danger, and the other can wait", qos.Options{}, 12 * ms, 100 * ms, lowFirst, false},
		{"and can just wait", qos.Options{}, 12 * ms, 14 * ms, lowFirst, false},
		{"and cannot wait", qos.Options{}, 12 * ms, 13 * ms, lowLost, true},
		{"and is not to wait", qos.Options{}, 12 * ms, none, lowLost, true},
		{"not in danger", qos.Options{}, 40 * ms, 100 * ms, highFirst, false},
		{"without a deadline", qos.Options{}, none, 100 * ms, highFirst, false},
		{"in order of arrival", qos.Options{NoPreempt: true}, 12 * ms, 100 * ms, []string{"low", "high"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &device{t: t}
				c := qos.New(tc.options).MustClient("c", 1)
				defer c.Close()
				began := time.Now()
				low := d.job("low", nn.PriorityLow, each(4, 2*ms)...)
				high := d.job("high", nn.PriorityHigh, each(3, 2*ms)...)
				for j, deadline := range map[*qos.Job]time.Duration{low: tc.low, high: tc.high} {
					if deadline != none {
						j.Deadline = began.Add(deadline)
					}
				}
				first := start(t.Context(), c, low)
				time.Sleep(ms)
				second := <-start(t.Context(), c, high)
				require.NoError(t, second.err)
				if tc.high != none {
					require.False(t, second.end.After(high.Deadline))
				}
				out := <-first
				require.Equal(t, tc.want, slices.Compact(d.order()))
				if tc.lost {
					require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(out.err))
					return
				}
				require.NoError(t, out.err)
				if tc.low != none {
					require.False(t, out.end.After(low.Deadline))
				}
			})
		})
	}
}

// TestRescueEnds: a stream of low jobs whose deadlines are in danger delays a high one by Options.Ageing, and no more.
func TestRescueEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		c := qos.New(qos.Options{}).MustClient("c", 1)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		low := func(left time.Duration) {
			j := d.job("low", nn.PriorityLow, each(50, 2*ms)...)
			j.Deadline = time.Now().Add(left)
			running.Go(func() { _, _ = c.Run(ctx, j) })
		}
		low(130 * ms)
		synctest.Wait()
		j := d.job("high", nn.PriorityHigh, each(5, 2*ms)...)
		began := time.Now()
		j.Deadline = began.Add(time.Minute)
		high := start(ctx, c, j)
		running.Go(func() {
			for ctx.Err() == nil {
				time.Sleep(90 * ms)
				low(124 * ms)
				time.Sleep(10 * ms)
			}
		})
		out := <-high
		require.NoError(t, out.err)
		require.Greater(t, out.end.Sub(began), 100*ms, "the test must make it wait")
		require.LessOrEqual(t, out.end.Sub(began), qos.DefaultAgeing+20*ms)
		cancel()
		running.Wait()
	})
}

// TestRescueCountsShares: while another client has half of the device, what a high job can wait for is half as much.
func TestRescueCountsShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		s := qos.New(qos.Options{})
		c, other := s.MustClient("c", 1), s.MustClient("other", 1)
		began := time.Now()
		low := d.job("low", nn.PriorityLow, each(4, 2*ms)...)
		low.Deadline = began.Add(26 * ms)
		high := d.job("high", nn.PriorityHigh, each(3, 2*ms)...)
		high.Deadline = began.Add(20 * ms) // behind the low one it would be done at 14 ms alone, at 28 ms here
		rest := start(t.Context(), other, d.job("other", nn.PriorityLow, each(20, 2*ms)...))
		first := start(t.Context(), c, low)
		time.Sleep(ms)
		second := <-start(t.Context(), c, high)
		require.NoError(t, second.err)
		require.False(t, second.end.After(high.Deadline))
		<-first
		require.NoError(t, (<-rest).err)
		synctest.Wait()
	})
}
