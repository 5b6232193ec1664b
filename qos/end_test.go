package qos_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

func TestCancelledWhileRunning(t *testing.T) {
	for _, slots := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			d := &device{t: t}
			s := qos.New(qos.Options{InFlight: slots})
			ctx, cancel := context.WithCancel(t.Context())
			r := start(ctx, s.MustClient("c", 1), d.job("a", nn.PriorityLow, each(10, 2*ms)...))
			time.Sleep(5 * ms)
			cancel()
			o := <-r
			require.Equal(t, context.Canceled, o.err)
			require.Len(t, d.runs, 2+slots, "the third segment ran, and what was behind it")
			require.Equal(t, d.free, o.end, "what is on the device is waited for, and nothing else")
			require.Zero(t, s.Stats().Clients[0].Jobs)
			require.Equal(t, time.Duration(2+slots)*2*ms, s.Stats().DeviceTime)
		})
	}
}

func TestCancelledWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		c := qos.New(qos.Options{}).MustClient("c", 1)
		first := start(t.Context(), c, d.job("a", nn.PriorityHigh, 10*ms))
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		second := start(ctx, c, d.job("b", nn.PriorityHigh, 10*ms))
		time.Sleep(3 * ms)
		cancel(errors.New("no more"))
		at := time.Now()
		o := <-second
		require.Equal(t, context.Canceled, o.err)
		require.Equal(t, at, o.end, "at once")
		require.NoError(t, (<-first).err)
		require.Equal(t, []string{"a"}, d.order())
	})
}

func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := &device{t: t}
	_, err := qos.New(qos.Options{}).MustClient("c", 1).Run(ctx, d.job("a", nn.PriorityLow, ms))
	require.Equal(t, context.Canceled, err)
	require.Empty(t, d.runs)
}

// TestCancelledAfterTheLastSegment: what is complete is complete.
func TestCancelledAfterTheLastSegment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		ctx, cancel := context.WithCancel(t.Context())
		r := start(ctx, qos.New(qos.Options{}).MustClient("c", 1), d.job("a", nn.PriorityLow, 2*ms))
		time.Sleep(ms)
		cancel()
		require.NoError(t, (<-r).err)
	})
}

func TestCloseEndsJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		s := qos.New(qos.Options{})
		c, other := s.MustClient("c", 1), s.MustClient("other", 1)
		running := start(t.Context(), c, d.job("a", nn.PriorityLow, each(10, 2*ms)...))
		synctest.Wait()
		waiting := start(t.Context(), c, d.job("b", nn.PriorityLow, 2*ms))
		bystander := start(t.Context(), other, d.job("o", nn.PriorityLow, 2*ms))
		time.Sleep(ms)
		c.Close()
		c.Close()
		at := time.Now()
		w := <-waiting
		require.ErrorIs(t, w.err, qos.ErrClosed)
		require.Equal(t, at, w.end)
		r := <-running
		require.ErrorIs(t, r.err, qos.ErrClosed)
		require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(r.err))
		require.Equal(t, at.Add(ms), r.end)
		require.NoError(t, (<-bystander).err)
		_, err := c.Run(t.Context(), d.job("late", nn.PriorityLow, 2*ms))
		require.ErrorIs(t, err, qos.ErrClosed)
		require.ErrorIs(t, c.Admit(d.job("late", nn.PriorityLow, 2*ms)), qos.ErrClosed)
		require.Equal(t, []string{"a", "o"}, d.order())
		require.Len(t, s.Stats().Clients, 1, "closed clients are forgotten")
		require.Equal(t, 4*ms, s.Stats().DeviceTime)
	})
}

func TestFaults(t *testing.T) {
	fault := errors.New("the device is lost")
	for _, slots := range []int{1, 2} {
		t.Run("fence", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &device{t: t}
				s := qos.New(qos.Options{InFlight: slots})
				c := s.MustClient("c", 1)
				j := d.job("a", nn.PriorityLow, each(10, 2*ms)...)
				submit := j.Submit
				j.Submit = func(first, last int) (qos.Fence, error) {
					f, err := submit(first, last)
					if first == 2 {
						return doneAt{at: f.(doneAt).at, err: fault}, err
					}
					return f, err
				}
				observed := 0
				j.Observe = func(first, last int, took time.Duration) { observed++ }
				o := <-start(t.Context(), c, j)
				require.Equal(t, fault, o.err)
				require.Equal(t, d.free, o.end)
				require.Equal(t, 2+slots, o.report.Submissions)
				require.Equal(t, 2, observed)
				_, err := c.Run(t.Context(), d.job("b", nn.PriorityLow, 2*ms))
				require.NoError(t, err, "the place is free again")
			})
		})
		t.Run("submit", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &device{t: t}
				s := qos.New(qos.Options{InFlight: slots})
				c := s.MustClient("c", 1)
				j := d.job("a", nn.PriorityLow, each(10, 2*ms)...)
				submit := j.Submit
				j.Submit = func(first, last int) (qos.Fence, error) {
					if first == 3 {
						return nil, fault
					}
					return submit(first, last)
				}
				o := <-start(t.Context(), c, j)
				require.Equal(t, fault, o.err)
				require.Equal(t, d.free, o.end)
				require.Equal(t, 6*ms, s.Stats().DeviceTime)
				_, err := c.Run(t.Context(), d.job("b", nn.PriorityLow, 2*ms))
				require.NoError(t, err, "the place is free again")
			})
		})
	}
	t.Run("begin", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := &device{t: t}
			c := qos.New(qos.Options{}).MustClient("c", 1)
			for range 5 {
				j := d.job("a", nn.PriorityLow, 2*ms)
				j.Begin = func(context.Context) error { return fault }
				_, err := c.Run(t.Context(), j)
				require.Equal(t, fault, err)
			}
			require.Empty(t, d.runs)
		})
	})
}

func TestQueueLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		s := qos.New(qos.Options{QueueLimit: 3})
		c, other := s.MustClient("c", 1), s.MustClient("other", 1)
		var all []<-chan outcome
		for range 4 { // one runs, three wait
			all = append(all, start(t.Context(), c, d.job("a", nn.PriorityLow, 2*ms)))
			synctest.Wait()
		}
		_, err := c.Run(t.Context(), d.job("too many", nn.PriorityLow, 2*ms))
		require.Equal(t, nn.StatusResourceExhaustedTransient, nn.StatusOf(err))
		all = append(all, start(t.Context(), other, d.job("o", nn.PriorityLow, 2*ms)))
		for _, o := range all {
			require.NoError(t, (<-o).err)
		}
		require.NotContains(t, d.order(), "too many")
		_, err = c.Run(t.Context(), d.job("again", nn.PriorityHigh, 2*ms))
		require.NoError(t, err)
	})
}

// TestQueueLimitByPriority: in a full queue one of higher priority takes the place of the last of the lowest that has not
// had the device, wherever that is with Begin; others keep theirs, and nobody of the same priority is pushed out.
func TestQueueLimitByPriority(t *testing.T) {
	for _, begin := range []string{"none", "waits for an arena", "at once"} {
		t.Run(begin, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &device{t: t}
				s := qos.New(qos.Options{QueueLimit: 4})
				c := s.MustClient("c", 1)
				job := func(name string, p nn.Priority) *qos.Job {
					j := d.job(name, p, 10*ms)
					switch begin {
					case "at once":
						j.Begin = func(context.Context) error { return nil }
					case "waits for an arena":
						j.Begin = func(ctx context.Context) error {
							select {
							case <-time.After(15 * ms):
							case <-ctx.Done():
							}
							return ctx.Err()
						}
					}
					return j
				}
				run := func(name string, p nn.Priority) <-chan outcome {
					out := start(t.Context(), c, job(name, p))
					synctest.Wait()
					return out
				}
				running := start(t.Context(), c, d.job("running", nn.PriorityLow, 10*ms))
				synctest.Wait()
				first, second := run("low 1", nn.PriorityLow), run("low 2", nn.PriorityLow)
				medium, third := run("medium", nn.PriorityMedium), run("low 3", nn.PriorityLow)
				require.Equal(t, nn.StatusResourceExhaustedTransient, nn.StatusOf((<-run("low 4", nn.PriorityLow)).err))
				require.Equal(t, nn.StatusResourceExhaustedTransient, nn.StatusOf(c.CanMeet(job("low", nn.PriorityLow))))
				require.NoError(t, c.CanMeet(job("high", nn.PriorityHigh)))
				high := run("high", nn.PriorityHigh)
				o := <-third
				require.Equal(t, nn.StatusResourceExhaustedTransient, nn.StatusOf(o.err), "%v", o.err)
				require.Zero(t, o.report.Submissions)
				require.Equal(t, 0*ms, time.Since(o.end), "at once")
				highs := []<-chan outcome{high, run("high", nn.PriorityHigh), run("high", nn.PriorityHigh)}
				require.Equal(t, nn.StatusResourceExhaustedTransient, nn.StatusOf((<-second).err))
				require.Equal(t, nn.StatusResourceExhaustedTransient, nn.StatusOf((<-first).err))
				require.Equal(t, nn.StatusResourceExhaustedTransient, nn.StatusOf((<-run("medium 2", nn.PriorityMedium)).err))
				for _, o := range append(highs, medium, running) {
					require.NoError(t, (<-o).err)
				}
				require.EqualValues(t, 3, s.Stats().Displaced)
				require.NotContains(t, d.order(), "low 1")
			})
		})
	}
}

func TestNoSegments(t *testing.T) {
	began := false
	j := &qos.Job{Begin: func(context.Context) error { began = true; return nil }}
	report, err := qos.New(qos.Options{}).MustClient("c", 1).Run(t.Context(), j)
	require.NoError(t, err)
	require.True(t, began)
	require.Zero(t, report.Submissions)
}

