package compile

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/gpu/internal/plan"
)

func TestSegments(t *testing.T) {
	facts := &plan.Facts{Class: plan.ClassCPU}
	r := facts.Rates()
	// step returns a step whose estimate is d.
	step := func(d time.Duration) plan.Step {
		return plan.Step{FLOP: (d - r.Dispatch).Seconds() * r.FLOPS}
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
		{"bytes count where they take longer", []plan.Step{{Bytes: 3e-3 * r.Bandwidth}, {FLOP: 1, Bytes: 3e-3 * r.Bandwidth}}, []int{1, 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, segments(facts, tc.steps))
		})
	}
}

// TestSegmentsCoverEveryStepInOrder, and none is longer than the bound unless it is one step.
func TestSegmentsCoverEveryStepInOrder(t *testing.T) {
	for _, class := range []plan.Class{plan.ClassCPU, plan.ClassGPU} {
		t.Run(string(class), func(t *testing.T) {
			facts := &plan.Facts{Class: class}
			r := facts.Rates()
			steps := make([]plan.Step, 997)
			estimates := make([]time.Duration, len(steps))
			for i := range steps {
				steps[i].FLOP = float64(i*i%89) * r.FLOPS * 1e-5
				estimates[i] = r.Dispatch + time.Duration(steps[i].FLOP/r.FLOPS*1e9)
			}
			at := 0
			ends := segments(facts, steps)
			for _, end := range ends {
				require.Greater(t, end, at)
				var sum time.Duration
				for _, d := range estimates[at:end] {
					sum += d
				}
				require.True(t, sum <= facts.SegmentBound() || end == at+1, "segment [%d, %d) of %v", at, end, sum)
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
		facts := &plan.Facts{Class: class}
		r := facts.Rates()
		require.Positive(t, r.FLOPS, class)
		require.Positive(t, r.Bandwidth, class)
		require.Positive(t, r.Dispatch, class)
		require.Greater(t, facts.SegmentBound(), r.Dispatch, class)
	}
}
