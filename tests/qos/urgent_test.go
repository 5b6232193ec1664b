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
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/internal/devices"
)

// segmentBound is the longest that a segment may be expected to take on a software device.
const segmentBound = 4 * time.Millisecond

// heavy is what saturates the device at low priority.
const heavy = "deeplabv3_257_f32"

// TestUrgentGoesBetweenSegments: an urgent network beside a long one that saturates the device waits for segments, not
// for executions. With NNGPU_SOAK=1 the 99th percentile is at most that of the network alone and three segments, and
// three times better than without preemption; else the machine has other work, so that the bounds are wide ones and
// of the middle of what was seen, and of the slowest tenth without preemption. nngpu bench --against measures the same.
func TestUrgentGoesBetweenSegments(t *testing.T) {
	alone, beside := 500*time.Millisecond, 1500*time.Millisecond
	if soak() {
		alone, beside = 10*time.Second, 30*time.Second
	}
	for _, name := range nntest.Devices() {
		t.Run(name, func(t *testing.T) {
			preempting, whole := newContest(t, name, driver.SchedulingOptions{}), newContest(t, name, driver.SchedulingOptions{NoPreempt: true})
			for _, model := range []string{"hello_world_f32", "mobilenet_v1_025_224_f32"} {
				t.Run(model, func(t *testing.T) {
					m := loadModel(t, model)
					a := preempting.latencies(t, m, alone)
					stop := preempting.saturate(t)
					l := preempting.latencies(t, m, beside)
					stop()
					stop = whole.saturate(t)
					w := whole.latencies(t, m, beside)
					stop()
					t.Logf("at the median, the 90th and the 99th percentile: alone %v, loaded %v, without preemption %v; %+v",
						summary(a), summary(l), summary(w), preempting.device.Scheduling())
					if soak() && !nntest.Raced {
						require.LessOrEqual(t, quantile(l, 0.99), quantile(a, 0.99)+3*segmentBound)
						require.GreaterOrEqual(t, quantile(w, 0.99), 3*quantile(l, 0.99))
						return
					}
					require.LessOrEqual(t, quantile(l, 0.9), quantile(a, 0.9)+60*segmentBound)
					require.Greater(t, quantile(w, 0.9), quantile(l, 0.5))
				})
			}
		})
	}
}

// TestPreemptionCostsNoThroughput: a load without others gets through at least 95 % of what it does in one piece, with
// NNGPU_SOAK=1; else half, as other work may come in between.
func TestPreemptionCostsNoThroughput(t *testing.T) {
	rounds, each, bound := 3, 500*time.Millisecond, 0.5
	if soak() && !nntest.Raced {
		rounds, each, bound = 15, 2*time.Second, 0.95
	}
	for _, name := range nntest.Devices() {
		t.Run(name, func(t *testing.T) {
			contests := []*contest{newContest(t, name, driver.SchedulingOptions{}), newContest(t, name, driver.SchedulingOptions{NoPreempt: true})}
			var cut, whole, ratios []float64
			for range rounds {
				x, y := contests[0].throughput(t, each), contests[1].throughput(t, each)
				cut, whole, ratios = append(cut, x), append(whole, y), append(ratios, x/y)
			}
			t.Logf("medians: %.3f a second in segments, %.3f whole, %.1f %% in a round", median(cut), median(whole), 100*median(ratios))
			require.GreaterOrEqual(t, median(ratios), bound)
		})
	}
}

// contest is a device with a client and a heavy model of low priority.
type contest struct {
	device *driver.Device
	client *driver.Client
	model  *nn.Model
	heavy  *driver.PreparedModel
}

func newContest(t *testing.T, name string, o driver.SchedulingOptions) *contest {
	t.Helper()
	d := devices.OpenWith(t, name, gpu.Options{}, driver.WithScheduling(o))
	c, err := d.NewClient("test")
	require.NoError(t, err)
	m := loadModel(t, heavy)
	p, err := c.PrepareModel(t.Context(), m, driver.WithPriority(nn.PriorityLow))
	require.NoError(t, err)
	return &contest{d, c, m, p}
}

// saturate runs the heavy model, the next execution of which waits while one runs, until stop is called.
func (c *contest) saturate(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			inputs, outputs := buffers(c.heavy, c.model)
			for ctx.Err() == nil {
				if _, err := c.heavy.Run(ctx, inputs, outputs); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
					return
				}
			}
		})
	}
	stop = sync.OnceFunc(func() {
		cancel()
		group.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// throughput is how many executions of the heavy model a second there are, one after the other.
func (c *contest) throughput(t *testing.T, duration time.Duration) float64 {
	t.Helper()
	inputs, outputs := buffers(c.heavy, c.model)
	start := time.Now()
	for n := 0; ; n++ {
		if took := time.Since(start); n > 0 && took > duration {
			return float64(n) / took.Seconds()
		}
		_, err := c.heavy.Run(t.Context(), inputs, outputs)
		require.NoError(t, err)
	}
}

// latencies are those of m at high priority, ascending: of executions that come at any moment of what the load does.
func (c *contest) latencies(t *testing.T, m *nn.Model, duration time.Duration) []time.Duration {
	t.Helper()
	p, err := c.client.PrepareModel(t.Context(), m, driver.WithPriority(nn.PriorityHigh))
	require.NoError(t, err)
	defer p.Close()
	inputs, outputs := buffers(p, m)
	rng := rand.New(rand.NewPCG(5, 6))
	var list []time.Duration
	for range 5 { // cold
		_, err := p.Run(t.Context(), inputs, outputs)
		require.NoError(t, err)
	}
	for end := time.Now().Add(duration); time.Now().Before(end); {
		time.Sleep(time.Duration(rng.Int64N(int64(2 * segmentBound))))
		start := time.Now()
		_, err := p.Run(t.Context(), inputs, outputs)
		require.NoError(t, err)
		list = append(list, time.Since(start))
	}
	slices.Sort(list)
	return list
}

// quantile of an ascending list, by the nearest rank.
func quantile(list []time.Duration, q float64) time.Duration {
	return list[min(int(q*float64(len(list))), len(list)-1)]
}

func summary(list []time.Duration) [3]time.Duration {
	return [3]time.Duration{quantile(list, 0.5), quantile(list, 0.9), quantile(list, 0.99)}
}
