package qos_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// TestQ2PriorityWithinAClient: priorities order the executions of one client only; a client with HIGH ones gets no more
// of the device than one with LOW ones.
func TestQ2PriorityWithinAClient(t *testing.T) {
	got := shares(t, qos.Options{}, 5*time.Second,
		load{1, nn.PriorityHigh, 3, 5, 2 * ms, 0}, load{1, nn.PriorityLow, 3, 5, 2 * ms, 0})
	require.InEpsilon(t, got[0], got[1], 0.01)
	// A higher one may starve a lower one of its client; TestHigherGoesNext and TestAgeingBound have the order.
}

// TestQ5Deadlines: what a deadline does to an execution, on an idle device and on a busy one.
func TestQ5Deadlines(t *testing.T) {
	const (
		none       = nn.StatusNone
		transient  = nn.StatusMissedDeadlineTransient
		persistent = nn.StatusMissedDeadlinePersistent
	)
	for _, tc := range []struct {
		name  string
		left  time.Duration // for work of 10 ms
		busy  time.Duration // work of the same client that goes before
		level nn.Priority   // of that
		want  nn.Status
	}{
		{"now", 0, 0, 0, persistent},
		{"past", -time.Hour, 0, 0, persistent},
		{"longest past", math.MinInt64, 0, 0, persistent},
		{"5 ms", 5 * ms, 0, 0, persistent},
		{"just not", 10*ms - 1, 0, 0, persistent},
		{"just", 10 * ms, 0, 0, none},
		{"generous", time.Second, 0, 0, none},
		{"unreachable, busy", 5 * ms, 20 * ms, nn.PriorityMedium, persistent},
		{"met if idle", 15 * ms, 20 * ms, nn.PriorityMedium, none}, // an earlier deadline goes first
		{"met if idle, behind higher", 15 * ms, 20 * ms, nn.PriorityHigh, transient},
		{"before lower", 15 * ms, 20 * ms, nn.PriorityLow, none},
		{"busy and generous", 50 * ms, 20 * ms, nn.PriorityHigh, none},
		{"maximum of the clock", math.MaxInt64, 20 * ms, nn.PriorityHigh, none},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, way := range []string{"job", "context", "the nearer is the job's", "the nearer is the context's"} {
				synctest.Test(t, func(t *testing.T) {
					d := &device{t: t}
					s := qos.New(qos.Options{})
					c := s.MustClient("c", 1)
					var before <-chan outcome
					if tc.busy > 0 {
						before = start(t.Context(), c, d.job("before", tc.level, each(int(tc.busy/(2*ms)), 2*ms)...))
						synctest.Wait()
					}
					began := time.Now()
					at, farther := began.Add(tc.left), began.Add(tc.left).Add(time.Hour)
					j := d.job("a", nn.PriorityMedium, each(5, 2*ms)...)
					ctx, cancel := t.Context(), func() {}
					switch way {
					case "job":
						j.Deadline = at
					case "context":
						ctx, cancel = context.WithDeadline(ctx, at)
					case "the nearer is the job's":
						j.Deadline = at
						ctx, cancel = context.WithDeadline(ctx, farther)
					default:
						j.Deadline = farther
						ctx, cancel = context.WithDeadline(ctx, at)
					}
					defer cancel()
					admitted := c.Admit(j)
					_, err := c.Run(ctx, j)
					require.Equal(t, tc.want, nn.StatusOf(err), "%s: %v", way, err)
					if err != nil {
						require.ErrorIs(t, err, qos.ErrDeadline)
						require.ErrorIs(t, err, context.DeadlineExceeded)
						require.Equal(t, began, time.Now(), "refused without waiting")
						require.NotContains(t, d.order(), "a", "refused without work")
						require.NotZero(t, s.Stats().Refused)
						require.Zero(t, s.Stats().Missed)
					}
					if way != "context" && way != "the nearer is the context's" {
						require.Equal(t, tc.want, nn.StatusOf(admitted), "Admit")
					}
					if before != nil {
						require.NoError(t, (<-before).err)
					}
				})
			}
		})
	}
}

// TestQ5MaximumOfTheClock: the forms in which "no deadline" arrives are none, and nothing overflows.
func TestQ5MaximumOfTheClock(t *testing.T) {
	for _, at := range []time.Time{
		time.Unix(0, math.MaxInt64), time.Unix(math.MaxInt64, 0), time.Unix(1<<55, 999999999),
		time.Now().Add(math.MaxInt64), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if at.Before(time.Now()) {
			continue // time itself has wrapped around
		}
		d := &device{t: t}
		j := d.job("a", nn.PriorityLow, 0, 0)
		j.Segments = []time.Duration{math.MaxInt64, math.MaxInt64}
		j.Deadline = at
		c := qos.New(qos.Options{}).MustClient("c", 1)
		require.NoError(t, c.Admit(j), "%v", at)
		_, err := c.Run(t.Context(), j)
		require.NoError(t, err, "%v", at)
	}
	j := (&device{}).job("a", nn.PriorityLow, math.MaxInt64, math.MaxInt64, -1)
	j.Deadline, j.Fastest = time.Now().Add(time.Hour), math.MaxInt64
	require.Equal(t, nn.StatusMissedDeadlinePersistent, nn.StatusOf(qos.New(qos.Options{}).MustClient("c", 1).Admit(j)))
}

