package vulkan

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// pushBytes is the size of the push constants of every pipeline layout, so that layouts differ by their
// bindings only. Vulkan guarantees 128 bytes.
const pushBytes = 128

// pipelineTable holds the pipelines of a device, shared by all executables; they live as long as the
// device. Safe for concurrent use.
type pipelineTable struct {
	dev   *Device
	cache vk.PipelineCache
	slots chan struct{} // bounds the compilations that run at once
	khr   *binaryTable  // in the place of cache, where the device has VK_KHR_pipeline_binary; else nil

	// cacheMu is held for reading to use cache, for writing to merge into it.
	cacheMu sync.RWMutex

	making, warming effort // what the driver's compilations took, when pipelines are made and when they are first used

	mu      sync.Mutex
	entries map[plan.Pipeline]*pipelineEntry // guarded by mu
	layouts map[string]*layout               // guarded by mu; key: family.Info.Bindings
	array   vk.SetLayout                     // guarded by mu; of set 1 of kernels with blocks, 0 until there is one
	warm    map[warmKey]bool                 // guarded by mu
}

type pipelineEntry struct {
	done     chan struct{} // closed when pipeline and err are set
	pipeline vk.Pipeline
	err      error
}

// layout is the interface of kernels with the same bindings.
type layout struct {
	types    []vk.DescriptorType // of set 0
	blocks   bool                // there is a set 1
	set      vk.SetLayout
	pipeline vk.PipelineLayout
}

func (t *pipelineTable) init(d *Device) error {
	t.dev = d
	t.slots = make(chan struct{}, runtime.GOMAXPROCS(0))
	t.entries = map[plan.Pipeline]*pipelineEntry{}
	t.layouts = map[string]*layout{}
	t.warm = map[warmKey]bool{}
	t.khr = newBinaryTable(d.dev, d.props.Binaries)
	var err error
	t.cache, err = d.dev.NewPipelineCache(nil)
	return err
}

// close destroys everything. Precondition: the device is idle.
func (t *pipelineTable) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.entries {
		vk.Destroy(t.dev.dev, e.pipeline)
	}
	for _, l := range t.layouts {
		vk.Destroy(t.dev.dev, l.pipeline)
		vk.Destroy(t.dev.dev, l.set)
	}
	vk.Destroy(t.dev.dev, t.array)
	vk.Destroy(t.dev.dev, t.cache)
}

// effort is what compilations took so far. Safe for concurrent use. The zero value is empty.
type effort struct {
	mu    sync.Mutex
	took  time.Duration // guarded by mu
	units float64       // guarded by mu; of plan.CompileWork
}

func (e *effort) add(took time.Duration, units float64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.took, e.units = e.took+took, e.units+units
}

// perUnit is the time for a unit of work; false before there was any.
func (e *effort) perUnit() (time.Duration, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.units == 0 {
		return 0, false
	}
	return time.Duration(float64(e.took) / e.units), true
}

// Unmade is the work of compiling those of list that the device does not have, in units of plan.CompileWork.
func (d *Device) Unmade(list []plan.Pipeline) (units float64) {
	t := &d.pipelines
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range list {
		if t.entries[key] == nil {
			units += plan.CompileWork(key.Kernel)
		}
	}
	return units
}

// Prepare compiles the pipelines that the device does not have yet, several at once and those that take longest first.
// ctx is checked between pipelines.
func (d *Device) Prepare(ctx context.Context, list []plan.Pipeline) error {
	for _, key := range list {
		if err := d.checkPipeline(key); err != nil {
			return err
		}
	}
	start, units := time.Now(), d.Unmade(list)
	longest := slices.Clone(list)
	slices.SortStableFunc(longest, func(a, b plan.Pipeline) int {
		return cmp.Compare(plan.CompileWork(b.Kernel), plan.CompileWork(a.Kernel))
	})
	next := make(chan plan.Pipeline, len(longest))
	for _, key := range longest {
		next <- key
	}
	close(next)
	var wg sync.WaitGroup
	errs := make([]error, cap(d.pipelines.slots))
	for i := range errs {
		wg.Go(func() {
			for key := range next {
				_, err := d.pipelines.get(ctx, key)
				errs[i] = errors.Join(errs[i], err)
			}
		})
	}
	wg.Wait()
	err := errors.Join(errs...)
	if err == nil && units > 0 {
		d.pipelines.making.add(time.Since(start), units)
	}
	return err
}

