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

// arenas is what Begin waits for.
type arenas chan struct{}

// run executes j, which holds one of a meanwhile.
func (a arenas) run(ctx context.Context, c *qos.Client, j *qos.Job) (qos.Report, error) {
	took := false
	j.Begin = func(ctx context.Context) error {
		select {
		case a <- struct{}{}:
			took = true
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer func() {
		if took {
			<-a
		}
	}()
	return c.Run(ctx, j)
}

// TestBlockedBegins: long low jobs that wait for each other's arenas do not keep a high one out, of their client or
// another, even when they have waited so long that they count as urgent.
func TestBlockedBegins(t *testing.T) {
	for _, tc := range []struct {
		name         string
		other, group bool
	}{
		{"one client", false, true},
		{"two clients", true, true},
		{"one client, no group", false, false},
		{"two clients, no group", true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &device{t: t}
				s := qos.New(qos.Options{})
				c := s.MustClient("c", 1)
				urgent := c
				if tc.other {
					urgent = s.MustClient("d", 1)
				}
				four, group := make(arenas, 4), &qos.Group{}
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				for range 16 {
					running.Go(func() {
						for ctx.Err() == nil {
							j := d.job("low", nn.PriorityLow, each(250, 2*ms)...)
							if tc.group {
								j.Group = group
							}
							_, _ = four.run(ctx, c, j)
						}
					})
				}
				time.Sleep(900 * ms)
				for range 20 {
					time.Sleep(37 * ms)
					report, err := make(arenas, 1).run(ctx, urgent, d.job("high", nn.PriorityHigh, 2*ms))
					require.NoError(t, err)
					require.LessOrEqual(t, report.Queued, 6*ms, "for a segment or two, not for an execution")
				}
				cancel()
				running.Wait()
			})
		})
	}
}

// TestGroupKeepsOrder: of jobs that wait for one arena, those that come while one is blocked in Begin are called later, in
// the order of choice.
func TestGroupKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		c := qos.New(qos.Options{}).MustClient("c", 1)
		one, group := make(arenas, 1), &qos.Group{}
		var running sync.WaitGroup
		begin := func(name string, left time.Duration) {
			running.Go(func() {
				j := d.job(name, nn.PriorityMedium, each(9, 2*ms)...)
				j.Group, j.Deadline = group, time.Now().Add(left)
				_, err := one.run(t.Context(), c, j)
				require.NoError(t, err)
			})
			time.Sleep(2 * ms)
		}
		begin("first", time.Second)
		begin("relaxed", time.Second)
		begin("inside", 900*ms)
		time.Sleep(ms)
		begin("early", 700*ms)
		running.Wait()
		require.Equal(t, []string{"first", "inside", "early", "relaxed"}, slices.Compact(d.order()))
	})
}

// TestPatienceEnds: on an idle device, who comes while others seem to be at work in Begin waits until they count as
// blocked, and no longer.
func TestPatienceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		c := qos.New(qos.Options{}).MustClient("c", 1)
		free := make(chan struct{})
		var blocked []<-chan outcome
		for range 2 {
			j := d.job("blocked", nn.PriorityLow, ms)
			j.Begin = func(context.Context) error { <-free; return nil }
			blocked = append(blocked, start(t.Context(), c, j))
			synctest.Wait()
		}
		time.Sleep(ms)
		j := d.job("high", nn.PriorityHigh, ms)
		j.Begin = func(context.Context) error { return nil }
		out := <-start(t.Context(), c, j)
		require.NoError(t, out.err)
		require.Equal(t, ms, out.report.Queued)
		close(free)
		for _, b := range blocked {
			require.NoError(t, (<-b).err)
		}
	})
}

