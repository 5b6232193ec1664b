package qos_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// TestCanMeet: asked just before the call it says what admission says in 99 of 100 cases, counts as no refusal, and
// leaves nothing behind.
func TestCanMeet(t *testing.T) {
	for _, o := range []qos.Options{{}, {InFlight: 2}, {NoPreempt: true}, {QueueLimit: 3}} {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(3, 4))
			d := &device{t: t}
			s := qos.New(o)
			clients := []*qos.Client{s.MustClient("a", 1), s.MustClient("b", 2), s.MustClient("c", 0.5)}
			var running sync.WaitGroup
			refused, differ := uint64(0), 0
			const requests = 3000
			for range requests {
				time.Sleep(time.Duration(rnd.ExpFloat64() * float64(9*ms)))
				truly := each(1+rnd.IntN(9), time.Duration(1+rnd.IntN(3))*ms)
				j := d.job("a", nn.Priority(rnd.IntN(3)), truly...)
				if rnd.IntN(5) > 0 {
					j.Deadline = time.Now().Add(time.Duration(rnd.IntN(int(100 * ms))))
				}
				c := clients[rnd.IntN(len(clients))]
				forecast := c.CanMeet(j)
				require.Equal(t, refused, s.Stats().Refused)
				said := make(chan error, 1)
				running.Go(func() {
					_, err := c.Run(t.Context(), j)
					said <- err
				})
				synctest.Wait()
				var got error
				if s.Stats().Refused > refused {
					got = <-said
				}
				refused = s.Stats().Refused
				if nn.StatusOf(got) != nn.StatusOf(forecast) {
					differ++
				}
			}
			running.Wait()
			t.Logf("%d of %d refused, %d forecasts differ", refused, requests, differ)
			require.Greater(t, refused, uint64(requests/20))
			require.LessOrEqual(t, differ, requests/100)
		})
	}
}