// get returns the pipeline, compiled now or before. Precondition: key passed checkPipeline.
func (t *pipelineTable) get(ctx context.Context, key plan.Pipeline) (vk.Pipeline, error) {
	for {
		t.mu.Lock()
		e := t.entries[key]
		mine := e == nil
		if mine {
			e = &pipelineEntry{done: make(chan struct{})}
			t.entries[key] = e
		}
		t.mu.Unlock()
		if mine {
			e.pipeline, e.err = t.compile(ctx, key)
			if e.err != nil { // the next caller tries again
				t.mu.Lock()
				delete(t.entries, key)
				t.mu.Unlock()
			}
			close(e.done)
			return e.pipeline, e.err
		}
		select {
		case <-e.done:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		if e.err == nil {
			return e.pipeline, nil
		}
		if canceled := errors.Is(e.err, context.Canceled) || errors.Is(e.err, context.DeadlineExceeded); !canceled {
			return 0, e.err
		}
		if err := ctx.Err(); err != nil { // else it was another caller's context that ended
			return 0, err
		}
	}
}

func (t *pipelineTable) compile(ctx context.Context, key plan.Pipeline) (vk.Pipeline, error) {
	select {
	case t.slots <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { <-t.slots }()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	where := "kernel " + key.Kernel.String()
	l, err := t.layout(key.Kernel.Info().Bindings)
	if err != nil {
		return 0, t.dev.failure(where, err)
	}
	code := key.Kernel.SPIRV()
	words := make([]uint32, len(code)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(code[4*i:])
	}
	w := t.dev.workgroup(key)
	if t.khr != nil {
		p, err := t.khr.pipeline(key, words, l.pipeline, w)
		return p, t.dev.failure(where, err)
	}
	t.cacheMu.RLock()
	defer t.cacheMu.RUnlock()
	p, err := t.dev.dev.NewPipeline(words, l.pipeline, w, t.cache)
	return p, t.dev.failure(where, err)
}

// workgroup returns the workgroup of key. Cooperative matrices need full subgroups, of the size in which the workgroups
// of such kernels are counted.
func (d *Device) workgroup(key plan.Pipeline) vk.Workgroup {
	w := vk.Workgroup{Local: key.Local}
	if key.Kernel.Info().Needs.Matrix != (family.Matrix{}) {
		w.Subgroup = d.info.Facts.SubgroupSize
	}
	return w
}

// layout returns the layout for a list of binding letters.
func (t *pipelineTable) layout(bindings string) (*layout, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.layouts[bindings]; l != nil {
		return l, nil
	}
	l := &layout{}
	var err error
	for _, letter := range []byte(bindings) {
		if letter != 'a' {
			l.types = append(l.types, descriptorTypes[letter])
			continue
		}
		if l.blocks = true; t.array == 0 {
			if t.array, err = t.dev.dev.NewArrayLayout(uint32(t.dev.info.Facts.MaxBlocks)); err != nil {
				return nil, err
			}
		}
	}
	if l.set, err = t.dev.dev.NewSetLayout(l.types); err != nil {
		return nil, err
	}
	var array vk.SetLayout
	if l.blocks {
		array = t.array
	}
	if l.pipeline, err = t.dev.dev.NewPipelineLayout(l.set, array, pushBytes); err != nil {
		vk.Destroy(t.dev.dev, l.set)
		return nil, err
	}
	t.layouts[bindings] = l
	return l, nil
}

// arrayLayout is the layout of arrays. Precondition: layout made one.
func (t *pipelineTable) arrayLayout() vk.SetLayout {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.array
}

// descriptorTypes maps the letters of family.Info.Bindings.
var descriptorTypes = map[byte]vk.DescriptorType{
	's': vk.StorageBuffer, 't': vk.UniformTexelBuffer, 'i': vk.StorageTexelBuffer,
}

// checkPipeline refuses what the device cannot run, before Vulkan sees it.
func (d *Device) checkPipeline(key plan.Pipeline) error {
	if !key.Kernel.Valid() || key.Kernel == shaders.Copy {
		return fmt.Errorf("%s is no kernel", key.Kernel)
	}
	if err := d.info.Facts.Lacks(key.Kernel.Info(), key.Local); err != nil {
		return fmt.Errorf("kernel %s needs %w", key.Kernel, err)
	}
	return nil
}

// warmKey is what distinguishes two compilations of a driver that compiles at the first dispatch: the pipeline, and the
// formats of the texel views.
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
// ctx is checked between pipelines.
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
		if l.blocks {
			c.Array(s.base.arrays[k], l.pipeline)
		}
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

// coldTime estimates how long the driver may have to compile when it first runs p, and heat notes that it has.
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
