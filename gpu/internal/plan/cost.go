package plan

import "time"

// Rates is what a device is expected to reach: the cost model of a step that was never measured.
type Rates struct {
	FLOPS     float64       // multiplications and additions a second
	Bandwidth float64       // bytes a second
	Dispatch  time.Duration // of one dispatch that does nothing
}

// Rates of a class of devices, from docs/measurements.md: two cores of lavapipe and SwiftShader, rounded down; a
// GPU of 2020.
var classRates = map[Class]Rates{
	ClassCPU: {FLOPS: 20e9, Bandwidth: 8e9, Dispatch: 30 * time.Microsecond},
	ClassGPU: {FLOPS: 2e12, Bandwidth: 200e9, Dispatch: 5 * time.Microsecond},
}

// SegmentBound is the longest that a segment may be expected to take.
func (f *Facts) SegmentBound() time.Duration {
	if f.Class == ClassCPU {
		return 4 * time.Millisecond
	}
	return 2 * time.Millisecond
}

// Rates of the device.
func (f *Facts) Rates() Rates { return classRates[f.Class] }

// StepTime is the expected time of s.
func (f *Facts) StepTime(s *Step) time.Duration {
	r := f.Rates()
	return r.Dispatch + time.Duration(max(s.FLOP/r.FLOPS, s.Bytes/r.Bandwidth)*1e9)
}

// SegmentTimes has the expected time of each segment of p.
func (f *Facts) SegmentTimes(p *Plan) []time.Duration {
	list := make([]time.Duration, len(p.Segments))
	first := 0
	for i, end := range p.Segments {
		for k := first; k < end; k++ {
			list[i] += f.StepTime(&p.Steps[k])
		}
		first = end
	}
	return list
}
