package vulkan

import (
	"slices"
	"sync"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

// place says where an execution finds an input or leaves an output: in the slot's inputs or host where memory is
// nil.
type place struct {
	memory *Memory
	offset int64
}

// recording is a slot's descriptor sets and command buffers for one way of binding inputs and outputs.
//
// It may outlive memory that it names: then it is never submitted again, because nobody can bind that memory any more,
// and is freed with its slot or when others have taken its place.
type recording struct {
	slot *slot
	// at has the places of inputs, then outputs; nil where all are in the slot's inputs and host.
	at      []place
	dpool   vk.DescriptorPool
	sets    []vk.DescriptorSet // by step; 0 for copies and for what does not run
	arrays  []vk.DescriptorSet // by step: what its kernel sees of the weights as blocks, else 0; borrowed
	cpool   vk.CommandPool
	cmds    []vk.CommandBuffer // by segment
	views   []heldView         // that its sets name
	traffic backend.Traffic    // of its steps
	points  int                // timestamps that time all steps
	used    uint64             // when it was last asked for, in the slot's count
}

// heldView is a view that a recording holds.
type heldView struct {
	table *viewTable
	key   viewKey
}

// newRecording describes and records the plan for inputs and outputs at the given places. Sets of steps that see
// no other memory are those of base, which may be nil.
func (s *slot) newRecording(at []place, base *recording) (r *recording, err error) {
	r = &recording{slot: s, at: slices.Clone(at)}
	r.points = len(r.windowPoints(0, len(s.x.plan.Steps)))
	if err = r.describe(base); err == nil {
		err = r.record()
	}
	if err != nil {
		r.destroy()
		return nil, s.x.dev.failure("recording", err)
	}
	s.x.dev.counters.recordings.Add(1)
	return r, nil
}

// place is where of is bound.
func (r *recording) place(of plan.IORef) place {
	if r.at == nil || of == 0 {
		return place{}
	}
	return r.at[r.slot.x.index(of)]
}

// runs says whether step s is a part of the execution.
func (r *recording) runs(s *plan.Step) bool {
	if s.When == plan.Always {
		return true
	}
	m := r.place(s.Transfers).memory
	return (m != nil && !m.imported) == (s.When == plan.WhenDevice)
}

// replaced says whether b is of memory that is not the slot's.
func (r *recording) replaced(b *plan.Binding) bool {
	m := r.place(b.Of).memory
	return m != nil && (!m.imported || b.Buffer == plan.Host)
}

// locate returns the block that b is in, with the range of it.
func (r *recording) locate(b *plan.Binding) (x *block, offset, size int64) {
	if !r.replaced(b) {
		x, offset = r.slot.locate(b)
		return x, offset, b.Size
	}
	p := r.place(b.Of)
	offset, size = p.offset+b.At, b.Size
	if p.memory.imported {
		size = r.fit(b, p)
	}
	return p.memory.block, offset, size
}

// fit is the size of b in imported memory: without what lowering added behind the tensor (see
// emit.Builder.steadyViews), unless it fits in there as well. For other inputs and outputs it would count as an
// access to them.
func (r *recording) fit(b *plan.Binding, p place) int64 {
	size := min(b.Size, r.slot.x.plan.IO(b.Of).DeviceBytes-b.At)
	if size == b.Size {
		return size
	}
	from, to := p.offset+b.At+size, p.offset+b.At+b.Size
	if to > p.memory.block.bytes {
		return size
	}
	for i, other := range r.at {
		if other.memory == p.memory && i != r.slot.x.index(b.Of) && other.offset < to && from < other.offset+r.slot.x.ios[i].bytes {
			return size
		}
	}
	return b.Size
}

// describe allocates and writes a descriptor set for each step that needs one of its own.
func (r *recording) describe(base *recording) error {
	x := r.slot.x
	d, steps := x.dev.dev, x.plan.Steps
	r.sets, r.arrays = make([]vk.DescriptorSet, len(steps)), make([]vk.DescriptorSet, len(steps))
	var count [8]int // by descriptor type
	var layouts []vk.SetLayout
	var own []int // steps
	for i := range steps {
		l := x.layouts[i]
		if l == nil || !r.runs(&steps[i]) {
			continue
		}
		if err := r.describeArray(i); err != nil {
			return err
		}
		if base != nil && base.sets[i] != 0 && !slices.ContainsFunc(steps[i].Bindings, func(b plan.Binding) bool { return r.replaced(&b) }) {
			r.sets[i] = base.sets[i]
			continue
		}
		own = append(own, i)
		layouts = append(layouts, l.set)
		for _, t := range l.types {
			count[t]++
		}
	}
	if len(own) == 0 {
		return nil
	}
	var err error
	r.dpool, err = d.NewDescriptorPool(len(layouts), count[vk.StorageBuffer], count[vk.UniformTexelBuffer], count[vk.StorageTexelBuffer])
	if err != nil {
		return err
	}
	sets, err := d.NewDescriptorSets(r.dpool, layouts)
	if err != nil {
		return err
	}
	var w vk.Writes
	for n, i := range own {
		r.sets[i] = sets[n]
		for k := range steps[i].Bindings {
			b := &steps[i].Bindings[k]
			if b.Format == plan.FormatBlocks {
				continue
			}
			t := x.layouts[i].types[k]
			block, offset, size := r.locate(b)
			if t == vk.StorageBuffer {
				w.Buffer(sets[n], k, block.buffer, offset, size)
				continue
			}
			v, err := r.view(b, viewKey{block.buffer, b.Format, offset, size})
			if err != nil {
				return err
			}
			w.View(sets[n], k, v, t)
		}
	}
	return d.WriteDescriptors(&w)
}

// describeArray sets the array of step i, if its kernel has one.
func (r *recording) describeArray(i int) (err error) {
	x := r.slot.x
	if x.layouts[i].blocks {
		s := &x.plan.Steps[i]
		last := &s.Bindings[len(s.Bindings)-1]
		r.arrays[i], err = x.weights.array(arrayKey{last.Offset, last.Size, int64(s.Kernel.Info().Needs.BlockBytes)})
	}
	return err
}

// view returns the view that key describes, from the table of the memory that b is in.
func (r *recording) view(b *plan.Binding, key viewKey) (vk.BufferView, error) {
	table := r.slot.views
	switch {
	case r.replaced(b):
		table = r.place(b.Of).memory.views
	case b.Buffer == plan.Weights:
		table = r.slot.x.views
	}
	v, err := table.take(key)
	if err == nil {
		r.views = append(r.views, heldView{table, key})
	}
	return v, err
}

// record writes one command buffer for each segment. Queries 2i and 2i+1 hold the times at which segment i
// began and ended.
func (r *recording) record() (err error) {
	s := r.slot
	d, p := s.x.dev, s.x.plan
	n := len(p.Segments)
	if n == 0 {
		return nil
	}
	if r.cpool, err = d.dev.NewCommandPool(); err != nil {
		return err
	}
	if r.cmds, err = d.dev.NewCommandBuffers(r.cpool, n); err != nil {
		return err
	}
	var c vk.Commands
	first := 0
	for i, end := range p.Segments {
		c.Reset()
		r.recordSegment(&c, i, first, end, func(int, bool) {})
		if err := d.dev.Record(r.cmds[i], &c); err != nil {
			return err
		}
		first = end
	}
	return nil
}

// recordSegment records segment i, steps [first, end). at is called before and after each step, where timestamps may be
// taken.
func (r *recording) recordSegment(c *vk.Commands, i, first, end int, at func(step int, after bool)) {
	s, p := r.slot, r.slot.x.plan
	if i == 0 {
		s.recordStart(c)
	}
	s.stamp(c, 2*i)
	barrier := r.owed(first)
	var bound vk.Pipeline
	for k := first; k < end; k++ {
		step := &p.Steps[k]
		barrier = barrier || step.Barrier
		at(k, false)
		if r.runs(step) {
			if barrier {
				c.Barrier(computeTransfer, deviceWrites, computeTransfer, deviceAccess)
				barrier = false
			}
			r.recordStep(c, k, &bound)
		}
		at(k, true)
	}
	if i == len(p.Segments)-1 {
		c.Barrier(computeTransfer, deviceWrites, vk.StageHost, vk.AccessHostRead)
	}
	s.stamp(c, 2*i+1)
}

// owed: steps before k that do not run have left a barrier to it.
func (r *recording) owed(k int) bool {
	steps := r.slot.x.plan.Steps
	for k--; k >= 0 && !r.runs(&steps[k]); k-- {
		if steps[k].Barrier {
			return true
		}
	}
	return false
}

// recordStep records step k without its barrier; bound is the pipeline that the command buffer has bound.
func (r *recording) recordStep(c *vk.Commands, k int, bound *vk.Pipeline) {
	x := r.slot.x
	step := &x.plan.Steps[k]
	if step.Kernel == shaders.Copy {
		from, fromOffset, fromSize := r.locate(&step.Bindings[0])
		to, toOffset, size := r.locate(&step.Bindings[1])
		size = min(size, fromSize)
		c.Copy(from.buffer, fromOffset, to.buffer, toOffset, size)
		if step.Transfers != 0 {
			r.traffic.Copied += size
		}
		return
	}
	if step.Transfers != 0 && step.Base == [3]uint32{} { // the first part says what all of them read
		r.traffic.Converted += step.Bindings[0].Size
	}
	l := x.layouts[k]
	if *bound != x.pipelines[k] {
		*bound = x.pipelines[k]
		c.Pipeline(*bound)
	}
	c.Set(r.sets[k], l.pipeline)
	if l.blocks {
		c.Array(r.arrays[k], l.pipeline)
	}
	c.Push(l.pipeline, step.Push)
	if step.Base == [3]uint32{} {
		c.Dispatch(step.Groups)
	} else {
		c.DispatchBase(step.Base, step.Groups)
	}
}

// destroy frees the recording; nil is ignored. Precondition: no pending work uses it.
func (r *recording) destroy() {
	if r == nil {
		return
	}
	if d := r.slot.x.dev; !d.abandoned() {
		vk.Destroy(d.dev, r.cpool)
		vk.Destroy(d.dev, r.dpool)
	}
	for _, v := range r.views {
		v.table.give(v.key)
	}
	r.views = nil
}

// viewTable holds the texel views of some blocks, one for each distinct range and format, as long as somebody uses them. Safe
// for concurrent use.
type viewTable struct {
	dev *Device

	mu   sync.Mutex
	list map[viewKey]*view // guarded by mu; nil when closed
}

type view struct {
	vk.BufferView
	users int
}

func newViews(d *Device) *viewTable { return &viewTable{dev: d, list: map[viewKey]*view{}} }

type viewKey struct {
	buffer       vk.Buffer
	format       plan.Format
	offset, size int64
}

var viewFormats = [...]vk.Format{
	plan.FormatRGBA32F: vk.FormatR32G32B32A32Sfloat,
	plan.FormatRGBA32U: vk.FormatR32G32B32A32Uint,
	plan.FormatR32U:    vk.FormatR32Uint,
	plan.FormatRG32U:   vk.FormatR32G32Uint,
}

// take returns the view that key describes, for give to give back.
func (t *viewTable) take(key viewKey) (vk.BufferView, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.list == nil {
		return 0, errClosedMemory
	}
	v := t.list[key]
	if v == nil {
		made, err := t.dev.dev.NewBufferView(key.buffer, viewFormats[key.format], key.offset, key.size)
		if err != nil {
			return 0, err
		}
		v = &view{BufferView: made}
		t.list[key] = v
	}
	v.users++
	return v.BufferView, nil
}

// give returns what take took. Precondition: no pending work uses it.
func (t *viewTable) give(key viewKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.list[key]
	if v == nil { // it went when t was closed
		return
	}
	if v.users--; v.users == 0 {
		t.drop(key)
	}
}

// drop destroys a view. Precondition: mu is held.
func (t *viewTable) drop(key viewKey) {
	if !t.dev.abandoned() {
		t.dev.dev.DestroyBufferView(t.list[key].BufferView)
	}
	delete(t.list, key)
}

// close destroys all views, also those not given back. Precondition: no pending work uses them.
func (t *viewTable) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.list {
		t.drop(key)
	}
	t.list = nil
}
