package vulkan

import (
	"context"
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
	key := warmKey{pipeline: plan.Pipeline{Kernel: s.Kernel, LocalX: s.LocalX}}
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
	d := s.x.dev
	if d.info.Facts.Class != plan.ClassCPU {
		return nil
	}
	zeros := make([]uint32, pushBytes/4)
	t := &d.pipelines
	for k := range s.x.plan.Steps {
		l := s.x.layouts[k]
		if l == nil || s.base.sets[k] == 0 {
			continue
		}
		key := warmKeyOf(&s.x.plan.Steps[k])
		t.mu.Lock()
		done := t.warm[key]
		t.mu.Unlock()
		if done {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		var c vk.Commands
		c.Pipeline(s.x.pipelines[k])
		c.Set(s.base.sets[k], l.pipeline)
		c.Push(l.pipeline, zeros)
		c.Dispatch([3]uint32{0, 1, 1})
		if err := d.runFor(&c, compileTime); err != nil {
			return err
		}
		t.mu.Lock()
		t.warm[key] = true
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
