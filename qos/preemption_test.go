package qos_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// TestPreemptionSwitched: what goes next follows the switch; what is on the device stays.
func TestPreemptionSwitched(t *testing.T) {
	for _, slots := range []int{1, 2} {
		t.Run(fmt.Sprint(slots, " in flight"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &device{t: t}
				s := qos.New(qos.Options{InFlight: slots, NoPreempt: true})
				c := s.MustClient("c", 1)
				// both is how often a low job of 8 segments was preempted by a high one that comes 3 ms later.
				both := func(between func()) int {
					low := start(t.Context(), c, d.job("low", nn.PriorityLow, each(8, 2*ms)...))
					time.Sleep(3 * ms)
					between()
					high := <-start(t.Context(), c, d.job("high", nn.PriorityHigh, 2*ms))
					require.NoError(t, high.err)
					l := <-low
					require.NoError(t, l.err)
					return l.report.Preemptions
				}
				require.Equal(t, 0, both(func() {}))
				require.Equal(t, 0, both(func() { s.SetPreemption(true) }), "it was submitted whole")
				require.Equal(t, 1, both(func() {}))
				require.Equal(t, 1, both(func() { s.SetPreemption(true) }), "nothing changed")
				require.Equal(t, 0, both(func() { s.SetPreemption(false) }), "the rest goes whole")
				require.LessOrEqual(t, d.most, slots)
			})
		})
	}
}

// TestSharesAfterNoPreemption: a client that had more than its share without preemption owes the others nothing afterwards,
// and they owe it nothing.
func TestSharesAfterNoPreemption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &device{t: t}
		s := qos.New(qos.Options{NoPreempt: true})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for name, together := range map[string]int{"greedy": 9, "modest": 1} {
			c := s.MustClient(name, 1)
			for range together {
				wg.Go(func() {
					for ctx.Err() == nil {
						_, _ = c.Run(ctx, d.job(name, nn.PriorityMedium, each(4, 2*ms)...)) // the last is cancelled
					}
				})
			}
		}
		used := func() map[string]time.Duration {
			m := map[string]time.Duration{}
			for _, c := range s.Stats().Clients {
				m[c.Name] = c.DeviceTime
			}
			return m
		}
		time.Sleep(2 * time.Second)
		whole := used()
		require.Greater(t, whole["greedy"], 5*whole["modest"], "in the order of arrival")
		s.SetPreemption(true)
		time.Sleep(500 * ms)
		after := used()
		require.InDelta(t, 250, (after["greedy"]-whole["greedy"]).Seconds()*1000, 20)
		require.InDelta(t, 250, (after["modest"]-whole["modest"]).Seconds()*1000, 20)
		cancel()
		wg.Wait()
	})
}
