package vulkan

import (
	"context"
	"slices"
	"time"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

// warmKey is what distinguishes two compilations of a driver that compiles at the first dispatch: beside the
// pipeline, it looks at the formats of the texel views.
type warmKey struct {
	pipeline plan.Pipeline
	formats  [8]plan.Format
}

// warmKeyOf is the key of what the driver compiles for s.
func warmKeyOf(s *plan.Step) warmKey {
	key := warmKey{pipeline: s.Pipeline()}
	for i, b := range s.Bindings {
		if i < len(key.formats) {
			key.formats[i] = b.Format
		}
	}
	return key
}

// warmUp makes the driver compile now what it would compile at the first execution: software devices
// only. Each new pipeline is dispatched with the set of its first step and no workgroups, so that nothing is
// read or written; Mesa 22.3.6 compiles all the same (100 ms for an 8x8 tile then, 0.2 ms at the first run).
// ctx is looked at between pipelines.
func (s *slot) warmUp(ctx context.Context) error {
	if s.x.dev.info.Facts.Class != plan.ClassCPU {
		return nil
	}
	cold := s.coldSteps()
	first := 0 // those of ExecutableOptions.First come first
	for i, k := range cold {
		if slices.Contains(s.x.o.First, s.x.plan.Steps[k].Pipeline()) {
			cold[first], cold[i] = cold[i], cold[first]
			first++
		}
	}
	if err := s.warmSteps(ctx, cold[:first]); err != nil {
		return err
	}
	left := 0.0
	for _, k := range cold[first:] {
		left += plan.CompileWork(s.x.plan.Steps[k].Kernel)
	}
	if !s.x.goOn(&s.x.dev.pipelines.warming, left) {
		return ErrGivenUp
	}
	return s.warmSteps(ctx, cold[first:])
}

// coldSteps are the steps that would make the driver compile, one for each compilation.
func (s *slot) coldSteps() (list []int) {
	t := &s.x.dev.pipelines
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := map[warmKey]bool{}
	for k := range s.x.plan.Steps {
		if s.x.layouts[k] == nil || s.base.sets[k] == 0 {
			continue
		}
		if key := warmKeyOf(&s.x.plan.Steps[k]); !t.warm[key] && !seen[key] {
			seen[key] = true
			list = append(list, k)
		}
	}
	return list
}

// warmSteps dispatches steps of the plan with nothing to do.
func (s *slot) warmSteps(ctx context.Context, list []int) error {
	d := s.x.dev
	t := &d.pipelines
	zeros := make([]uint32, pushBytes/4)
	for _, k := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.x.o.Pause != nil {
			if err := s.x.o.Pause(ctx); err != nil {
				return err
			}
		}
		l := s.x.layouts[k]
		var c vk.Commands
		c.Pipeline(s.x.pipelines[k])
		c.Set(s.base.sets[k], l.pipeline)
		c.Push(l.pipeline, zeros)
		c.Dispatch([3]uint32{0, 1, 1})
		start := time.Now()
		if err := d.runFor(&c, compileTime); err != nil {
			return err
		}
		step := &s.x.plan.Steps[k]
		t.warming.add(time.Since(start), plan.CompileWork(step.Kernel))
		t.mu.Lock()
		t.warm[warmKeyOf(step)] = true
		t.mu.Unlock()
	}
	return nil
}

// coldTime estimates what the driver may have to compile when it first runs p, and heat notes that it has.
func (t *pipelineTable) coldTime(p *plan.Plan) (sum time.Duration) {
	if t.dev.info.Facts.Class != plan.ClassCPU {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for k := range p.Steps {
		if s := &p.Steps[k]; s.Kernel != shaders.Copy && !t.warm[warmKeyOf(s)] {
			sum += compileTime
		}
	}
	return sum
}

func (t *pipelineTable) heat(p *plan.Plan) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k := range p.Steps {
		if s := &p.Steps[k]; s.Kernel != shaders.Copy {
			t.warm[warmKeyOf(s)] = true
		}
	}
}
