package plan

import (
	"strings"
	"time"

	"github.com/nngpu/nngpu/shaders"
)

// Rates is what a device is expected to reach: the cost model of a step that was never measured.
type Rates struct {
	FLOPS     float64       `json:"flops"`           // multiplications and additions a second, in convolutions and matrix products
	Depthwise float64       `json:"depthwise_flops"` // the same in depthwise convolutions, which reuse little
	Bandwidth float64       `json:"bandwidth"`       // bytes a second, of kernels that move
	Dispatch  time.Duration `json:"dispatch_ns"`     // of one dispatch that does nothing
}

// classRates stand in for a device that was not measured. From docs/measurements.md: two cores of SwiftShader, the
// slower of the software implementations; a GPU of 2020.
var classRates = map[Class]Rates{
	ClassCPU: {FLOPS: 10e9, Depthwise: 1.5e9, Bandwidth: 3e9, Dispatch: 30 * time.Microsecond},
	ClassGPU: {FLOPS: 2e12, Depthwise: 500e9, Bandwidth: 200e9, Dispatch: 5 * time.Microsecond},
}

// rateRange is by how much measured rates may differ from those of the class. What is further off was measured
// wrongly, or comes from a file that somebody else wrote.
const rateRange = 32

// Bounded is r with every rate within reach of what the class of f has; a rate that is no positive number becomes that.
func (f *Facts) Bounded(r Rates) Rates {
	d := classRates[f.Class]
	clamp := func(x, def float64) float64 {
		if !(x > 0) {
			return def
		}
		return min(max(x, def/rateRange), def*rateRange)
	}
	return Rates{
		FLOPS: clamp(r.FLOPS, d.FLOPS), Depthwise: clamp(r.Depthwise, d.Depthwise), Bandwidth: clamp(r.Bandwidth, d.Bandwidth),
		Dispatch: time.Duration(clamp(float64(r.Dispatch), float64(d.Dispatch))),
	}
}

// Rates of the device: those that were measured, else those of its class.
func (f *Facts) Rates() Rates {
	if f.Measured == (Rates{}) {
		return classRates[f.Class]
	}
	return f.Measured
}

// SegmentBound is the longest that a segment may be expected to take.
func (f *Facts) SegmentBound() time.Duration {
	if f.Class == ClassCPU {
		return 4 * time.Millisecond
	}
	return 2 * time.Millisecond
}

// StepTime is the expected time of s: that of its arithmetic or of its memory traffic, whichever is longer.
func (f *Facts) StepTime(s *Step) time.Duration {
	r := f.Rates()
	flops := r.FLOPS
	if s.Kernel != shaders.Copy && strings.HasPrefix(s.Kernel.String(), "conv_depthwise") {
		flops = r.Depthwise
	}
	return r.Dispatch + time.Duration(max(s.FLOP/flops, s.Bytes/r.Bandwidth)*1e9)
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
