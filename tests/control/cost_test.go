package control

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

// TestIterationsCostWhatExecutionsDo: 1,000 iterations take no longer than 1,000 executions of body and condition as a
// model, and as much again, since the machine may have other work. What it logs is the measurement.
func TestIterationsCostWhatExecutionsDo(t *testing.T) {
	const n, iterations = 16, 1000
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		loop, once := prepare(t, d, counting(n, 0)), prepare(t, d, iteration(n, 0))
		in, out := countingInputs(n, iterations), loop.NewOutputs()
		e, err := once.NewExecution(request(in, once.NewOutputs()))
		require.NoError(t, err)
		var ratios []float64
		for range 5 {
			began := time.Now()
			_, err := loop.Run(t.Context(), in, out, driver.WithLoopTimeout(15*time.Second))
			require.NoError(t, err)
			looped := time.Since(began)
			require.Equal(t, ints(iterations), out[0])
			began = time.Now()
			for range iterations {
				_, err := e.Run(t.Context())
				require.NoError(t, err)
			}
			executed := time.Since(began)
			ratios = append(ratios, float64(looped)/float64(executed))
			t.Logf("an iteration takes %v, an execution %v", looped/iterations, executed/iterations)
		}
		slices.Sort(ratios)
		require.Less(t, ratios[2], 2.0)
	})
}

// TestUrgentBesideALoop: an urgent model beside a loop of long iterations waits for segments, and not for iterations or the
// loop. With NNGPU_SOAK=1 the median is at most 15 ms more than alone, else within what a busy machine allows.
func TestUrgentBesideALoop(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		loop := prepare(t, d, counting(256, 40), driver.WithPriority(nn.PriorityLow))
		urgent, err := d.NewClient("urgent")
		require.NoError(t, err)
		small, err := urgent.PrepareModel(t.Context(), iteration(4, 0), driver.WithPriority(nn.PriorityHigh))
		require.NoError(t, err)
		began := time.Now()
		_, err = loop.Run(t.Context(), countingInputs(256, 1), loop.NewOutputs())
		require.NoError(t, err)
		one := time.Since(began)
		latencies := func(during time.Duration) []time.Duration {
			var list []time.Duration
			for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(3 * time.Millisecond) {
				began := time.Now()
				_, err := small.Run(t.Context(), countingInputs(4, 1), small.NewOutputs())
				require.NoError(t, err)
				list = append(list, time.Since(began))
			}
			slices.Sort(list)
			return list
		}
		alone := latencies(500 * time.Millisecond)
		ended := make(chan error, 1)
		go func() {
			_, err := loop.Run(t.Context(), countingInputs(256, -1), loop.NewOutputs(), driver.WithLoopTimeout(2500*time.Millisecond))
			ended <- err
		}()
		time.Sleep(50 * time.Millisecond)
		beside := latencies(2 * time.Second)
		require.Equal(t, nn.StatusMissedDeadlineTransient, nn.StatusOf(<-ended))
		at := func(list []time.Duration, q float64) time.Duration { return list[int(q*float64(len(list)-1))] }
		t.Logf("an iteration takes %v; alone %v at the median, %v at the 99th percentile, beside %v and %v, of %d",
			one, at(alone, 0.5), at(alone, 0.99), at(beside, 0.5), at(beside, 0.99), len(beside))
		if os.Getenv("NNGPU_SOAK") == "1" && !nntest.Raced {
			require.Less(t, at(beside, 0.5), at(alone, 0.5)+15*time.Millisecond)
		}
		require.Less(t, at(beside, 0.9), one, "it would wait for most of an iteration")
	})
}
