package prepare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/internal/budget"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/driver/validate"
)

const (
	// defaultInstances is how many a template keeps if options do not say.
	defaultInstances = 16
	// instancesShare divides a client's budget, or the device's memory if that is less: unused instances of a template
	// may take that share of it.
	instancesShare = 2
)

// Options say how a model is prepared.
type Options struct {
	backend.Options
	Files     *Files    // of the client; nil: none
	Delayed   bool      // the first execution compiles
	Staged    bool      // a quick form comes first,
	After     int       // for so many executions
	Instances int       // of a template, at most; 0: as many as usual
	Deadline  time.Time // zero: none
	Start     time.Time // of the call
	Saved     *Saved
}

// Model is what a client prepared: one instance, or a template, whose instances are made when executions bring the
// dimensions that the model leaves open. Safe for concurrent use.
type Model struct {
	Signature *nn.Model // the main graph, its names and the pools, which no output may overlap; constants are not read there
	Needed    []string  // of each input: validate.Needed
	Outputs   []nn.Dims // of each output, after inference

	device  *Device
	account *budget.Account
	source  *Source      // nil, or what may yet be compiled
	only    *Instance    // nil: a template
	held    atomic.Int64 // bytes that all instances have in the account

	// Of a template.
	options Options // of instances
	most    int     // instances
	bound   int64   // bytes of instances, but for the latest and those in use

	mu        sync.Mutex
	instances []*Instance // guarded by mu; the latest first
}

// Prepare prepares m. Memory is taken from a.
//
// Errors: those of validate.Model and of the backend, nn.ErrUnsupported as far as that can be told; those of the
// account; MISSED_DEADLINE_* if it would be late.
func (d *Device) Prepare(ctx context.Context, m *nn.Model, a *budget.Account, o *Options) (*Model, error) {
	p, err := d.prepare(ctx, m, a, o)
	if err != nil {
		return nil, err
	}
	return p, p.settle() // now that copies of constants that nobody needs any more are gone
}

// prepare is Prepare, except that it does not account for what it makes.
func (d *Device) prepare(ctx context.Context, m *nn.Model, a *budget.Account, o *Options) (*Model, error) {
	source, err := Own(m, a)
	if err != nil {
		return nil, err
	}
	defer source.Release()
	if err := validate.Model(source.Model); err != nil {
		return nil, err
	}
	dims, err := outputDims(source.Model)
	if err != nil {
		return nil, err
	}
	p := &Model{
		Signature: signatureOf(m), Needed: validate.Needed(source.Model), Outputs: dims, device: d, account: a, source: source,
	}
	if validate.Open(source.Model) {
		err = p.makeTemplate(o)
	} else {
		err = p.makeOnly(ctx, o)
	}
	if err != nil {
		return nil, fmt.Errorf("prepare model: %w", err)
	}
	return p, nil
}

// makeOnly makes the instance of a model whose sizes are known.
func (p *Model) makeOnly(ctx context.Context, o *Options) error {
	if o.Delayed {
		return p.delay(o)
	}
	began := time.Now()
	d, m := p.device, p.source
	cost := d.rates.cost(m.Model)
	if d.loads(o) {
		if err := d.rates.canLoad(cost, o); err != nil {
			return err
		}
	}
	ctx, cancel := WithDeadline(ctx, o.Deadline)
	defer cancel()
	form, status, next, err := d.make(ctx, m, o)
	if err != nil {
		return err
	}
	switch {
	case status == Hit:
		d.rates.loaded(cost, time.Since(began))
	case o.Tuning == 0:
		d.rates.observe(m.Model, cost, time.Since(began))
	}
	p.have(form, status, next)
	return nil
}

// have makes the only instance, from a form that exists.
func (p *Model) have(form *Form, status Status, next *improvement) {
	p.only = newInstance(p, nil, func() {})
	p.only.mu.Lock()
	defer p.only.mu.Unlock()
	p.only.set(form, status, next)
}

// delay checks what a preparation promises, and leaves the rest to the first execution.
func (p *Model) delay(o *Options) error {
	d, m := p.device, p.source
	reasons, err := d.backend.Supports(m.Model)
	if err != nil {
		return err
	}
	for i, why := range reasons {
		if why != nil {
			return nn.Invalid(fmt.Sprintf("operation %d (%v)", i, m.Main.Operations[i].Type), "%w", why)
		}
	}
	own := *o
	own.Delayed, own.Deadline = false, time.Time{} // that was the preparation's
	release := m.Retain().Release
	if f := o.Files; f != nil && f.Dir == "" && d.restorer != nil {
		files, err := f.duplicate()
		if own.Files = files; err != nil { // it could not be saved in them either
			d.notKept(err)
			o.Saved.done(err)
			own.Saved = &Saved{} // the transparent cache is not what was asked for
		} else {
			release = func() {
				files.close()
				m.Release()
			}
		}
	}
	p.only = newInstance(p, func(ctx context.Context) (*Form, Status, *improvement, error) { return d.make(ctx, m, &own) }, release)
	return nil
}

