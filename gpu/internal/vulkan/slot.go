package vulkan

import (
	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

// slot is what one execution needs for itself. It is used by one execution at a time.
type slot struct {
	x      *Executable
	arena  *block
	host   *block
	views  viewTable // of arena and host
	dpool  vk.DescriptorPool
	sets   []vk.DescriptorSet // by step; 0 for copies
	cpool  vk.CommandPool
	cmds   []vk.CommandBuffer // by segment
	stamps vk.QueryPool       // 0 where executions are timed by the host, or not at all
}

// newSlot allocates a slot, clears it, writes its descriptors and records its command buffers.
func (x *Executable) newSlot() (s *slot, err error) {
	d := x.dev
	s = &slot{x: x, views: viewTable{dev: d, list: map[viewKey]vk.BufferView{}}}
	defer func() {
		if err != nil {
			s.destroy()
			s, err = nil, d.failure("slot", err)
		}
	}()
	if s.arena, err = d.newBlock(x.plan.ArenaBytes, x.o.MemoryBudget, deviceBlock, "arena"); err != nil {
		return s, err
	}
	if s.host, err = d.newBlock(x.plan.HostBytes, x.o.MemoryBudget, hostBlock, "inputs and outputs"); err != nil {
		return s, err
	}
	if err = s.arena.zero(); err != nil { // no kernel may see what another model left
		return s, err
	}
	if err = s.host.zero(); err != nil {
		return s, err
	}
	if err = s.describe(); err != nil {
		return s, err
	}
	return s, s.record()
}

func (s *slot) block(b plan.Buffer) *block {
	switch b {
	case plan.Arena:
		return s.arena
	case plan.Weights:
		return s.x.weights
	}
	return s.host
}

// describe allocates and writes a descriptor set for each step.
func (s *slot) describe() error {
	d, steps := s.x.dev.dev, s.x.plan.Steps
	var count [8]int // by descriptor type
	var layouts []vk.SetLayout
	for i := range steps {
		if l := s.x.layouts[i]; l != nil {
			layouts = append(layouts, l.set)
			for _, t := range l.types {
				count[t]++
			}
		}
	}
	if len(layouts) == 0 {
		return nil
	}
	var err error
	s.dpool, err = d.NewDescriptorPool(len(layouts), count[vk.StorageBuffer], count[vk.UniformTexelBuffer], count[vk.StorageTexelBuffer])
	if err != nil {
		return err
	}
	sets, err := d.NewDescriptorSets(s.dpool, layouts)
	if err != nil {
		return err
	}
	s.sets = make([]vk.DescriptorSet, len(steps))
	var w vk.Writes
	for i := range steps {
		l := s.x.layouts[i]
		if l == nil {
			continue
		}
		s.sets[i], sets = sets[0], sets[1:]
		for k := range steps[i].Bindings {
			b := &steps[i].Bindings[k]
			if l.types[k] == vk.StorageBuffer {
				w.Buffer(s.sets[i], k, s.block(b.Buffer).buffer, b.Offset, b.Size)
				continue
			}
			v, err := s.view(b)
			if err != nil {
				return err
			}
			w.View(s.sets[i], k, v, l.types[k])
		}
	}
	return d.WriteDescriptors(&w)
}

func (s *slot) view(b *plan.Binding) (vk.BufferView, error) {
	if b.Buffer == plan.Weights {
		s.x.viewsMu.Lock()
		defer s.x.viewsMu.Unlock()
		return s.x.views.get(s.x.weights, b)
	}
	return s.views.get(s.block(b.Buffer), b)
}

// record writes one command buffer for each segment. Queries 2i and 2i+1 hold the times at which segment i
// began and ended; with profiling, query 2n+i the time at which step i ended.
func (s *slot) record() error {
	d, p := s.x.dev, s.x.plan
	n := len(p.Segments)
	if n == 0 {
		return nil
	}
	queries := 2 * n
	if s.x.o.Profile {
		queries += len(p.Steps)
	}
	var err error
	if d.stampMask != 0 && (!d.hostTimed() || s.x.o.Profile) {
		if s.stamps, err = d.dev.NewQueryPool(queries); err != nil {
			return err
		}
	}
	if s.cpool, err = d.dev.NewCommandPool(); err != nil {
		return err
	}
	if s.cmds, err = d.dev.NewCommandBuffers(s.cpool, n); err != nil {
		return err
	}
	var c vk.Commands
	first := 0
	for i, end := range p.Segments {
		c.Reset()
		if i == 0 {
			s.recordStart(&c, queries)
		}
		s.stamp(&c, 2*i)
		var bound vk.Pipeline
		for k := first; k < end; k++ {
			s.recordStep(&c, k, &bound)
			if s.x.o.Profile {
				s.stamp(&c, 2*n+k)
			}
		}
		if i == n-1 {
			c.Barrier(computeTransfer, deviceWrites, vk.StageHost, vk.AccessHostRead)
		}
		s.stamp(&c, 2*i+1)
		if err := d.dev.Record(s.cmds[i], &c); err != nil {
			return err
		}
		first = end
	}
	return nil
}

// recordStart orders an execution behind the slot's former one and behind the host's writes.
func (s *slot) recordStart(c *vk.Commands, queries int) {
	if s.stamps != 0 {
		c.ResetQueries(s.stamps, 0, queries)
	}
	c.Barrier(computeTransfer|vk.StageHost, deviceWrites|vk.AccessHostWrite, computeTransfer, deviceAccess)
	if s.x.dev.poison && s.arena != nil {
		c.Fill(s.arena.buffer, 0, s.arena.bytes, ^uint32(0))
		c.Barrier(vk.StageTransfer, vk.AccessTransferWrite, computeTransfer, deviceAccess)
	}
}

func (s *slot) stamp(c *vk.Commands, query int) {
	if s.stamps != 0 {
		// At the bottom of the pipe: when all earlier work is done.
		c.Timestamp(s.stamps, query, vk.StageBottom)
	}
}

// recordStep records step k; bound is the pipeline that the command buffer has bound.
func (s *slot) recordStep(c *vk.Commands, k int, bound *vk.Pipeline) {
	step := &s.x.plan.Steps[k]
	if step.Barrier {
		c.Barrier(computeTransfer, deviceWrites, computeTransfer, deviceAccess)
	}
	if step.Kernel == shaders.Copy {
		src, dst := &step.Bindings[0], &step.Bindings[1]
		c.Copy(s.block(src.Buffer).buffer, src.Offset, s.block(dst.Buffer).buffer, dst.Offset, dst.Size)
		return
	}
	l := s.x.layouts[k]
	if *bound != s.x.pipelines[k] {
		*bound = s.x.pipelines[k]
		c.Pipeline(*bound)
	}
	c.Set(s.sets[k], l.pipeline)
	c.Push(l.pipeline, step.Push)
	c.Dispatch(step.Groups)
}

// destroy frees the slot; nil is ignored. Precondition: no pending work uses it.
func (s *slot) destroy() {
	if s == nil {
		return
	}
	if d := s.x.dev; !d.abandoned() {
		vk.Destroy(d.dev, s.cpool)
		vk.Destroy(d.dev, s.dpool)
		if s.stamps != 0 {
			d.dev.DestroyQueryPool(s.stamps)
		}
	}
	s.views.destroy()
	s.host.free()
	s.arena.free()
}
