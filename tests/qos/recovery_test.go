package qos

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

// TestRecoversFromLoad: 30 executions, then 12 goroutines that do nothing but turn for 4 s, then none. The first request
// after them that has half as much time again as the slowest of the 30 took succeeds within a second, and until then
// none is told that it never could.
func TestRecoversFromLoad(t *testing.T) {
	lasting, bound := time.Second, 20*time.Second // the machine has other work
	if soak() && !nntest.Raced {
		lasting, bound = 4*time.Second, time.Second
	}
	m := loadModel(t, "mobilenet_v1_025_224_f32")
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		c, err := d.NewClient("test")
		require.NoError(t, err)
		for _, rate := range []time.Duration{30 * time.Millisecond, 100 * time.Millisecond} {
			t.Run(fmt.Sprint(rate), func(t *testing.T) {
				p, err := c.PrepareModel(t.Context(), m)
				require.NoError(t, err)
				defer p.Close()
				inputs, outputs := buffers(p, m)
				var slowest time.Duration
				for range 30 {
					start := time.Now()
					_, err := p.Run(t.Context(), inputs, outputs)
					require.NoError(t, err)
					slowest = max(slowest, time.Since(start))
				}
				request := func() error {
					deadline := time.Now().Add(slowest * 3 / 2)
					_, err := p.Run(t.Context(), inputs, outputs, driver.WithDeadline(deadline))
					if err != nil && time.Now().Before(deadline) { // else it may have passed before the call
						require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(err), "%v", err)
					}
					return err
				}
				var stop atomic.Bool
				var spinning sync.WaitGroup
				for range 12 {
					spinning.Go(func() {
						for !stop.Load() {
						}
					})
				}
				before := d.Scheduling()
				for end := time.Now().Add(lasting); time.Now().Before(end); time.Sleep(rate) {
					_ = request()
				}
				stop.Store(true)
				spinning.Wait()
				ended, refused := time.Now(), 0
				for ; request() != nil; time.Sleep(rate) {
					refused++
					require.Less(t, time.Since(ended), bound, "%d refusals", refused)
				}
				took := time.Since(ended)
				after := d.Scheduling()
				t.Logf("the slowest took %v; the first success came after %v and %d refusals; %d trials, %d late, %d others missed",
					slowest, took, refused, after.Trials-before.Trials, after.LateTrials-before.LateTrials, after.Missed-before.Missed)
				require.Less(t, took, bound)
			})
		}
	})
}
