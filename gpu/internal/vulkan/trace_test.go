package vulkan_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// traceRun executes x once, its segments one by one where single is set, and returns what it traced.
func traceRun(t *testing.T, x *vulkan.Executable, n int, every, single bool) (tr *backend.Trace, whole backend.Span) {
	t.Helper()
	tr = &backend.Trace{Every: every}
	var ctx context.Context = &backend.TraceContext{Context: context.Background(), Trace: tr}
	whole.From = time.Now()
	in, out := floats(int64(n), -3), make([]byte, 4*n)
	e, err := x.BeginRun(ctx, [][]byte{in}, [][]byte{out})
	require.NoError(t, err)
	defer e.Release()
	step := e.Segments()
	if single {
		step = 1
	}
	for first := 0; first < e.Segments(); first += step {
		f, err := e.Submit(first, first+step)
		require.NoError(t, err)
		require.NoError(t, f.Wait(ctx))
	}
	require.NoError(t, e.Finish())
	whole.To = time.Now()
	tr.Late.Resolve()
	require.NoError(t, wantAbs(in, out))
	return tr, whole
}

// TestTrace: what steps took adds up to what the device was busy, all of it within the call; each step is timed once the
// window went round; and where every step is asked for all are timed at once.
func TestTrace(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		d.SetRates(plan.Rates{FLOPS: 1e9, Depthwise: 1e9, Bandwidth: 1e9, Dispatch: 20e3, Barrier: 1, Submit: 20e3, Stamp: 20e3})
		const n, segments = 1 << 18, 5
		x := newExecutable(t, d, absPlan(n, segments), vulkan.ExecutableOptions{})
		timed := map[int]bool{}
		for i := range 40 {
			every := i%8 == 7
			tr, whole := traceRun(t, x, n, every, i%2 == 1)
			require.Len(t, tr.Steps, segments+1)
			require.Len(t, tr.Times, segments+1)
			submissions := 1
			if i%2 == 1 {
				submissions = segments
			}
			require.Len(t, tr.Busy, submissions)
			var busy, sum time.Duration
			for k, s := range tr.Busy {
				require.False(t, s.From.Before(whole.From), "busy before the call")
				require.False(t, s.To.After(whole.To), "busy after the call")
				if k > 0 {
					require.False(t, s.From.Before(tr.Busy[k-1].To.Add(-time.Microsecond)), "busy twice")
				}
				busy += s.Length()
			}
			for k, s := range tr.Times {
				require.GreaterOrEqual(t, s.Took, time.Duration(0))
				require.GreaterOrEqual(t, s.Uncertainty, time.Duration(0))
				require.False(t, s.At.Before(whole.From) || s.At.After(whole.To), "step %d", k)
				require.True(t, !every || s.Measured, "step %d", k)
				timed[k] = timed[k] || s.Measured && !every
				sum += s.Took
			}
			require.InDelta(t, busy, sum+tr.Stamping, float64(time.Microsecond)*20)
			for _, s := range []backend.Span{tr.Waited, tr.Loaded, tr.Recorded, tr.Stored} {
				require.False(t, s.From.Before(whole.From) || s.To.After(whole.To) || s.To.Before(s.From))
			}
		}
		require.NotEmpty(t, timed)
		t.Logf("%d of %d steps were timed in passing", len(timed), segments+1)
	})
}

// TestTraceOfManySubmissions: an execution in more pieces than a queue remembers the ends of.
func TestTraceOfManySubmissions(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		for _, timing := range []vulkan.Timing{vulkan.TimingUsual, vulkan.TimingDevice, vulkan.TimingHost} {
			t.Run(fmt.Sprintf("%s %d", selector, timing), func(t *testing.T) {
				d := vktest.Open(t, selector, vulkan.Options{Timing: timing})
				const n, segments = 1 << 12, 100
				x := newExecutable(t, d, absPlan(n, segments), vulkan.ExecutableOptions{})
				for i := range 3 {
					tr, whole := traceRun(t, x, n, i == 2, true)
					require.Len(t, tr.Busy, segments)
					var busy, sum time.Duration
					for i, s := range tr.Busy {
						require.WithinRange(t, s.From, whole.From, whole.To, i)
						require.WithinRange(t, s.To, s.From, whole.To, i)
						busy += s.Length()
					}
					for i, s := range tr.Times {
						require.WithinRange(t, s.At, whole.From, whole.To, i)
						require.GreaterOrEqual(t, s.Took, time.Duration(0), i)
						sum += s.Took
					}
					require.GreaterOrEqual(t, tr.Stamping, time.Duration(0))
					require.InDelta(t, busy, sum+tr.Stamping, float64(20*time.Microsecond))
				}
			})
		}
	}
}

// TestTraceWithoutTimestamps: a device without timestamps, or a network too small for them, still tells of each step.
func TestTraceWithoutTimestamps(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		for _, timing := range []vulkan.Timing{vulkan.TimingUsual, vulkan.TimingDevice, vulkan.TimingHost} {
			t.Run(fmt.Sprintf("%s %d", selector, timing), func(t *testing.T) {
				d := vktest.Open(t, selector, vulkan.Options{Timing: timing})
				stamp := time.Minute
				if timing == vulkan.TimingHost {
					stamp = 1 // and yet none is taken
				}
				d.SetRates(plan.Rates{FLOPS: 1e9, Depthwise: 1e9, Bandwidth: 1e9, Dispatch: 20e3, Barrier: 1, Submit: 20e3, Stamp: stamp})
				const n, segments = 64, 3
				x := newExecutable(t, d, absPlan(n, segments), vulkan.ExecutableOptions{})
				for i := range 4 {
					tr, whole := traceRun(t, x, n, timing == vulkan.TimingHost && i%2 == 1, i > 1)
					require.Zero(t, tr.Stamping)
					require.NotEmpty(t, tr.Busy)
					require.NotEmpty(t, tr.Times)
					for _, s := range tr.Times {
						require.False(t, s.Measured)
						require.Positive(t, s.Took)
						require.Positive(t, s.Uncertainty)
						require.WithinRange(t, s.At, whole.From, whole.To)
					}
				}
			})
		}
	}
}
