package gpu

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/compile"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// Sizes of the network that measures a device: long enough on a GPU, short enough on a CPU.
const (
	rateSide     = 28
	rateChannels = 128
	rateRuns     = 4 // times that each step is repeated
)

// rateModel has a matrix product, a depthwise convolution, a sum of large tensors and one of tiny ones.
func rateModel() (*nn.Model, error) {
	const c = rateChannels
	var b layers.Builder
	x := b.Input(nn.TensorFloat32, nn.Dims{1, rateSide, rateSide, c}, 0, 0)
	y := b.Input(nn.TensorFloat32, nn.Dims{1, 4}, 0, 0)
	bias := b.Floats(nn.Dims{c}, make([]float32, c)...)
	same := layers.Conv{Padding: nn.PaddingSame}
	matrix := b.Conv2D(x, b.Floats(nn.Dims{c, 1, 1, c}, make([]float32, c*c)...), bias, same)
	depthwise := b.DepthwiseConv2D(matrix, b.Floats(nn.Dims{1, 3, 3, c}, make([]float32, 9*c)...), bias, 1, same)
	b.Output(b.Add(depthwise, matrix, nn.ActNone))
	b.Output(b.Add(y, y, nn.ActNone))
	return b.Build()
}

// rates measures what the device reaches with the kernels that the compiler chooses for it, and what is paid beside
// them. It takes some dispatches and the compilation of their pipelines, which the first network shares.
func (m *meter) rates() (r plan.Rates, err error) {
	facts := m.facts
	facts.Measured = plan.Rates{}
	model, err := rateModel()
	if err != nil {
		return r, err
	}
	p, _, err := compile.Model(m.ctx, &facts, model, nil)
	if err != nil {
		return r, err
	}
	tiny := slices.IndexFunc(p.Steps, func(s plan.Step) bool { return s.FLOP > 0 && s.FLOP <= 8 })
	if tiny < 0 {
		return r, errors.New("the network that measures has no small step")
	}
	if r, err = m.costs(&p.Steps[tiny]); err != nil {
		return r, err
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		rate, work := &r.Bandwidth, s.Bytes
		if s.Kernel == shaders.Copy || s.Transfers != 0 || i == tiny {
			continue
		}
		switch s.Kernel.Info().Cost {
		case family.CostDepthwise:
			rate, work = &r.Depthwise, s.FLOP
		case family.CostMatrix:
			rate, work = &r.FLOPS, s.FLOP
		}
		took, err := m.each(s, rateRuns, true, m.runs)
		if err != nil {
			return r, err
		}
		*rate = max(*rate, work/max(took-r.Dispatch-r.Barrier, time.Nanosecond).Seconds())
	}
	if r.Depthwise == 0 || r.FLOPS == 0 || r.Bandwidth == 0 {
		return r, fmt.Errorf("rates of %+v", r)
	}
	return r, nil
}