// settle accounts for what was made, and frees it if that fails.
func (p *Model) settle() error {
	if p.only == nil {
		return nil
	}
	if err := p.only.account(p.source.Held()); err != nil {
		return errors.Join(err, p.only.close())
	}
	return nil
}

// makeTemplate makes p a template.
func (p *Model) makeTemplate(o *Options) error {
	d, m := p.device, p.source
	reasons, err := d.Supports(m.Model)
	if err == nil {
		err = nn.Unsupported(m.Model, reasons)
	}
	if err != nil {
		return err
	}
	m.Retain()
	p.options, p.most, p.bound = *o, cmp.Or(o.Instances, defaultInstances), p.share()
	p.options.Delayed, p.options.Deadline = false, time.Time{} // that was the preparation's
	if f := o.Files; f != nil && f.Dir == "" {
		p.options.Files = nil
		if f.areOpen() {
			o.Saved.done(d.saveTemplate(m.Model, o))
		}
	}
	return nil
}

// share is how much memory idle instances may take.
func (p *Model) share() int64 {
	bound := p.account.Limit()
	if _, _, limit := p.device.backend.Memory(); limit > 0 && (bound == 0 || limit < bound) {
		bound = limit
	}
	if bound == 0 {
		bound = int64(^uint64(0) >> 1)
	}
	return bound / instancesShare
}

// Supports is backend.Backend.Supports for any model. One with open dimensions is judged by an example of them. If
// there is none, what cannot be told before dimensions are known is accepted; so is a branch or loop if the example has
// dimensions that only the data tells, since others may not have them: instances are judged anew.
func (d *Device) Supports(m *nn.Model) ([]error, error) {
	if !validate.Open(m) {
		return d.backend.Supports(m)
	}
	if example := validate.Example(m); example != nil {
		reasons, err := d.backend.Supports(example)
		for i := range reasons {
			if t := m.Main.Operations[i].Type; (t == nn.OpIf || t == nn.OpWhile) && validate.FromData(example) {
				reasons[i] = nil
			}
		}
		return reasons, err
	}
	if len(m.Referenced) > 0 { // backends take a model apart only if the dimensions of its inputs are known
		return make([]error, len(m.Main.Operations)), nil
	}
	reasons, err := d.backend.Supports(m)
	for i, why := range reasons {
		if errors.Is(why, ops.ErrOpenShape) {
			reasons[i] = nil
		}
	}
	return reasons, err
}

// Take returns the instance for inputs of these dimensions, not necessarily compiled, which stays until Give.
//
// Errors: those of validate.Resolve.
func (p *Model) Take(inputs []nn.Dims) (*Instance, error) {
	if p.only != nil {
		return p.only, nil
	}
	p.mu.Lock()
	x := p.find(inputs)
	p.mu.Unlock()
	if x != nil {
		return x, nil
	}
	resolved, err := validate.Resolve(p.source.Model, inputs)
	if err != nil {
		return nil, err
	}
	made := p.newInstance(inputs, resolved)
	p.mu.Lock()
	if x = p.find(inputs); x == nil {
		made.users++
		p.instances = slices.Insert(p.instances, 0, made)
	}
	surplus := p.surplus()
	p.mu.Unlock()
	p.drop(surplus)
	if x != nil {
		_ = made.close() // it holds nothing of the device
		return x, nil
	}
	return made, nil
}

// find takes the instance for inputs of these dimensions; nil if there is none. Precondition: p.mu held.
func (p *Model) find(inputs []nn.Dims) *Instance {
	i := p.index(inputs)
	if i < 0 {
		return nil
	}
	x := p.instances[i]
	x.users++
	copy(p.instances[1:i+1], p.instances[:i])
	p.instances[0] = x
	return x
}

// index is the position of the instance for inputs of these dimensions; below 0 if there is none. Precondition: p.mu
// held.
func (p *Model) index(inputs []nn.Dims) int {
	return slices.IndexFunc(p.instances, func(x *Instance) bool { return slices.EqualFunc(x.inputs, inputs, nn.Dims.Equal) })
}

