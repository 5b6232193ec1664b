package qos_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// TestForecast: beside others without deadlines, the forecast is the nearest deadline that can be met, to the nanosecond;
// the job ends then where nothing else comes; and asking counts as nothing.
func TestForecast(t *testing.T) {
	for _, o := range []qos.Options{{}, {InFlight: 2}, {NoPreempt: true}} {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(5, 6))
			d := &device{t: t}
			s := qos.New(o)
			clients := []*qos.Client{s.MustClient("a", 1), s.MustClient("b", 2), s.MustClient("c", 0.5)}
			job := func() *qos.Job {
				truly := each(1+rnd.IntN(9), time.Duration(1+rnd.IntN(3))*ms)
				return d.misjudged("a", nn.Priority(rnd.IntN(3)), truly, each(len(truly), truly[0]*time.Duration(2+rnd.IntN(3))/3))
			}
			var running sync.WaitGroup
			defer running.Wait()
			later := 0
			for range 1000 {
				time.Sleep(time.Duration(rnd.ExpFloat64() * float64(15*ms)))
				c, j := clients[rnd.IntN(len(clients))], job()
				j.Deadline = time.Now() // any: it goes before those of its level that have none
				before := s.Stats()
				end, err := c.Forecast(j)
				require.NoError(t, err)
				require.Equal(t, before, s.Stats())
				if end.After(time.Now().Add(30 * ms)) {
					later++
				}
				j.Deadline = end
				require.NoError(t, c.CanMeet(j))
				j.Deadline = end.Add(-1)
				require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(c.CanMeet(j)))
				j.Deadline = time.Time{}
				running.Go(func() {
					_, err := c.Run(context.Background(), j)
					assert.NoError(t, err)
				})
				synctest.Wait()
			}
			running.Wait()
			require.Greater(t, later, 100, "most had to wait")
			j := d.job("last", nn.PriorityLow, 3*ms, 4*ms)
			end, err := s.MustClient("alone", 1).Forecast(j)
			require.NoError(t, err)
			require.Equal(t, 7*ms, time.Until(end))
		})
	}
}

// TestForecastOfALine: behind what goes before it and before what does not, exactly, where estimates are right.
func TestForecastOfALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		s := qos.New(qos.Options{Ageing: -1, QueueLimit: 3})
		c := s.MustClient("a", 1)
		at := time.Now()
		forecast := func(j *qos.Job) time.Duration {
			end, err := c.Forecast(j)
			require.NoError(t, err)
			return end.Sub(at)
		}
		asked := func(p nn.Priority) *qos.Job { return d.job("asked", p, 2*ms, 3*ms) }
		require.Equal(t, 5*ms, forecast(asked(nn.PriorityLow)))

		low := start(t.Context(), c, d.job("low", nn.PriorityLow, each(10, 10*ms)...))
		synctest.Wait()
		medium := start(t.Context(), c, d.job("medium", nn.PriorityMedium, each(5, 10*ms)...))
		synctest.Wait()
		require.Equal(t, 15*ms, forecast(asked(nn.PriorityHigh)), "behind what is on the device")
		require.Equal(t, 65*ms, forecast(asked(nn.PriorityMedium)))
		require.Equal(t, 155*ms, forecast(asked(nn.PriorityLow)), "behind all")
		first := asked(nn.PriorityMedium)
		first.Deadline = at.Add(-ms)
		require.Equal(t, 15*ms, forecast(first), "the earliest deadline of its level, though it has passed")

		time.Sleep(25 * ms)
		require.Equal(t, 155*ms, forecast(asked(nn.PriorityLow)), "the same some time later")
		require.Equal(t, nn.StatusNone, nn.StatusOf((<-low).err))
		require.Equal(t, nn.StatusNone, nn.StatusOf((<-medium).err))
		c.Close()
		_, err := c.Forecast(asked(nn.PriorityLow))
		require.ErrorIs(t, err, qos.ErrClosed)
	})
}
