package qos_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// load is a client that keeps some jobs of one kind in the scheduler.
type load struct {
	share    float64
	priority nn.Priority
	together int // jobs at once
	segments int
	segment  time.Duration
	from     time.Duration // when it comes
}

// shares runs loads for a time and returns the device time of each.
func shares(t *testing.T, o qos.Options, lasting time.Duration, loads ...load) []time.Duration {
	out := make([]time.Duration, len(loads))
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		s := qos.New(o)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i, l := range loads {
			c := s.MustClient(fmt.Sprint(i), l.share)
			for range l.together {
				wg.Go(func() {
					time.Sleep(l.from)
					for ctx.Err() == nil {
						c.Run(ctx, d.job(fmt.Sprint(i), l.priority, each(l.segments, l.segment)...))
					}
				})
			}
		}
		time.Sleep(lasting)
		cancel()
		wg.Wait()
		for i, c := range s.Stats().Clients {
			out[i] = c.DeviceTime
		}
		require.LessOrEqual(t, d.most, max(o.InFlight, 1))
	})
	return out
}

func TestEqualClientsGetEqualTime(t *testing.T) {
	for _, tc := range []struct {
		name  string
		loads []load
	}{
		{"alike", []load{{1, 0, 2, 10, 2 * ms, 0}, {1, 0, 2, 10, 2 * ms, 0}}},
		{"long and short segments", []load{{1, 0, 2, 31, 5 * ms, 0}, {1, 0, 2, 7, ms / 3, 0}}},
		{"one job at a time, short against long", []load{{1, 0, 1, 1, 2 * ms, 0}, {1, 0, 1, 100, 2 * ms, 0}}},
		{"many jobs against few", []load{{1, 0, 40, 10, 2 * ms, 0}, {1, 0, 2, 10, 2 * ms, 0}, {1, 0, 2, 10, 2 * ms, 0}}},
		{"high against low", []load{{1, nn.PriorityHigh, 3, 5, 2 * ms, 0}, {1, nn.PriorityLow, 3, 5, 2 * ms, 0}}},
		{"four", []load{{1, 0, 2, 3, 1 * ms, 0}, {1, 1, 2, 5, 2 * ms, 0}, {1, 2, 2, 7, 3 * ms, 0}, {1, 1, 2, 11, 4 * ms, 0}}},
	} {
		for _, slots := range []int{1, 2} {
			if slots == 2 && tc.loads[0].together == 1 {
				continue // who has one short job at a time cannot keep two places taken
			}
			t.Run(fmt.Sprint(tc.name, ", in flight ", slots), func(t *testing.T) {
				got := shares(t, qos.Options{InFlight: slots}, 4*time.Second, tc.loads...)
				mean := 4 * time.Second / time.Duration(len(got))
				for _, g := range got {
					require.InEpsilon(t, mean, g, 0.10, "%v", got)
				}
			})
		}
	}
}

func TestWeightedShares(t *testing.T) {
	got := shares(t, qos.Options{}, 10*time.Second, load{1, 0, 2, 9, 2 * ms, 0}, load{3, 0, 2, 9, 3 * ms, 0}, load{0.5, 2, 2, 9, 1 * ms, 0})
	for i, share := range []float64{1, 3, 0.5} {
		require.InEpsilon(t, share/4.5*10, got[i].Seconds(), 0.05, "%v", got)
	}
}

func TestSleepingEarnsNothing(t *testing.T) {
	got := shares(t, qos.Options{}, 10*time.Second, load{1, 0, 2, 9, 2 * ms, 0}, load{1, 0, 2, 9, 2 * ms, 5 * time.Second})
	require.InEpsilon(t, 7.5, got[0].Seconds(), 0.02)
	require.InEpsilon(t, 2.5, got[1].Seconds(), 0.02)
}

// TestSharesOutOfRange: what would starve others, or the client itself, is refused rather than cut to what would not.
func TestSharesOutOfRange(t *testing.T) {
	s := qos.New(qos.Options{})
	for _, share := range []float64{0, -1, math.NaN(), 1e-300, qos.MinShare * 0.999, qos.MaxShare * 1.001, 1024, 1e308, math.Inf(1), math.Inf(-1)} {
		c, err := s.NewClient("c", share)
		require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err), "%v", share)
		require.Nil(t, c)
	}
	require.Empty(t, s.Stats().Clients)
	for _, share := range []float64{qos.MinShare, 1, qos.MaxShare} {
		_, err := s.NewClient("c", share)
		require.NoError(t, err, "%v", share)
	}
}

// TestAgeingBound holds the wait for the device to the bound that Options.Ageing states, and shows that without
// ageing a job starves.
func TestAgeingBound(t *testing.T) {
	const segment = 2 * ms
	for _, tc := range []struct {
		name   string
		o      qos.Options
		low    nn.Priority
		others int // HIGH jobs at once
		levels int // between them
	}{
		{"low", qos.Options{Ageing: 50 * ms}, nn.PriorityLow, 3, 2},
		{"low, two in flight", qos.Options{Ageing: 50 * ms, InFlight: 2}, nn.PriorityLow, 20, 2},
		{"medium", qos.Options{Ageing: 50 * ms}, nn.PriorityMedium, 40, 1},
		{"the default", qos.Options{}, nn.PriorityLow, 5, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &device{t: t}
				c := qos.New(tc.o).MustClient("c", 1)
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				for i := range tc.others {
					wg.Go(func() {
						for ctx.Err() == nil {
							j := d.job("high", nn.PriorityHigh, each(1+i%4, segment)...)
							j.Deadline = time.Now().Add(time.Hour)
							_, _ = c.Run(ctx, j)
						}
					})
				}
				time.Sleep(segment / 2)
				began := time.Now()
				_, err := c.Run(ctx, d.job("low", tc.low, each(5, segment)...))
				require.NoError(t, err)
				cancel()
				wg.Wait()
				ageing := tc.o.Ageing
				if ageing == 0 {
					ageing = qos.DefaultAgeing
				}
				bound := time.Duration(tc.levels+1)*ageing + time.Duration(tc.others+max(tc.o.InFlight, 1))*segment
				last, worst := began, time.Duration(0)
				for _, r := range d.runs {
					if r.name == "low" {
						worst = max(worst, r.start.Sub(last))
						last = r.end
					}
				}
				t.Logf("longest wait %v, bound %v", worst, bound)
				require.LessOrEqual(t, worst, bound)
				require.Greater(t, worst, time.Duration(tc.levels-1)*ageing, "the test must make it wait")
			})
		})
	}
	t.Run("never", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := &device{t: t}
			c := qos.New(qos.Options{Ageing: -1}).MustClient("c", 1)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					for {
						if _, err := c.Run(ctx, d.job("high", nn.PriorityHigh, each(3, segment)...)); err != nil {
							return
						}
					}
				})
			}
			time.Sleep(segment / 2)
			_, err := c.Run(ctx, d.job("low", nn.PriorityLow, segment))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			wg.Wait()
		})
	})
}
