package qos

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/tests/internal/devices"
)

// TestUrgentGoesBetweenSegments: a tiny urgent network beside a long one that saturates the device waits for segments,
// not for executions. nngpu bench --against measures the same in full; here the machine has other work, so that the
// bound is a wide one.
func TestUrgentGoesBetweenSegments(t *testing.T) {
	for _, name := range devices.Names() {
		t.Run(name, func(t *testing.T) {
			preempting := urgent(t, name, driver.SchedulingOptions{})
			whole := urgent(t, name, driver.SchedulingOptions{NoPreempt: true})
			t.Logf("waits at the median and the 90th percentile: %v, %v; without preemption %v, %v",
				preempting[len(preempting)/2], preempting[len(preempting)*9/10], whole[len(whole)/2], whole[len(whole)*9/10])
			require.Less(t, preempting[len(preempting)/2], whole[len(whole)/2])
		})
	}
}

// urgent returns the sorted latencies of hello_world at high priority beside deeplab at low.
func urgent(t *testing.T, name string, o driver.SchedulingOptions) []time.Duration {
	d := devices.OpenWith(t, name, gpu.Options{}, driver.WithScheduling(o))
	c, err := d.NewClient("test")
	require.NoError(t, err)
	small, large := loadModel(t, "hello_world_f32"), loadModel(t, "deeplabv3_257_f32")
	high, err := c.PrepareModel(t.Context(), small, driver.WithPriority(nn.PriorityHigh))
	require.NoError(t, err)
	low, err := c.PrepareModel(t.Context(), large, driver.WithPriority(nn.PriorityLow))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() {
		inputs, outputs := buffers(low, large)
		for ctx.Err() == nil {
			if _, err := low.Run(ctx, inputs, outputs); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
	inputs, outputs := buffers(high, small)
	var list []time.Duration
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
		time.Sleep(7 * time.Millisecond)
		start := time.Now()
		_, err := high.Run(t.Context(), inputs, outputs)
		require.NoError(t, err)
		list = append(list, time.Since(start))
	}
	slices.Sort(list)
	t.Logf("%d runs, the longest %v; %+v", len(list), list[len(list)-1], d.Scheduling())
	return list
}
