package qos_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

func TestUrgentAloneGoesWhole(t *testing.T) {
	for _, tc := range []struct {
		name     string
		options  qos.Options
		priority nn.Priority
		deadline time.Duration
		want     int
	}{
		{"high", qos.Options{}, nn.PriorityHigh, 0, 1},
		{"high, two in flight", qos.Options{InFlight: 2}, nn.PriorityHigh, 0, 1},
		{"high, far deadline", qos.Options{}, nn.PriorityHigh, time.Second, 1},
		{"high, near deadline", qos.Options{}, nn.PriorityHigh, 15 * ms, 7},
		{"medium", qos.Options{}, nn.PriorityMedium, 0, 7},
		{"low, two in flight", qos.Options{InFlight: 2}, nn.PriorityLow, 0, 7},
		{"low without preemption", qos.Options{NoPreempt: true}, nn.PriorityLow, 0, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &device{t: t}
				c := qos.New(tc.options).MustClient("c", 1)
				defer c.Close()
				began := time.Now()
				j := d.job("a", tc.priority, each(7, 2*ms)...)
				if tc.deadline > 0 {
					j.Deadline = began.Add(tc.deadline)
				}
				report, err := c.Run(t.Context(), j)
				require.NoError(t, err)
				require.Equal(t, qos.Report{Submissions: tc.want}, report)
				require.Equal(t, 14*ms, time.Since(began), "the device was never idle")
				require.Equal(t, tc.want, len(d.runs))
				next := 0
				for _, r := range d.runs {
					require.Equal(t, next, r.first)
					next = r.last
				}
				require.Equal(t, 7, next)
				require.LessOrEqual(t, d.most, max(tc.options.InFlight, 1))
			})
		})
	}
}

func TestPipelined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		c := qos.New(qos.Options{InFlight: 2}).MustClient("c", 1)
		_, err := c.Run(t.Context(), d.job("a", nn.PriorityLow, each(5, 2*ms)...))
		require.NoError(t, err)
		require.Equal(t, 2, d.most)
		require.Equal(t, d.runs[0].submitted, d.runs[1].submitted, "the second goes before the first is waited for")
		for i := 2; i < 5; i++ {
			require.Equal(t, d.runs[i-2].end, d.runs[i].submitted)
		}
	})
}

func TestHigherGoesNext(t *testing.T) {
	for _, tc := range []struct {
		name    string
		options qos.Options
		want    []string
	}{
		{"one in flight", qos.Options{}, []string{"low", "high", "high", "low", "low", "low"}},
		{"two in flight", qos.Options{InFlight: 2}, []string{"low", "low", "high", "high", "low", "low"}},
		{"no preemption", qos.Options{NoPreempt: true}, []string{"low", "high"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &device{t: t}
				s := qos.New(tc.options)
				c := s.MustClient("c", 1)
				low := start(t.Context(), c, d.job("low", nn.PriorityLow, each(4, 2*ms)...))
				time.Sleep(1 * ms)
				high := start(t.Context(), c, d.job("high", nn.PriorityHigh, 2*ms, 2*ms))
				h, l := <-high, <-low
				require.NoError(t, h.err)
				require.NoError(t, l.err)
				require.Equal(t, tc.want, d.order())
				preempted := 1
				if tc.options.NoPreempt {
					preempted = 0
				}
				require.Equal(t, preempted, l.report.Preemptions)
				require.Equal(t, 0, h.report.Preemptions)
				stats := s.Stats()
				require.EqualValues(t, preempted, stats.Preemptions)
				require.EqualValues(t, len(tc.want), stats.Submissions)
				require.Equal(t, 12*ms, stats.DeviceTime)
				require.LessOrEqual(t, d.most, max(tc.options.InFlight, 1))
			})
		})
	}
}

func TestEarliestDeadlineWithinALevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		c := qos.New(qos.Options{}).MustClient("c", 1)
		var all []<-chan outcome
		for _, k := range []struct {
			name     string
			priority nn.Priority
			deadline time.Duration
		}{
			{"first", nn.PriorityMedium, 0}, // takes the device at once
			{"none", nn.PriorityMedium, 0},
			{"none, later", nn.PriorityMedium, 0},
			{"far", nn.PriorityMedium, 300 * ms},
			{"near", nn.PriorityMedium, 100 * ms},
			{"middle", nn.PriorityMedium, 200 * ms},
			{"low, nearest", nn.PriorityLow, 50 * ms},
			{"high", nn.PriorityHigh, 0},
		} {
			j := d.job(k.name, k.priority, 3*ms)
			if k.deadline > 0 {
				j.Deadline = time.Now().Add(k.deadline)
			}
			all = append(all, start(t.Context(), c, j))
			synctest.Wait()
		}
		for _, o := range all {
			require.NoError(t, (<-o).err)
		}
		require.Equal(t, []string{"first", "high", "near", "middle", "far", "none", "none, later", "low, nearest"}, d.order())
	})
}

// TestWaitOfUrgent holds the wait of a HIGH job behind a saturating LOW one to three segments at the 99th
// percentile, and shows what it is without preemption.
func TestWaitOfUrgent(t *testing.T) {
	p99 := func(o qos.Options) time.Duration {
		var worst time.Duration
		synctest.Test(t, func(t *testing.T) {
			d := &device{t: t}
			c := qos.New(o).MustClient("c", 1)
			ctx, cancel := context.WithCancel(t.Context())
			var background []<-chan outcome
			for range 2 {
				done := make(chan outcome, 1)
				background = append(background, done)
				go func() {
					for ctx.Err() == nil {
						c.Run(ctx, d.job("low", nn.PriorityLow, each(60, 2*ms)...))
					}
					done <- outcome{}
				}()
			}
			var waits []time.Duration
			for i := range 500 {
				time.Sleep(7*ms + time.Duration(i%13)*100*time.Microsecond)
				j := d.job("high", nn.PriorityHigh, 1*ms, 1*ms)
				j.Begin = func(context.Context) error { time.Sleep(ms / 5); return nil } // copies the inputs
				report, err := c.Run(ctx, j)
				require.NoError(t, err)
				waits = append(waits, report.Queued)
			}
			cancel()
			for _, b := range background {
				<-b
			}
			worst = percentile(waits, 0.99)
		})
		return worst
	}
	for _, slots := range []int{1, 2} {
		with, without := p99(qos.Options{InFlight: slots}), p99(qos.Options{InFlight: slots, NoPreempt: true})
		t.Logf("%d in flight: p99 wait %v, without preemption %v", slots, with, without)
		require.LessOrEqual(t, with, 3*2*ms)
		require.Greater(t, without, 10*with)
	}
}

// percentile is the nearest rank.
func percentile(all []time.Duration, p float64) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(int(p*float64(len(sorted))), len(sorted)-1)]
}
