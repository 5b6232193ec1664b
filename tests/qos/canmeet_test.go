package qos

import (
	"context"
	"errors"
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
)

// TestCanMeet: asked just before the call, beside a load that saturates the device, the forecast says what admission
// then says: in 99 of 100 cases with NNGPU_SOAK=1, else in 9 of 10, because the machine has other work, so that time goes
// by between the two.
func TestCanMeet(t *testing.T) {
	requests, wrong := 200, 0.1
	if soak() && !nntest.Raced {
		requests, wrong = 2000, 0.01
	}
	m := loadModel(t, "mobilenet_v1_025_224_f32")
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		c, err := d.NewClient("test")
		require.NoError(t, err)
		p, err := c.PrepareModel(t.Context(), m, driver.WithPriority(nn.PriorityMedium))
		require.NoError(t, err)
		inputs, outputs := buffers(p, m)
		ctx, stop := context.WithCancel(t.Context())
		var load sync.WaitGroup
		defer load.Wait()
		defer stop()
		for range 2 {
			load.Go(func() {
				inputs, outputs := buffers(p, m)
				for ctx.Err() == nil {
					if _, err := p.Run(ctx, inputs, outputs, driver.WithExecutionPriority(nn.PriorityLow)); err != nil && !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
				}
			})
		}
		var times []time.Duration
		for range 21 {
			start := time.Now()
			_, err := p.Run(t.Context(), inputs, outputs)
			require.NoError(t, err)
			times = append(times, time.Since(start))
		}
		slices.Sort(times)
		one := times[len(times)/2]
		rng := rand.New(rand.NewPCG(8, 9))
		differ, met := 0, 0
		for range requests {
			refused := d.Scheduling().Refused
			deadline := time.Now().Add(time.Duration(4 * rng.Float64() * float64(one)))
			forecast := p.CanMeet(deadline)
			require.Equal(t, refused, d.Scheduling().Refused, "asking is no refusal")
			_, err := p.Run(t.Context(), inputs, outputs, driver.WithDeadline(deadline))
			admitted := d.Scheduling().Refused == refused
			if admitted {
				met++
			}
			if admitted != (forecast == nil) {
				differ++
			}
			if err != nil {
				require.Contains(t, []nn.Status{nn.StatusMissedDeadlineTransient, nn.StatusMissedDeadlinePersistent}, nn.StatusOf(err), "%v", err)
			}
		}
		t.Logf("one takes %v; %d of %d admitted, %d forecasts differ", one, met, requests, differ)
		require.LessOrEqual(t, float64(differ), wrong*float64(requests))
	})
}

// TestRefusalsCostNothing: 25,000 questions a second that are answered with a refusal leave the latency of another
// client as it is beside a program that takes as much of the processors, which are the device here, and asks nothing. With
// NNGPU_SOAK=1 the medians of rounds in turn are within a tenth, else within a factor of ten.
func TestRefusalsCostNothing(t *testing.T) {
	rounds, each, bound := 3, 300*time.Millisecond, 10.0
	if soak() && !nntest.Raced {
		rounds, each, bound = 15, time.Second, 1.1
	}
	m := loadModel(t, "mobilenet_v1_025_224_f32")
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		prepare := func(name string) *driver.PreparedModel {
			c, err := d.NewClient(name)
			require.NoError(t, err)
			p, err := c.PrepareModel(t.Context(), m)
			require.NoError(t, err)
			return p
		}
		p, asking := prepare("bystander"), prepare("asks")
		inputs, outputs := buffers(p, m)
		latency := func() float64 {
			var list []float64
			for end := time.Now().Add(each); time.Now().Before(end); {
				start := time.Now()
				_, err := p.Run(t.Context(), inputs, outputs)
				require.NoError(t, err)
				list = append(list, float64(time.Since(start)))
			}
			return median(list)
		}
		// beside is the latency beside what f does in each millisecond.
		beside := func(f func()) float64 {
			ctx, stop := context.WithCancel(t.Context())
			var group sync.WaitGroup
			group.Go(func() {
				for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
					f()
				}
			})
			defer group.Wait()
			defer stop()
			return latency()
		}
		_ = latency()
		var ratios, alone []float64
		var asked int
		var batches []float64 // what each took, in the latest round
		for range rounds {
			quiet := latency()
			batches = batches[:0]
			refused := beside(func() {
				start := time.Now()
				for range 25 {
					if asking.CanMeet(time.Now().Add(300*time.Microsecond)) == nil {
						t.Error("it can be met")
						return
					}
				}
				batches, asked = append(batches, float64(time.Since(start))), asked+25
			})
			each := time.Duration(median(batches))
			spun := beside(func() {
				for start := time.Now(); time.Since(start) < each; {
				}
			})
			ratios, alone = append(ratios, refused/spun), append(alone, refused/quiet)
		}
		t.Logf("%d refusals a second, %.1f µs each; medians of %d rounds: latency beside them to that beside as much other work %.3f, to that alone %.3f",
			int(float64(asked)/(float64(rounds)*each.Seconds())), median(batches)/25e3, rounds, median(ratios), median(alone))
		require.LessOrEqual(t, median(ratios), bound)
	})
}