// TestQ8RefusedForTheSakeOfOthers: a job that would make an admitted one of its level miss is refused, and may be
// tried again; one of a higher level is not, nor is one that changes nothing.
func TestQ8RefusedForTheSakeOfOthers(t *testing.T) {
	for _, tc := range []struct {
		name     string
		priority nn.Priority
		other    bool // another client
		left     time.Duration
		want     nn.Status
	}{
		{"same level, earlier deadline", nn.PriorityMedium, false, 15 * ms, nn.StatusMissedDeadlineTransient},
		{"same level, later deadline", nn.PriorityMedium, false, 100 * ms, nn.StatusNone},
		{"higher level", nn.PriorityHigh, false, 15 * ms, nn.StatusNone},
		{"lower level", nn.PriorityLow, false, 100 * ms, nn.StatusNone},
		{"lower level, no time to wait", nn.PriorityLow, false, 15 * ms, nn.StatusMissedDeadlineTransient},
		{"another client takes its share", nn.PriorityHigh, true, 24 * ms, nn.StatusMissedDeadlineTransient},
		{"no deadline", nn.PriorityHigh, false, 0, nn.StatusNone},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &device{t: t}
				s := qos.New(qos.Options{})
				c := s.MustClient("c", 1)
				promised := d.job("promised", nn.PriorityMedium, each(10, 2*ms)...)
				promised.Deadline = time.Now().Add(21 * ms)
				first := start(t.Context(), c, promised)
				synctest.Wait()
				j := d.job("new", tc.priority, each(5, 2*ms)...)
				if tc.left > 0 {
					j.Deadline = time.Now().Add(tc.left)
				}
				if tc.other {
					c = s.MustClient("other", 1)
				}
				_, err := c.Run(t.Context(), j)
				require.Equal(t, tc.want, nn.StatusOf(err), "%v", err)
				f := <-first
				if tc.priority == nn.PriorityHigh && tc.want == nn.StatusNone {
					require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(f.err), "it was displaced")
					require.EqualValues(t, 1, s.Stats().Missed)
				} else {
					require.NoError(t, f.err)
				}
			})
		})
	}
}

// TestQ8GivenUp: what no longer can be met is given up at a border, and may be tried again: whether others are to blame,
// or something that the scheduler does not see.
func TestQ8GivenUp(t *testing.T) {
	t.Run("slower than estimated", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := &device{t: t}
			s := qos.New(qos.Options{})
			j := d.misjudged("a", nn.PriorityMedium, each(10, 4*ms), each(10, 2*ms))
			j.Deadline = time.Now().Add(25 * ms)
			o := <-start(t.Context(), s.MustClient("c", 1), j)
			require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(o.err))
			require.Equal(t, d.free, o.end)
			require.Less(t, len(d.runs), 6)
			require.EqualValues(t, 1, s.Stats().Missed)
			require.Zero(t, s.Stats().Completed)
		})
	})
	t.Run("overtaken", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := &device{t: t}
			c := qos.New(qos.Options{}).MustClient("c", 1)
			j := d.job("a", nn.PriorityMedium, each(10, 2*ms)...)
			j.Deadline = time.Now().Add(25 * ms)
			a := start(t.Context(), c, j)
			time.Sleep(3 * ms)
			b := start(t.Context(), c, d.job("b", nn.PriorityHigh, each(20, 2*ms)...))
			o := <-a
			require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(o.err))
			require.Less(t, o.end.Sub(j.Deadline), time.Duration(0), "as soon as it is certain, not when it is late")
			require.Equal(t, 1, o.report.Preemptions)
			require.NoError(t, (<-b).err)
		})
	})
	t.Run("waiting", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := &device{t: t}
			c := qos.New(qos.Options{}).MustClient("c", 1)
			long := start(t.Context(), c, d.misjudged("long", nn.PriorityHigh, []time.Duration{100 * ms}, []time.Duration{2 * ms}))
			synctest.Wait()
			j := d.job("a", nn.PriorityHigh, 10*ms)
			j.Deadline = time.Now().Add(20 * ms)
			began := time.Now()
			o := <-start(t.Context(), c, j)
			require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(o.err))
			require.Less(t, o.end.Sub(began), 20*ms)
			require.Zero(t, o.report.Submissions)
			require.NoError(t, (<-long).err)
		})
	})
}

// TestQ9LateIsLegal: once the last segment is on the device the job is completed, however late.
func TestQ9LateIsLegal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		s := qos.New(qos.Options{})
		c := s.MustClient("c", 1)
		j := d.misjudged("a", nn.PriorityLow, []time.Duration{30 * ms}, []time.Duration{2 * ms})
		ctx, cancel := context.WithTimeout(t.Context(), 5*ms)
		defer cancel()
		_, err := c.Run(ctx, j)
		require.NoError(t, err)
		require.EqualValues(t, 1, s.Stats().Missed)
		require.EqualValues(t, 1, s.Stats().Completed)
	})
}

// TestX2AnyNumberAtOnce: calls return only when done, and any number may run at the same time.
func TestX2AnyNumberAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		c := qos.New(qos.Options{InFlight: 2}).MustClient("c", 1)
		var all []<-chan outcome
		for range 200 {
			all = append(all, start(t.Context(), c, d.job("a", nn.PriorityLow, each(3, ms)...)))
		}
		for _, o := range all {
			require.NoError(t, (<-o).err)
		}
		require.Len(t, d.runs, 600)
	})
}

// TestX11Duration: a duration that starts when fences have signalled is a context with a deadline around Run.
func TestX11Duration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		c := qos.New(qos.Options{}).MustClient("c", 1)
		time.Sleep(time.Second) // the fences
		ctx, cancel := context.WithTimeout(t.Context(), 5*ms)
		defer cancel()
		j := d.job("a", nn.PriorityLow, each(5, 2*ms)...)
		j.Deadline = time.Now().Add(time.Hour)
		_, err := c.Run(ctx, j)
		require.Equal(t, nn.StatusMissedDeadlinePersistent, nn.StatusOf(err))
	})
}