func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		s := qos.New(qos.Options{InFlight: 2})
		c := s.MustClient("c", 1)
		type measured struct {
			first, last int
			took        time.Duration
		}
		var a []measured
		j := d.misjudged("a", nn.PriorityLow, []time.Duration{1 * ms, 2 * ms, 3 * ms, 4 * ms}, each(4, 2*ms))
		j.Observe = func(first, last int, took time.Duration) { a = append(a, measured{first, last, took}) }
		first := start(t.Context(), c, j)
		synctest.Wait()
		second := start(t.Context(), c, d.job("b", nn.PriorityHigh, 5*ms))
		require.NoError(t, (<-first).err)
		require.NoError(t, (<-second).err)
		require.Equal(t, []string{"a", "a", "b", "a", "a"}, d.order())
		require.Equal(t, []measured{{0, 1, 1 * ms}, {1, 2, 2 * ms}, {2, 3, 3 * ms}, {3, 4, 4 * ms}}, a, "without the time of the others")
	})
}

// TestBeginDoesNotHoldTheDevice: a job that waits for an arena lets others run, who may be the ones that have it.
func TestBeginDoesNotHoldTheDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		c := qos.New(qos.Options{}).MustClient("c", 1)
		slot := make(chan struct{}, 1) // an arena, for one
		slotted := func(name string, p nn.Priority, n int) *qos.Job {
			j := d.job(name, p, each(n, 2*ms)...)
			begun := 0
			j.Begin = func(ctx context.Context) error {
				begun++
				require.Equal(t, 1, begun)
				select {
				case slot <- struct{}{}:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return j
		}
		run := func(j *qos.Job) <-chan outcome {
			out := make(chan outcome, 1)
			go func() {
				report, err := c.Run(t.Context(), j)
				if err == nil {
					<-slot
				}
				out <- outcome{report, err, time.Now()}
			}()
			synctest.Wait()
			return out
		}
		low := run(slotted("low", nn.PriorityLow, 3))
		high := run(slotted("high", nn.PriorityHigh, 1))
		other := start(t.Context(), c, d.job("other", nn.PriorityMedium, 2*ms))
		late := slotted("late", nn.PriorityHigh, 1)
		late.Deadline = time.Now().Add(3 * ms)
		missed := run(late)
		m := <-missed
		require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(m.err))
		for _, o := range []<-chan outcome{low, high, other} {
			require.NoError(t, (<-o).err)
		}
		require.Equal(t, []string{"low", "other", "low", "low", "high"}, d.order())
	})
}

// TestWaitingJobsDoNotBegin: arenas are not taken by jobs whose turn is far.
func TestWaitingJobsDoNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		c := qos.New(qos.Options{}).MustClient("c", 1)
		var mu sync.Mutex
		began, most, done := 0, 0, 0
		var all []<-chan outcome
		for range 50 {
			j := d.job("a", nn.PriorityLow, 2*ms)
			j.Begin = func(context.Context) error {
				mu.Lock()
				defer mu.Unlock()
				began++
				most = max(most, began-done)
				return nil
			}
			j.Observe = func(int, int, time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				done++
			}
			all = append(all, start(t.Context(), c, j))
			synctest.Wait()
		}
		for _, o := range all {
			require.NoError(t, (<-o).err)
		}
		require.LessOrEqual(t, most, 4, "one that ends, one that runs, two that begin")
	})
}

func TestCloseEndsBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		s := qos.New(qos.Options{})
		c := s.MustClient("c", 1)
		j := d.job("a", nn.PriorityLow, 2*ms)
		j.Begin = func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		r := start(t.Context(), c, j)
		synctest.Wait()
		c.Close()
		require.ErrorIs(t, (<-r).err, qos.ErrClosed)
		require.Empty(t, s.Stats().Clients)
		require.Empty(t, d.runs)
	})
}

// TestBlockedBeginsKeepNobodyOut: jobs that wait for arenas of one model do not make an urgent one of another wait.
func TestBlockedBeginsKeepNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		c := qos.New(qos.Options{}).MustClient("c", 1)
		low := start(t.Context(), c, d.job("low", nn.PriorityLow, each(50, 2*ms)...))
		free := make(chan struct{})
		var blocked []<-chan outcome
		for range 4 {
			j := d.job("blocked", nn.PriorityHigh, ms)
			j.Begin = func(context.Context) error { <-free; return nil }
			blocked = append(blocked, start(t.Context(), c, j))
			time.Sleep(3 * ms)
		}
		j := d.job("other", nn.PriorityMedium, ms)
		j.Begin = func(context.Context) error { return nil }
		o := <-start(t.Context(), c, j)
		require.NoError(t, o.err)
		require.LessOrEqual(t, o.report.Queued, 4*ms)
		require.NoError(t, (<-low).err)
		close(free)
		for _, b := range blocked {
			require.NoError(t, (<-b).err)
		}
	})
}
