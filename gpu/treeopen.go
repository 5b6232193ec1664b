package gpu

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/compile"
)

// maxInstances is how many instances of an open region are kept that no execution uses.
const maxInstances = 8

// openPart is an open straight region: what it is compiled to, for dimensions and parameters that executions came with. Safe
// for concurrent use.
type openPart struct {
	x      *tree
	region *compile.Straight

	mu     sync.Mutex
	list   []*instance   // guarded by mu; the latest first
	latest time.Duration // guarded by mu; what it is expected to take; 0: it never ran
}

// instance is an open region for inputs of some dimensions and some parameters.
type instance struct {
	inputs, paramDims []nn.Dims
	params            [][]byte // nil: left off
	outputs           []nn.Dims
	model             *nn.Model     // nil: it copies; until it is compiled
	compiled          chan struct{} // closed then
	part              *part         // since compiled; nil: err says why, or nothing is to be done
	err               error
	users             int // guarded by the mutex of its part
}

// unknownRegion is what an open region is expected to take that never ran.
const unknownRegion = time.Millisecond

// expected is what the region is expected to take.
func (p *openPart) expected() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.latest == 0 {
		return unknownRegion
	}
	return p.latest
}

// Estimates are those of a region of one segment.
func (p *openPart) Estimates() []time.Duration { return []time.Duration{p.expected()} }

func (p *openPart) took(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.latest == 0 {
		p.latest = d
	}
	p.latest += (d - p.latest) / 4
}

// is reports whether i is for these.
func (i *instance) is(inputs, paramDims []nn.Dims, params [][]byte) bool {
	return slices.EqualFunc(i.inputs, inputs, nn.Dims.Equal) && slices.EqualFunc(i.paramDims, paramDims, nn.Dims.Equal) &&
		slices.EqualFunc(i.params, params, func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) })
}

// take returns the instance for these, compiled, which stays until give. Who first wants it has it compiled, in the
// background: when ctx ends, only the wait does.
//
// Errors: those of compile.Straight.Instance and of compiling.
func (p *openPart) take(ctx context.Context, inputs, paramDims []nn.Dims, params [][]byte) (*instance, error) {
	p.mu.Lock()
	k := slices.IndexFunc(p.list, func(i *instance) bool { return i.is(inputs, paramDims, params) })
	if k >= 0 {
		i := p.list[k]
		copy(p.list[1:k+1], p.list[:k])
		p.list[0] = i
		i.users++
		p.mu.Unlock()
		return p.wait(ctx, i)
	}
	p.mu.Unlock()
	i := &instance{compiled: make(chan struct{}), users: 1}
	for _, d := range inputs {
		i.inputs = append(i.inputs, slices.Clone(d))
	}
	for k, d := range paramDims {
		i.paramDims, i.params = append(i.paramDims, slices.Clone(d)), append(i.params, bytes.Clone(params[k]))
	}
	var err error
	if i.model, i.outputs, err = p.region.Instance(i.inputs, i.paramDims, i.params); err != nil {
		return nil, err
	}
	p.mu.Lock()
	if k = slices.IndexFunc(p.list, func(i *instance) bool { return i.is(inputs, paramDims, params) }); k >= 0 {
		i = p.list[k] // another was quicker
		i.users++
	} else {
		p.list = slices.Insert(p.list, 0, i)
		if p.hasWork(i) {
			p.x.compiling.Go(func() { p.compile(i) })
		} else {
			close(i.compiled)
		}
	}
	p.mu.Unlock()
	return p.wait(ctx, i)
}

// hasWork reports whether i computes or copies anything: nothing does where tensors have no elements.
func (p *openPart) hasWork(i *instance) bool {
	return i.model != nil || p.region.Model == nil && slices.ContainsFunc(i.inputs, nn.Dims.Known)
}

// wait waits until i, which is taken, is compiled.
func (p *openPart) wait(ctx context.Context, i *instance) (*instance, error) {
	select {
	case <-i.compiled:
	default:
		select {
		case <-i.compiled:
		case <-ctx.Done():
			p.give(i)
			return nil, ctx.Err()
		}
	}
	if i.err != nil {
		p.give(i)
		return nil, i.err
	}
	return i, nil
}

// compile compiles i, with memory that idle instances give up where there is too little.
func (p *openPart) compile(i *instance) {
	var l *longLived
	var err error
	for {
		if l, err = p.compileInstance(i); !isFull(err) || !p.x.makeRoom() {
			break
		}
	}
	i.model = nil
	if i.err = err; err == nil {
		i.part = &part{executable: newExecutable(l, p.x.b, p.x.o)}
	}
	p.mu.Lock()
	close(i.compiled)
	if err != nil {
		p.list = slices.DeleteFunc(p.list, func(other *instance) bool { return other == i })
	}
	p.mu.Unlock()
}

