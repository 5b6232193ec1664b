package qos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
	"github.com/nngpu/nngpu/qos"
)

// TestLongestWait: a client of the least share waits no longer than a second for its first segment beside three of the
// greatest, two that keep networks of high priority in the queue and cancel many, and one that comes back as a new
// client each time. Package qos holds the exact bound in virtual time.
func TestLongestWait(t *testing.T) {
	duration := 3 * time.Second
	if soak() {
		duration = 30 * time.Second
	}
	m, long := loadModel(t, "hello_world_f32"), loadModel(t, "mobilenet_v1_025_224_f32")
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		c, err := d.NewClient("victim", driver.WithShare(qos.MinShare))
		require.NoError(t, err)
		victim, err := c.PrepareModel(t.Context(), m, driver.WithPriority(nn.PriorityLow))
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		defer group.Wait()
		defer stop()
		for i := range 2 {
			n, err := d.NewClient(fmt.Sprint("neighbour ", i), driver.WithShare(qos.MaxShare))
			require.NoError(t, err)
			p, err := n.PrepareModel(t.Context(), long, driver.WithPriority(nn.PriorityHigh))
			require.NoError(t, err)
			for k := range 4 {
				group.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(i), uint64(k)))
					inputs, outputs := buffers(p, long)
					for ctx.Err() == nil {
						run, cancel := context.WithCancel(ctx)
						if rng.IntN(3) == 0 {
							time.AfterFunc(time.Duration(rng.Int64N(int64(50*time.Millisecond))), cancel)
						}
						_, _ = p.Run(run, inputs, outputs)
						cancel()
					}
				})
			}
		}
		group.Go(func() {
			for ctx.Err() == nil {
				n, err := d.NewClient("comes and goes", driver.WithShare(qos.MaxShare))
				if err != nil {
					t.Error(err)
					return
				}
				if p, err := n.PrepareModel(ctx, m, driver.WithPriority(nn.PriorityHigh)); err == nil {
					inputs, outputs := buffers(p, m)
					_, _ = p.Run(ctx, inputs, outputs)
				}
				if err := n.Close(); err != nil {
					t.Error(err)
					return
				}
			}
		})
		inputs, outputs := buffers(victim, m)
		var waits []time.Duration
		for end := time.Now().Add(duration); time.Now().Before(end); {
			res, err := victim.Run(t.Context(), inputs, outputs)
			require.NoError(t, err)
			waits = append(waits, res.Schedule.Queued)
		}
		slices.Sort(waits)
		longest := waits[len(waits)-1]
		t.Logf("%d executions of the client of the least share waited %v, at most %v", len(waits), summary(waits), longest)
		bound := time.Second
		if !soak() || nntest.Raced {
			bound *= 3 // the machine has other work
		}
		require.LessOrEqual(t, longest, bound)
	})
}
