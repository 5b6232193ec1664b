package driver

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
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/driver/validate"
)

// defaultInstances is how many a template keeps without WithInstances.
const defaultInstances = 16

// instancesShare is the part of a client's budget, or of the device's memory where that is less, that instances of a template
// may take which nobody uses.
const instancesShare = 2

// WithInstances says how many instances are kept of a model that leaves dimensions of its inputs open: compiled models, each
// for the dimensions that executions came with. Beyond n, at least 1, or 16 without this option, the least recently used
// goes as soon as no execution uses it; so does each that is not in use where the device's memory or the client's budget
// would not suffice otherwise, or where all of them take more than half of either. The transparent cache keeps what was
// compiled, as far as it is on. Other models ignore it.
//
// The execution that first brings some dimensions compiles the instance, or takes it from the cache, as with
// WithDelayedCompilation: others that want the same wait for it, executions of other instances do not, and a deadline ends
// the wait with MISSED_DEADLINE_TRANSIENT but not the compilation. While executions wait or run on the device it is
// compiled piece by piece, and gives way to them before each, unless the model is of high priority.
func WithInstances(n int) Option {
	return func(o *prepareOptions) { o.preparing.instances = max(n, 1) }
}

// template is a model of which dimensions are open, and its instances. Safe for concurrent use.
type template struct {
	client  *Client
	model   *ownModel
	options prepareOptions // of instances
	most    int            // instances
	bound   int64          // bytes of instances, but for the latest and those in use
	held    atomic.Int64

	mu        sync.Mutex
	instances []*instance // guarded by mu; the latest first
}

// makeTemplate makes p, which has nothing to run on, a template of its own model.
//
// Errors: nn.ErrUnsupported, as far as that can be told.
func (p *PreparedModel) makeTemplate(o *prepareOptions) error {
	d, m := p.client.device, p.own
	reasons, err := d.supports(m.Model)
	if err == nil {
		err = nn.Unsupported(m.Model, reasons)
	}
	if err != nil {
		return fmt.Errorf("prepare model: %w", err)
	}
	t := &template{client: p.client, model: m.retain(), options: *o, most: cmp.Or(o.preparing.instances, defaultInstances)}
	t.bound = p.client.share(instancesShare)
	t.options.preparing.delayed = false
	t.options.deadline = time.Time{} // it was that of PrepareModel
	if f := o.files; f != nil && f.dir == "" {
		t.options.files = nil
		if len(f.model)+len(f.data) > 0 {
			o.saving.done(d.saveTemplate(m.Model, o))
		}
	}
	p.template = t
	return nil
}