func (p *openPart) compileInstance(i *instance) (*longLived, error) {
	x := p.x
	o := x.options(x.o)
	o.Pause = x.o.PauseWithin
	if x.o.PauseWithin != nil {
		if err := x.o.PauseWithin(x.closed); err != nil {
			return nil, err
		}
	}
	if i.model != nil {
		f, err := x.b.planForm(x.closed, i.model, x.o)
		if err != nil {
			return nil, err
		}
		return x.b.makeForm(x.closed, f, o)
	}
	var list []nn.Operand
	for k, v := range p.region.In {
		o := x.model.Values[v].Operand
		if o.Dims = i.inputs[k]; o.Dims.Known() { // it has elements
			list = append(list, o)
		}
	}
	f, err := x.b.planCopy(x.closed, list)
	if err != nil {
		return nil, err
	}
	return x.b.makeForm(x.closed, f, o)
}

// give undoes take. What is too much goes.
func (p *openPart) give(i *instance) {
	p.mu.Lock()
	i.users--
	p.mu.Unlock()
	p.drop(maxInstances)
}

// drop closes the idle instances beyond the last used n; false: there were none.
func (p *openPart) drop(n int) bool {
	p.mu.Lock()
	var surplus []*instance
	for k := len(p.list) - 1; k >= 0 && len(p.list) > n; k-- {
		if p.list[k].idle() {
			surplus = append(surplus, p.list[k])
			p.list = slices.Delete(p.list, k, k+1)
		}
	}
	p.mu.Unlock()
	for _, i := range surplus {
		_ = i.close() // which only says that there is nothing to do
	}
	return len(surplus) > 0
}

// close frees what i, which is compiled, holds.
func (i *instance) close() error {
	if i.part == nil {
		return nil
	}
	return i.part.Close()
}

// idle reports whether i is compiled and not in use. Precondition: the mutex of its part is held.
func (i *instance) idle() bool {
	select {
	case <-i.compiled:
		return i.users == 0
	default:
		return false
	}
}

// isFull reports whether there would be room if others gave way.
func isFull(err error) bool {
	return err != nil && nn.StatusOf(err) == nn.StatusResourceExhaustedTransient
}

// makeRoom closes the idle instances of all regions; false: there were none.
func (x *tree) makeRoom() (made bool) {
	for _, p := range x.open {
		made = p != nil && p.drop(0) || made
	}
	return made
}

// closeOpen ends what is being compiled and closes all instances. Precondition: no execution uses one or will.
func (x *tree) closeOpen() error {
	x.stop()
	x.compiling.Wait()
	var list []error
	for _, p := range x.open {
		if p == nil {
			continue
		}
		for _, i := range p.list {
			list = append(list, i.close())
		}
		p.list = nil
	}
	return errors.Join(list...)
}

// maxSpare is how many tensors of values with open dimensions a frame keeps for executions to come.
const maxSpare = 16

// tensorMemory is memory for a tensor of some dimensions.
type tensorMemory struct {
	backend.Memory
	t    nn.OperandType
	dims nn.Dims
}

// takeSized returns memory for a tensor. It clears nothing: kernels write all of it.
func (x *tree) takeSized(f *frame, t nn.OperandType, dims nn.Dims) (*tensorMemory, error) {
	for k := len(f.spare) - 1; k >= 0; k-- {
		if s := f.spare[k]; s.t == t && s.dims.Equal(dims) {
			f.spare = slices.Delete(f.spare, k, k+1)
			return s, nil
		}
	}
	for {
		m, err := x.b.Allocate(t, dims, x.o.MemoryBudget)
		if err == nil {
			return &tensorMemory{m, t, slices.Clone(dims)}, nil
		}
		if !isFull(err) || !f.dropSpare(0) && !x.makeRoom() {
			return nil, err
		}
	}
}

// giveSized undoes takeSized.
func (f *frame) giveSized(s *tensorMemory) {
	if s != nil {
		f.spare = append(f.spare, s)
		f.dropSpare(maxSpare)
	}
}

// dropSpare closes the memory that f keeps beyond n tensors; false: there is none.
func (f *frame) dropSpare(n int) bool {
	list := f.spare[:max(len(f.spare)-n, 0)]
	for _, s := range list {
		_ = s.Close() // which only says that there is nothing to do
	}
	f.spare = slices.Delete(f.spare, 0, len(list))
	return len(list) > 0
}