// TestBlockedEarnsNothing: a client whose only job was blocked in Begin has no claim to the time that another had
// meanwhile.
func TestBlockedEarnsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		s := qos.New(qos.Options{})
		a, b := s.MustClient("a", 1), s.MustClient("b", 1)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		load := func(c *qos.Client, name string) {
			for range 2 {
				running.Go(func() {
					for ctx.Err() == nil {
						_, _ = c.Run(ctx, d.job(name, nn.PriorityMedium, each(10, 2*ms)...))
					}
				})
			}
		}
		load(b, "b")
		time.Sleep(ms)
		free := make(chan struct{})
		j := d.job("a", nn.PriorityMedium, ms)
		j.Begin = func(context.Context) error { <-free; return nil }
		blocked := start(ctx, a, j)
		time.Sleep(5 * time.Second)
		load(a, "a")
		close(free)
		require.NoError(t, (<-blocked).err)
		from := time.Now()
		time.Sleep(time.Second)
		cancel()
		running.Wait()
		for _, r := range d.runs {
			if r.name == "b" && r.start.After(from) {
				require.LessOrEqual(t, r.start.Sub(from), 10*ms, "b was kept out")
				from = r.end
			}
		}
	})
}

// TestBeginEndsWhenLost: a job that waits in Begin is given up when the rest can no longer be done in time.
func TestBeginEndsWhenLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		c := qos.New(qos.Options{}).MustClient("c", 1)
		j := d.job("a", nn.PriorityMedium, each(40, 2*ms)...)
		began := time.Now()
		j.Deadline = began.Add(100 * ms)
		j.Begin = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		out := <-start(t.Context(), c, j)
		require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(out.err))
		require.InDelta(t, float64(20*ms), float64(out.end.Sub(began)), float64(2*ms))
	})
}

// gate is a fence that is signalled when it is closed.
type gate chan struct{}

func (g gate) Wait(context.Context) error { <-g; return nil }

// TestLanes: what is measured of a submission has nothing of another queue's.
func TestLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := qos.New(qos.Options{InFlight: 2})
		c := s.MustClient("c", 1)
		observed := map[int]time.Duration{}
		job := func(p nn.Priority, lane int, truly time.Duration) *qos.Job {
			return &qos.Job{
				Priority: p, Lane: lane, Segments: each(1, 4*ms),
				Submit: func(first, last int) (qos.Fence, error) {
					done := make(gate)
					time.AfterFunc(truly, func() { close(done) })
					return done, nil
				},
				Observe: func(_, _ int, took time.Duration) { observed[lane] = took },
			}
		}
		low := start(t.Context(), c, job(nn.PriorityLow, 0, 4*ms))
		time.Sleep(ms)
		high := start(t.Context(), c, job(nn.PriorityHigh, 1, ms))
		require.NoError(t, (<-high).err)
		require.NoError(t, (<-low).err)
		require.Equal(t, map[int]time.Duration{0: 4 * ms, 1: ms}, observed)
		_, err := c.Run(t.Context(), job(nn.PriorityLow, 1<<40, ms))
		require.NoError(t, err, "a lane that does not exist is the last")
	})
}

// TestForecastBehindDeepQueues: what is near is foreseen finely, however much waits.
func TestForecastBehindDeepQueues(t *testing.T) {
	for _, n := range []int{4, 250} {
		synctest.Test(t, func(t *testing.T) {
			d := &device{t: t}
			s := qos.New(qos.Options{})
			deep, other := s.MustClient("deep", 1), s.MustClient("other", 1)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			for range n {
				running.Go(func() {
					for ctx.Err() == nil {
						_, _ = deep.Run(ctx, d.job("deep", nn.PriorityLow, each(250, 2*ms)...))
					}
				})
			}
			time.Sleep(ms)
			for range 200 {
				j := d.job("other", nn.PriorityHigh, each(2, 5*ms)...)
				j.Deadline = time.Now().Add(100 * ms)
				_, err := other.Run(ctx, j)
				require.NoError(t, err, "%d jobs of the other client", n)
			}
			cancel()
			running.Wait()
		})
	}
}
