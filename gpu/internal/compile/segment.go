package compile

import (
	"time"

	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// rates is the cost model of a device class: what a step is estimated to take before it was ever measured.
type rates struct {
	flops    float64 // floating-point operations a second
	bytes    float64 // bytes a second
	dispatch time.Duration
	bound    time.Duration // of one segment
}

// From docs/measurements.md: two cores of lavapipe and SwiftShader, rounded down; a GPU of 2020.
var classRates = map[plan.Class]rates{
	plan.ClassCPU: {flops: 20e9, bytes: 8e9, dispatch: 30 * time.Microsecond, bound: 4 * time.Millisecond},
	plan.ClassGPU: {flops: 2e12, bytes: 200e9, dispatch: 5 * time.Microsecond, bound: 2 * time.Millisecond},
}

// segments cuts steps into runs of bounded estimated time and returns the end of each. A step that is
// longer by itself is a segment.
func segments(f *plan.Facts, steps []plan.Step) []int {
	r := classRates[f.Class]
	var ends []int
	var sum time.Duration
	for i := range steps {
		t := r.dispatch + time.Duration(max(steps[i].FLOP/r.flops, steps[i].Bytes/r.bytes)*1e9)
		if sum > 0 && sum+t > r.bound {
			ends = append(ends, i)
			sum = 0
		}
		sum += t
	}
	return append(ends, len(steps))
}
