package plan

import (
	"math"
	"time"

	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// Rates are what kernels are expected to reach on a device: the cost model of a step that was never measured.
type Rates struct {
	FLOPS     float64       `json:"flops"`           // multiplications and additions a second, in convolutions and matrix products
	Depthwise float64       `json:"depthwise_flops"` // the same in depthwise convolutions, which reuse little
	Bandwidth float64       `json:"bandwidth"`       // bytes a second, of kernels that move
	Dispatch  time.Duration `json:"dispatch_ns"`     // of one dispatch that does nothing
	Barrier   time.Duration `json:"barrier_ns"`      // of a barrier between two
	Submit    time.Duration `json:"submit_ns"`       // of an empty submission, until its end is seen
	Stamp     time.Duration `json:"timestamp_ns"`    // of a timestamp between two dispatches
}

// classRates stand in for a device that was not measured. From docs/measurements.md: two cores of SwiftShader, the
// slower of the software implementations; a GPU of 2020.
var classRates = map[Class]Rates{
	ClassCPU: {FLOPS: 10e9, Depthwise: 1.5e9, Bandwidth: 3e9, Dispatch: 30 * time.Microsecond,
		Barrier: time.Microsecond, Submit: 30 * time.Microsecond, Stamp: 10 * time.Microsecond},
	ClassGPU: {FLOPS: 2e12, Depthwise: 500e9, Bandwidth: 200e9, Dispatch: 5 * time.Microsecond,
		Barrier: time.Microsecond, Submit: 20 * time.Microsecond, Stamp: time.Microsecond},
}

// rateRange is the factor by which measured rates may differ from those of the class. Anything further off was measured
// wrongly, or comes from a file that somebody else wrote.
const rateRange = 32

// Bounded is r with every rate within reach of that of f's class; a rate that is not a positive number becomes that
// one.
func (f *Facts) Bounded(r Rates) Rates {
	d := classRates[f.Class]
	clamp := func(x, def float64) float64 {
		if !(x > 0) {
			return def
		}
		return min(max(x, def/rateRange), def*rateRange)
	}
	// The costs beside the work may be next to nothing.
	cost := func(x, def time.Duration) time.Duration { return min(max(x, 0), def*rateRange) }
	return Rates{
		FLOPS: clamp(r.FLOPS, d.FLOPS), Depthwise: clamp(r.Depthwise, d.Depthwise), Bandwidth: clamp(r.Bandwidth, d.Bandwidth),
		Dispatch: time.Duration(clamp(float64(r.Dispatch), float64(d.Dispatch))),
		Barrier:  cost(r.Barrier, d.Barrier), Submit: cost(r.Submit, d.Submit), Stamp: cost(r.Stamp, d.Stamp),
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

// Overhead is the time that s is expected to take beside its work.
func (r *Rates) Overhead(s *Step) time.Duration {
	if s.Barrier {
		return r.Dispatch + r.Barrier
	}
	return r.Dispatch
}

// From docs/measurements.md.
const (
	// narrow is how much slower a tile of family.CostNarrow is than a wide one, for which FLOPS is measured; networks
	// as a whole are 1.2 to 2.4 times as slow.
	narrow = 2.5
	// anyWindow is how much slower a depthwise convolution of family.CostAnyWindow is than one for windows of 3 by 3
	// pixels without gaps, for which Depthwise is measured: 1.5 on lavapipe, 1.4 to 1.8 on SwiftShader.
	anyWindow = 1.6
)

// StepTime is the expected time of s: the longer of its arithmetic and its memory traffic, and the cost of a dispatch.
func (f *Facts) StepTime(s *Step) time.Duration {
	r := f.Rates()
	flops := r.FLOPS
	switch s.Kernel.Info().Cost {
	case family.CostNarrow:
		flops /= narrow
	case family.CostDepthwise:
		flops = r.Depthwise
	case family.CostAnyWindow:
		flops = r.Depthwise / anyWindow
	}
	return r.Overhead(s) + time.Duration(max(s.FLOP/flops, s.Bytes/r.Bandwidth)*1e9)
}

// CompileWork is how much work it is for a Vulkan driver to compile k, in units of a kernel of 1 KiB of SPIR-V. On both
// software implementations the time grows with the size to the power of 1.3, within a factor of 1.5 for all kernels of
// the networks in docs/measurements.md.
func CompileWork(k shaders.Kernel) float64 {
	return math.Pow(float64(len(k.SPIRV()))/1024, 1.3)
}

// SegmentTimes has the expected time of each segment of p; where the host times the device, from handing it over to
// seeing its end.
func (f *Facts) SegmentTimes(p *Plan) []time.Duration {
	list := make([]time.Duration, len(p.Segments))
	r := f.Rates()
	first := 0
	for i, end := range p.Segments {
		if f.Class == ClassCPU {
			list[i] = r.Submit
		}
		for k := first; k < end; k++ {
			list[i] += f.StepTime(&p.Steps[k])
		}
		first = end
	}
	return list
}
