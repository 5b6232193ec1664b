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
	"github.com/nngpu/nngpu/internal/devices"
	"github.com/nngpu/nngpu/qos"
)

// arrival is one execution, in times since the start.
type arrival struct {
	came, deadline, end time.Duration
	admitted, missed    bool
}

// couldBe reports whether the i-th request, which was refused, could have met its deadline without making an admitted
// one miss, if each takes that long and the device can turn from one to another at any time. It plays all that was
// admitted and in time, earliest deadline first.
func couldBe(all []*arrival, i int, each time.Duration) bool {
	type job struct {
		*arrival
		rest time.Duration
	}
	play := func(with bool) (met map[*arrival]bool) {
		met = map[*arrival]bool{}
		var there []job
		var now time.Duration
		run := func(until time.Duration) {
			for len(there) > 0 && now < until {
				best := 0
				for k := range there {
					if there[k].deadline < there[best].deadline {
						best = k
					}
				}
				took := min(there[best].rest, until-now)
				now += took
				if there[best].rest -= took; there[best].rest == 0 {
					met[there[best].arrival] = now <= there[best].deadline
					there = slices.Delete(there, best, best+1)
				}
			}
			now = max(now, until)
		}
		for k, r := range all {
			if r.admitted && !r.missed || with && k == i {
				run(r.came)
				there = append(there, job{r, each})
			}
			if r.came > all[i].deadline {
				break
			}
		}
		for len(there) > 0 {
			run(now + each)
		}
		return met
	}
	with, without := play(true), play(false)
	for _, r := range all[:i] {
		if without[r] && !with[r] {
			return false
		}
	}
	return with[all[i]]
}

// TestAdmission: random requests with deadlines from unreachable to generous, for twice what the device can do, beside a
// load without deadlines that takes the rest. What was admitted ends in time, but for few; package qos tests the same
// exactly, in virtual time. 2,000 requests with NNGPU_SOAK=1, 300 else, and then within wider bounds, because the
// machine has other work.
func TestAdmission(t *testing.T) {
	requests, missedBound, lateBound := 300, 0.1, 0.1
	if soak() {
		requests, missedBound, lateBound = 2000, 0.02, 0.005
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
		inputs, _ := buffers(p, m)
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
		var times []time.Duration
		for range 21 {
			start := time.Now()
			_, err := p.Run(t.Context(), inputs, p.NewOutputs())
			require.NoError(t, err)
			times = append(times, time.Since(start))
		}
		slices.Sort(times)
		one := times[len(times)/2]

		var all []*arrival
		rng := rand.New(rand.NewPCG(7, 11))
		var running sync.WaitGroup
		start := time.Now()
		for range requests {
			time.Sleep(time.Duration(rng.ExpFloat64() * float64(one) / 2))
			r := &arrival{came: time.Since(start)}
			r.deadline = r.came + time.Duration((0.2+12*rng.Float64())*float64(one))
			all = append(all, r)
			running.Go(func() {
				_, err := p.Run(t.Context(), inputs, p.NewOutputs(), driver.WithDeadline(start.Add(r.deadline)))
				r.end = time.Since(start)
				switch nn.StatusOf(err) {
				case nn.StatusNone:
				case nn.StatusMissedDeadlineTransient, nn.StatusMissedDeadlinePersistent:
					if errors.Is(err, qos.ErrRefused) {
						return
					}
				default:
					t.Error(err)
				}
				r.admitted, r.missed = true, err != nil || r.end > r.deadline
			})
		}
		running.Wait()
		var admitted, missed, late, wrongly int
		for i, r := range all {
			switch {
			case !r.admitted:
				if couldBe(all, i, one) {
					wrongly++
				}
				continue
			case r.missed:
				missed++
			}
			admitted++
			if r.end > r.deadline+bound {
				late++
			}
		}
		t.Logf("one takes %v beside the load; of %d requests %d were admitted, %d refused, of them %d (%.1f %% of all) that could have been met if all took that long; "+
			"of the admitted %d (%.1f %%) missed their deadline, %d by more than %v",
			one, requests, admitted, requests-admitted, wrongly, 100*float64(wrongly)/float64(requests),
			missed, 100*float64(missed)/float64(admitted), late, bound)
		require.NotZero(t, admitted)
		require.Less(t, admitted, requests)
		require.LessOrEqual(t, float64(missed), missedBound*float64(admitted)+2)
		require.LessOrEqual(t, float64(late), lateBound*float64(admitted)+2)
	})
}
