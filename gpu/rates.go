package gpu

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/compile"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/shaders"
)

// Sizes of the network that measures a device: long enough on a GPU, short enough on a CPU.
const (
	rateSide     = 28
	rateChannels = 128
	rateRuns     = 4
)

// rateModel has a matrix product, a depthwise convolution, a sum of large tensors and one of tiny ones.
func rateModel() (*nn.Model, error) {
	const c = rateChannels
	var b nn.Builder
	big := nn.Dims{1, rateSide, rateSide, c}
	temp := func(d nn.Dims) uint32 { return b.Temp(nn.TensorFloat32, d, 0, 0) }
	x := b.Input(nn.TensorFloat32, big, 0, 0)
	y := b.Input(nn.TensorFloat32, nn.Dims{1, 4}, 0, 0)
	one, none := b.Scalar(1), b.Scalar(0)
	padding := one // SAME
	matrix, depthwise, sum, tiny := temp(big), temp(big), temp(big), temp(nn.Dims{1, 4})
	bias := b.Floats(nn.Dims{c}, make([]float32, c)...)
	b.Op(nn.OpConv2D, []uint32{x, b.Floats(nn.Dims{c, 1, 1, c}, make([]float32, c*c)...), bias, padding, one, one, none}, []uint32{matrix})
	b.Op(nn.OpDepthwiseConv2D,
		[]uint32{matrix, b.Floats(nn.Dims{1, 3, 3, c}, make([]float32, 9*c)...), bias, padding, one, one, one, none}, []uint32{depthwise})
	b.Op(nn.OpAdd, []uint32{depthwise, matrix, none}, []uint32{sum})
	b.Op(nn.OpAdd, []uint32{y, y, none}, []uint32{tiny})
	b.Output(sum)
	b.Output(tiny)
	return b.Build()
}

// measureRates measures what d reaches with the kernels that the compiler chooses for it. It takes some dispatches
// and the compilation of their pipelines, which the first network shares.
func measureRates(d *vulkan.Device, facts plan.Facts) (r plan.Rates, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), testLimit)
	defer cancel()
	facts.Measured = plan.Rates{}
	m, err := rateModel()
	if err != nil {
		return r, err
	}
	p, weights, err := compile.Model(ctx, &facts, m, nil)
	if err != nil {
		return r, err
	}
	p.Segments = []int{len(p.Steps)}
	x, err := vulkan.NewExecutable(ctx, d, p, weights, vulkan.ExecutableOptions{MaxSlots: 1, Profile: true})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	buffers := func(list []plan.IO) (out [][]byte) {
		for i := range list {
			out = append(out, make([]byte, list[i].Size))
		}
		return out
	}
	best := make([]time.Duration, len(p.Steps))
	for range rateRuns {
		times, err := stepTimes(ctx, x, buffers(p.Inputs), buffers(p.Outputs))
		if err != nil {
			return r, err
		}
		if len(times) != len(best) {
			return r, errors.New("the device has no timestamps")
		}
		for i, t := range times {
			if best[i] == 0 || t < best[i] {
				best[i] = t
			}
		}
	}
	return ratesOf(p.Steps, best)
}

// stepTimes executes x once.
func stepTimes(ctx context.Context, x *vulkan.Executable, inputs, outputs [][]byte) ([]time.Duration, error) {
	e, err := x.BeginRun(ctx, inputs, outputs)
	if err != nil {
		return nil, err
	}
	defer e.Release()
	f, err := e.Submit(0, e.Segments())
	if err != nil {
		return nil, err
	}
	if err := f.Wait(ctx); err != nil {
		return nil, err
	}
	return e.StepTimes(), nil
}

// ratesOf derives the rates from the times of the measuring network's steps.
func ratesOf(steps []plan.Step, times []time.Duration) (r plan.Rates, err error) {
	r.Dispatch = time.Hour
	for _, t := range times {
		r.Dispatch = min(r.Dispatch, t)
	}
	for i := range steps {
		s := &steps[i]
		if s.Kernel == shaders.Copy {
			continue
		}
		seconds := max(times[i]-r.Dispatch, time.Nanosecond).Seconds()
		switch {
		case strings.HasPrefix(s.Kernel.String(), "conv_depthwise"):
			r.Depthwise = max(r.Depthwise, s.FLOP/seconds)
		case strings.HasPrefix(s.Kernel.String(), "conv_"):
			r.FLOPS = max(r.FLOPS, s.FLOP/seconds)
		case s.Bytes > 1e6:
			r.Bandwidth = max(r.Bandwidth, s.Bytes/seconds)
		}
	}
	if r.Depthwise == 0 || r.FLOPS == 0 || r.Bandwidth == 0 {
		return r, fmt.Errorf("rates of %+v", r)
	}
	return r, nil
}
