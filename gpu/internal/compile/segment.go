package compile

import (
	"time"

	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// segments cuts steps into runs of bounded estimated time and returns the end of each. A step that is
// longer by itself is a segment.
func segments(f *plan.Facts, steps []plan.Step) []int {
	var ends []int
	var sum time.Duration
	for i := range steps {
		t := f.StepTime(&steps[i])
		if sum > 0 && sum+t > f.SegmentBound() {
			ends = append(ends, i)
			sum = 0
		}
		sum += t
	}
	return append(ends, len(steps))
}