// supports is backend.Backend.Supports of any model. One of which dimensions are open is judged by an example of them. Where
// there is none, what cannot be told before dimensions are known is accepted, and so is a branch or loop where an example has
// dimensions that only the data tells, as others may not have: instances are judged anew.
func (d *Device) supports(m *nn.Model) ([]error, error) {
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
	if len(m.Referenced) > 0 { // backends take apart only what has inputs of known dimensions
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

// take returns the instance for inputs of these dimensions, not necessarily compiled, which stays until give.
//
// Errors: those of validate.Resolve.
func (t *template) take(inputs []nn.Dims) (*instance, error) {
	t.mu.Lock()
	x := t.find(inputs)
	t.mu.Unlock()
	if x != nil {
		return x, nil
	}
	resolved, err := validate.Resolve(t.model.Model, inputs)
	if err != nil {
		return nil, err
	}
	made := t.newInstance(inputs, resolved)
	t.mu.Lock()
	if x = t.find(inputs); x == nil {
		made.users++
		t.instances = slices.Insert(t.instances, 0, made)
	}
	surplus := t.surplus()
	t.mu.Unlock()
	t.drop(surplus)
	if x != nil {
		_ = made.exe.Close() // it holds nothing of the device
		return x, nil
	}
	return made, nil
}

// find takes the instance for inputs of these dimensions; nil where there is none. Precondition: t.mu held.
func (t *template) find(inputs []nn.Dims) *instance {
	for i, x := range t.instances {
		if slices.EqualFunc(x.inputs, inputs, nn.Dims.Equal) {
			x.users++
			copy(t.instances[1:i+1], t.instances[:i])
			t.instances[0] = x
			return x
		}
	}
	return nil
}

// peek returns the instance for inputs of these dimensions without taking it; nil where there is none.
func (t *template) peek(inputs []nn.Dims) *instance {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.instances, func(x *instance) bool { return slices.EqualFunc(x.inputs, inputs, nn.Dims.Equal) })
	if i < 0 {
		return nil
	}
	return t.instances[i]
}

// give undoes take.
func (t *template) give(x *instance) {
	t.mu.Lock()
	x.users--
	surplus := t.surplus()
	t.mu.Unlock()
	t.drop(surplus)
}

// surplus takes the least recently used instances out of the list that are not in use and too many, or take too much.
// Precondition: t.mu held.
func (t *template) surplus() (list []*instance) {
	beyond := t.held.Load() - t.bound
	for i := len(t.instances) - 1; i > 0 && (len(t.instances) > t.most || beyond > 0); i-- {
		x := t.instances[i]
		if x.users > 0 || !x.isIdle() || len(t.instances) <= t.most && !x.isCompiled() {
			continue
		}
		beyond -= x.taken()
		list = append(list, x)
		t.instances = slices.Delete(t.instances, i, i+1)
	}
	return list
}

// trim closes what is too much of instances that nobody uses.
func (t *template) trim() {
	if t.held.Load() <= t.bound {
		return
	}
	t.mu.Lock()
	list := t.surplus()
	t.mu.Unlock()
	t.drop(list)
}

// makeRoom closes the least recently used instance that takes memory and is not in use; false: there is none.
func (t *template) makeRoom() bool {
	t.mu.Lock()
	i := len(t.instances) - 1
	for ; i >= 0; i-- {
		if x := t.instances[i]; x.users == 0 && x.isIdle() && x.isCompiled() {
			break
		}
	}
	if i < 0 {
		t.mu.Unlock()
		return false
	}
	x := t.instances[i]
	t.instances = slices.Delete(t.instances, i, i+1)
	t.mu.Unlock()
	t.drop([]*instance{x})
	return true
}

// drop closes instances that were taken out of the list.
func (t *template) drop(list []*instance) {
	for _, x := range list {
		if err := x.close(t.client); err != nil {
			t.client.device.log.Warn("an instance of a model was not freed", "error", err)
		}
	}
}

// newInstance returns an instance that is compiled when it is first needed, resolved being the model for these inputs.
func (t *template) newInstance(inputs []nn.Dims, resolved *nn.Model) *instance {
	m := t.model.sharing(resolved)
	x := &instance{inputs: make([]nn.Dims, len(inputs)), held: &t.held}
	for i, d := range inputs {
		x.inputs[i] = slices.Clone(d)
	}
	for _, y := range resolved.Main.Outputs {
		x.outputs = append(x.outputs, resolved.Main.Operands[y].Dims)
	}
	x.exe = &delayed{
		compile: func(ctx context.Context) (backend.Executable, CacheStatus, error) { return t.compile(ctx, m, x.inputs) },
		done:    m.release, ended: t.client.device.counters.prepareEnded, status: CacheOff,
	}
	return x
}

// compile compiles the instance m for these inputs. What idle instances keep of the device gives way to it.
func (t *template) compile(ctx context.Context, m *ownModel, inputs []nn.Dims) (backend.Executable, CacheStatus, error) {
	d, o := t.client.device, t.options
	o.start = time.Now()
	if f := o.files; f != nil {
		o.files = f.forInputs(inputs)
	}
	if o.Priority < nn.PriorityHigh && !d.isIdle() {
		o.Pause = d.giveWayShortly
		if err := o.Pause(ctx); err != nil {
			return nil, CacheOff, err
		}
	}
	for {
		exe, status, err := d.compileFor(ctx, m, &o)
		if !isFull(err) || !t.makeRoom() {
			return exe, status, err
		}
	}
}

// isFull reports whether there would be room if others gave way.
func isFull(err error) bool {
	return err != nil && nn.StatusOf(err) == nn.StatusResourceExhaustedTransient
}

// latest is the instance that was wanted last of those that are compiled; nil where there is none.
func (t *template) latest() *instance {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.IndexFunc(t.instances, (*instance).isCompiled); i >= 0 {
		return t.instances[i]
	}
	return nil
}

// close closes all instances. Precondition: no execution uses one or will.
func (t *template) close() error {
	t.mu.Lock()
	list := t.instances
	t.instances = nil
	t.mu.Unlock()
	var errs []error
	for _, x := range list {
		errs = append(errs, x.close(t.client))
	}
	t.model.release()
	return errors.Join(errs...)
}

// Instance is a compiled model of a template, for inputs of some dimensions. It belongs to the caller.
type Instance struct {
	// Inputs and Outputs have the dimensions of each; nil of an input that is left off.
	Inputs, Outputs []nn.Dims
	Stats           backend.Stats
	// Estimates has the expected time of each segment on the device.
	Estimates []time.Duration
	Cached    CacheStatus
}

// Instances lists the instances that a template has at the moment, compiled ones, the last used first; none of a model whose
// sizes are known.
func (p *PreparedModel) Instances() (list []Instance) {
	if p.template == nil {
		return nil
	}
	p.template.mu.Lock()
	instances := slices.Clone(p.template.instances)
	p.template.mu.Unlock()
	for _, x := range instances {
		f := x.expected.of(x.exe)
		if f == nil {
			continue
		}
		list = append(list, Instance{
			Inputs: cloneDims(x.inputs), Outputs: cloneDims(x.outputs), Stats: f.exe.Stats(), Estimates: f.est.Segments(), Cached: x.cached(),
		})
	}
	return list
}

func cloneDims(list []nn.Dims) []nn.Dims {
	out := make([]nn.Dims, len(list))
	for i, d := range list {
		out[i] = slices.Clone(d)
	}
	return out
}
