package gpu

import (
	"context"
	"sort"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/compile"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
)

// StepTime is the median time of one step.
type StepTime struct {
	Step plan.Step
	Time time.Duration
}

// Profile runs m and returns the median time of each step.
func (b *Backend) Profile(ctx context.Context, m *nn.Model, inputs, outputs [][]byte, runs int) ([]StepTime, error) {
	p, weights, err := compile.Model(ctx, &b.facts, m, nil)
	if err != nil {
		return nil, err
	}
	x, err := vulkan.NewExecutable(ctx, b.device, p, weights, vulkan.ExecutableOptions{Profile: true})
	if err != nil {
		return nil, err
	}
	defer x.Close()
	all := make([][]time.Duration, len(p.Steps))
	for range runs {
		e, err := x.BeginRun(ctx, inputs, outputs)
		if err != nil {
			return nil, err
		}
		f, err := e.Submit(0, len(p.Segments))
		if err != nil {
			return nil, err
		}
		if err := f.Wait(ctx); err != nil {
			return nil, err
		}
		for i, t := range e.StepTimes() {
			all[i] = append(all[i], t)
		}
		e.Release()
	}
	list := make([]StepTime, len(p.Steps))
	for i := range list {
		sort.Slice(all[i], func(a, b int) bool { return all[i][a] < all[i][b] })
		list[i] = StepTime{p.Steps[i], all[i][len(all[i])/2]}
	}
	return list, nil
}
