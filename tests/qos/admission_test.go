package qos

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
	"github.com/nngpu/nngpu/tests/internal/devices"
)

// TestAdmission: random requests with deadlines from hopeless to generous, beside a load without deadlines. What was
// admitted ends in time, but for few; package qos tests the same exactly, in virtual time. 2,000 requests with
// NNGPU_SOAK=1, 300 else, and then within wider bounds, because the machine has other work. Misses by less than a
// segment are told, not judged: on a machine whose cores are the device they are mostly of the one who waits.
func TestAdmission(t *testing.T) {
	requests, lateBound := 300, 0.1
	if soak() {
		requests, lateBound = 2000, 0.005
	}
	m := loadModel(t, "mobilenet_v1_025_224_f32")
	load := loadModel(t, "micro_speech_s8")
	const bound = 5 * time.Millisecond // of a segment
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		c, err := d.NewClient("foreground")
		require.NoError(t, err)
		p, err := c.PrepareModel(t.Context(), m, driver.WithPriority(nn.PriorityMedium))
		require.NoError(t, err)
		low, err := c.PrepareModel(t.Context(), load, driver.WithPriority(nn.PriorityLow))
		require.NoError(t, err)

		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		defer group.Wait()
		defer stop()
		group.Go(func() {
			inputs, outputs := buffers(low, load)
			for ctx.Err() == nil {
				if _, err := low.Run(ctx, inputs, outputs); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		})
		inputs, _ := buffers(p, m)
		alone := time.Now()
		const warm = 20
		for range warm {
			_, err := p.Run(t.Context(), inputs, p.NewOutputs())
			require.NoError(t, err)
		}
		one := time.Since(alone) / warm

		var mu sync.Mutex
		var admitted, refused, missed, late int
		gate := make(chan bool, 8) // that many at once
		rng := rand.New(rand.NewPCG(7, 11))
		var running sync.WaitGroup
		for range requests {
			gate <- true
			deadline := time.Now().Add(time.Duration((0.2 + 12*rng.Float64()) * float64(one)))
			running.Go(func() {
				defer func() { <-gate }()
				_, err := p.Run(t.Context(), inputs, p.NewOutputs(), driver.WithDeadline(deadline))
				end := time.Now()
				mu.Lock()
				defer mu.Unlock()
				switch nn.StatusOf(err) {
				case nn.StatusNone:
				case nn.StatusMissedDeadlineTransient, nn.StatusMissedDeadlinePersistent:
					if errors.Is(err, qos.ErrRefused) {
						refused++
						return
					}
				default:
					t.Error(err)
				}
				admitted++
				if err != nil || end.After(deadline) {
					missed++
				}
				if end.After(deadline.Add(bound)) {
					late++
				}
			})
		}
		running.Wait()
		t.Logf("one takes %v; of %d requests %d were admitted, %d refused; of the admitted %d missed their deadline, %d by more than %v",
			one, requests, admitted, refused, missed, late, bound)
		require.NotZero(t, admitted)
		require.NotZero(t, refused)
		require.LessOrEqual(t, float64(late), lateBound*float64(admitted)+2)
	})
}