// Peek returns the instance for inputs of these dimensions without taking it; nil where there is none.
func (p *Model) Peek(inputs []nn.Dims) *Instance {
	if p.only != nil {
		return p.only
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := p.index(inputs); i >= 0 {
		return p.instances[i]
	}
	return nil
}

// Give undoes Take.
func (p *Model) Give(x *Instance) {
	if p.only != nil {
		return
	}
	p.mu.Lock()
	x.users--
	surplus := p.surplus()
	p.mu.Unlock()
	p.drop(surplus)
}

// OutputsOf are the dimensions of the outputs as far as they follow from those of the inputs, which x is for.
func (p *Model) OutputsOf(x *Instance) []nn.Dims {
	if p.only != nil {
		return p.Outputs
	}
	return x.outputs
}

// surplus takes out of the list the least recently used instances that are not in use, as long as there are too many,
// or they take too much. Precondition: p.mu held.
func (p *Model) surplus() (list []*Instance) {
	beyond := p.held.Load() - p.bound
	for i := len(p.instances) - 1; i > 0 && (len(p.instances) > p.most || beyond > 0); i-- {
		x := p.instances[i]
		if x.users > 0 || !x.isIdle() || len(p.instances) <= p.most && !x.isCompiled() {
			continue
		}
		beyond -= x.taken()
		list = append(list, x)
		p.instances = slices.Delete(p.instances, i, i+1)
	}
	return list
}

// Account updates the account for x; idle instances make room for it.
func (p *Model) Account(x *Instance) error {
	for {
		err := x.account(p.source.Held())
		if p.only == nil && p.held.Load() > p.bound {
			p.mu.Lock()
			list := p.surplus()
			p.mu.Unlock()
			p.drop(list)
		}
		if !p.MakeRoom(err) {
			return err
		}
	}
}

// MakeRoom closes the least recently used instance that takes memory and is not in use, if err says that there is no
// room; false: nothing has changed.
func (p *Model) MakeRoom(err error) bool {
	if !isFull(err) {
		return false
	}
	p.mu.Lock()
	for i := len(p.instances) - 1; i >= 0; i-- {
		if x := p.instances[i]; x.users == 0 && x.isIdle() && x.isCompiled() {
			p.instances = slices.Delete(p.instances, i, i+1)
			p.mu.Unlock()
			p.drop([]*Instance{x})
			return true
		}
	}
	p.mu.Unlock()
	return false
}

// drop closes instances that were taken out of the list.
func (p *Model) drop(list []*Instance) {
	for _, x := range list {
		if err := x.close(); err != nil {
			p.device.log.Warn("an instance of a model was not freed", "error", err)
		}
	}
}

// newInstance returns an instance that is compiled when it is first needed; resolved is the model for these inputs.
// Idle instances give up their memory on the device for the compilation.
func (p *Model) newInstance(inputs []nn.Dims, resolved *nn.Model) *Instance {
	m, d := p.source.sharing(resolved), p.device
	inputs = CloneDims(inputs)
	x := newInstance(p, func(ctx context.Context) (f *Form, s Status, next *improvement, err error) {
		o := p.options
		o.Start = time.Now()
		if o.Files != nil {
			o.Files = o.Files.forInputs(inputs)
		}
		if o.Priority < nn.PriorityHigh && !d.isIdle() {
			o.Pause = giveWay(d.scheduler.Idle, shortPatience)
			if err := o.Pause(ctx); err != nil {
				return nil, Off, nil, err
			}
		}
		for {
			f, s, next, err = d.make(ctx, m, &o)
			if !p.MakeRoom(err) {
				return f, s, next, err
			}
		}
	}, m.Release)
	x.inputs = inputs
	for _, y := range resolved.Main.Outputs {
		x.outputs = append(x.outputs, resolved.Main.Operands[y].Dims)
	}
	return x
}

// Latest is the only instance, or of a template the compiled one that was wanted last; nil if there is none.
func (p *Model) Latest() *Instance {
	if p.only != nil {
		return p.only
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.IndexFunc(p.instances, (*Instance).isCompiled); i >= 0 {
		return p.instances[i]
	}
	return nil
}

// Instances describes the compiled instances of a template, the last used first.
func (p *Model) Instances() (list []Info) {
	p.mu.Lock()
	instances := slices.Clone(p.instances)
	p.mu.Unlock()
	for _, x := range instances {
		if i, ok := x.info(); ok {
			list = append(list, i)
		}
	}
	return list
}

// Close frees everything. Precondition: no execution uses an instance or will.
func (p *Model) Close() error {
	if p.only != nil {
		return p.only.close()
	}
	p.mu.Lock()
	list := p.instances
	p.instances = nil
	p.mu.Unlock()
	var errs []error
	for _, x := range list {
		errs = append(errs, x.close())
	}
	p.source.Release()
	return errors.Join(errs...)
}

// CloneDims returns a copy of list that shares no memory with it.
func CloneDims(list []nn.Dims) []nn.Dims {
	out := make([]nn.Dims, len(list))
	for i, d := range list {
		out[i] = slices.Clone(d)
	}
	return out
}
