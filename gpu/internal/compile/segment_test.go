package compile

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/gpu/internal/plan"
)

func TestSegments(t *testing.T) {
	r := classRates[plan.ClassCPU]
	// step returns a step whose estimate is d.
	step := func(d time.Duration) plan.Step {
		return plan.Step{FLOP: (d - r.dispatch).Seconds() * r.flops}
	}
	const ms = time.Millisecond
	for _, tc := range []struct {
		name  string
		steps []plan.Step
		want  []int
	}{
		{"nothing", nil, []int{0}},
		{"one", []plan.Step{step(ms)}, []int{1}},
		{"two that fit", []plan.Step{step(ms), step(2 * ms)}, []int{2}},
		{"the third does not", []plan.Step{step(2 * ms), step(2*ms - 1000), step(ms)}, []int{2, 3}},
		{"each too long", []plan.Step{step(9 * ms), step(9 * ms), step(9 * ms)}, []int{1, 2, 3}},
		{"a long one between short ones", []plan.Step{step(ms), step(9 * ms), step(ms), step(ms)}, []int{1, 2, 4}},
		{"bytes count where they take longer", []plan.Step{{Bytes: 3e-3 * r.bytes}, {FLOP: 1, Bytes: 3e-3 * r.bytes}}, []int{1, 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, segments(&plan.Facts{Class: plan.ClassCPU}, tc.steps))
		})
	}
}

// TestSegmentsCoverEveryStepInOrder, and none is longer than the bound unless it is one step.
func TestSegmentsCoverEveryStepInOrder(t *testing.T) {
	for class, r := range classRates {
		t.Run(string(class), func(t *testing.T) {
			steps := make([]plan.Step, 997)
			estimates := make([]time.Duration, len(steps))
			for i := range steps {
				steps[i].FLOP = float64(i*i%89) * r.flops * 1e-5
				estimates[i] = r.dispatch + time.Duration(steps[i].FLOP/r.flops*1e9)
			}
			at := 0
			ends := segments(&plan.Facts{Class: class}, steps)
			for _, end := range ends {
				require.Greater(t, end, at)
				var sum time.Duration
				for _, d := range estimates[at:end] {
					sum += d
				}
				require.True(t, sum <= r.bound || end == at+1, "segment [%d, %d) of %v", at, end, sum)
				at = end
			}
			require.Equal(t, len(steps), at)
			require.Greater(t, len(ends), 1)
		})
	}
}

// TestEveryClassHasRates: without them all estimates would be infinite.
func TestEveryClassHasRates(t *testing.T) {
	for _, class := range []plan.Class{plan.ClassCPU, plan.ClassGPU} {
		r := classRates[class]
		require.Positive(t, r.flops, class)
		require.Positive(t, r.bytes, class)
		require.Positive(t, r.dispatch, class)
		require.Greater(t, r.bound, r.dispatch, class)
	}
}
