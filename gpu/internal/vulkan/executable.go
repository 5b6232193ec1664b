package vulkan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/pool"
	"github.com/nngpu/nngpu/shaders"
)

// ExecutableOptions steer NewExecutable.
type ExecutableOptions struct {
	// MaxSlots bounds the executions that are between Begin and Release at once; 0 for 4.
	MaxSlots int
	// Arenas, when not nil, supplies the arenas: one slot for each, whatever MaxSlots is. See BeginIn.
	Arenas *Arenas
	// MemoryBudget bounds the bytes that the device may have in use when this executable takes more; 0 for
	// the device's own limit.
	MemoryBudget int64
	// Urgent takes the device's queue for urgent work.
	Urgent bool
	// Pause, when not nil, is called before each compilation by the Vulkan driver, and blocks while that should wait;
	// its errors end the call. With it there is one compilation at a time, else one for each processor.
	Pause func(context.Context) error
	// First are compiled before the others. GoOn, when not nil, is then asked whether compiling the others is worth it,
	// once or twice: Vulkan drivers compile when a pipeline is made, or when it is dispatched. perUnit is the time for
	// a unit of plan.CompileWork, as measured on this device, and left the number of units to come. Where it says no,
	// NewExecutable ends with ErrGivenUp.
	First []plan.Pipeline
	GoOn  func(perUnit time.Duration, left float64) bool
	// NoWarmUp leaves compilation to the first execution with drivers that compile then.
	NoWarmUp bool
}

const defaultSlots = 4

// Executable is a plan on a device; it implements backend.Executable.
type Executable struct {
	dev       *Device
	plan      *plan.Plan // borrowed; immutable
	o         ExecutableOptions
	pipelines []vk.Pipeline // by step; 0 for copies
	layouts   []*layout     // by step; nil for copies
	weights   *block        // of dev.weights
	stats     backend.Stats
	estimates []time.Duration // by segment
	ios       []ioFacts       // inputs, then outputs
	inputsEnd int64           // of plan.Host, where inputs have a block of their own; else 0
	borrowed  bool            // arena and host of its slot are another's
	runs      atomic.Int64    // executions that compare saw
	fastest   atomic.Int64    // of them, in nanoseconds
	known     knowledge       // of traces

	views *viewTable          // of weights
	slots []*pool.Pool[*slot] // one; or one for each of o.Arenas
}

// NewExecutable compiles the pipelines of p, uploads the weights and makes the first slot. p is borrowed
// until Close and not changed; weights, of p.WeightBytes, are borrowed until NewExecutable returns. ctx bounds
// the time.
//
// Errors: RESOURCE_EXHAUSTED_* for memory, DEVICE_UNAVAILABLE for a lost device, anything else for a plan
// that was not made for this device.
func NewExecutable(ctx context.Context, d *Device, p *plan.Plan, weights []byte, o ExecutableOptions) (*Executable, error) {
	if int64(len(weights)) != p.WeightBytes {
		return nil, fmt.Errorf("plan: %d bytes of weights for %d", len(weights), p.WeightBytes)
	}
	return NewExecutableFrom(ctx, d, p, bytes.NewReader(weights), o)
}

// NewExecutableFrom is NewExecutable with the weights at the beginning of data, which are read into device or
// staging memory without a copy of their own: front to back, each byte once, before it returns.
func NewExecutableFrom(ctx context.Context, d *Device, p *plan.Plan, data backend.Data, o ExecutableOptions) (*Executable, error) {
	if err := d.failure("compile", nil); err != nil {
		return nil, err
	}
	if err := d.checkPlan(p); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if n := data.Size(); n < p.WeightBytes { // before memory is taken for it
		return nil, fmt.Errorf("plan: %d bytes of weights for %d", n, p.WeightBytes)
	}
	if o.MaxSlots <= 0 {
		o.MaxSlots = defaultSlots
	}
	x := &Executable{dev: d, plan: p, o: o, ios: ioFactsOf(p), views: newViews(d)}
	if inputMemory(d.props, d.info.Facts.Unified, ^uint32(0)) >= 0 {
		x.inputsEnd = inputsEnd(p)
	}
	// Each piece may fit by itself while the least that an execution needs never does.
	inputs, host := x.hostBytes()
	least := plan.AlignUp(p.ArenaBytes) + plan.AlignUp(p.WeightBytes) + plan.AlignUp(inputs) + plan.AlignUp(host)
	if limit := d.account.limitFor(o.MemoryBudget); least > limit {
		return nil, nn.Errorf(nn.StatusResourceExhaustedPersistent, "model", "%d bytes exceed the memory budget of %d", least, limit)
	}
	pools, most := 1, o.MaxSlots
	if o.Arenas != nil {
		pools, most = o.Arenas.count, 1
	}
	for n := range pools {
		x.slots = append(x.slots, pool.New(most, func(context.Context) (*slot, error) { return x.newSlot(n) }))
	}
	if err := x.build(ctx, data); err != nil {
		x.destroy()
		return nil, err
	}
	d.Hold()
	return x, nil
}

func (x *Executable) build(ctx context.Context, data backend.Data) (err error) {
	d, p := x.dev, x.plan
	if x.weights, err = d.newBlock(p.WeightBytes, x.o.MemoryBudget, weightsBlock, "weights"); err != nil {
		return err
	}
	// The driver compiles, and the first slot gets its memory, while the weights are read, and perhaps packed.
	loading, stop := context.WithCancel(ctx)
	defer stop()
	loaded := make(chan error, 1)
	go func() { loaded <- x.loadWeights(loading, data) }()
	list := p.Pipelines()
	s, err := x.firstSlot(ctx, list)
	if err != nil {
		stop()
	}
	if loadErr := <-loaded; err == nil {
		err = loadErr
	}
	if err == nil {
		err = x.shareWeights(s)
	}
	if err != nil {
		s.destroy()
		return err
	}
	x.slots[0].Add(s)
	facts := d.Facts()
	x.estimates = facts.SegmentTimes(p)
	x.stats = backend.Stats{
		Pipelines: len(list), Dispatches: len(p.Steps), Segments: len(p.Segments),
		ArenaBytes: p.ArenaBytes, WeightBytes: p.WeightBytes, GFLOP: p.FLOP() / 1e9,
	}
	return nil
}

// firstSlot makes the pipelines of list and a slot, and lets the driver compile what it would at the first execution.
// The memory of the weights is there, but need not be filled yet. A slot may come with an error.
func (x *Executable) firstSlot(ctx context.Context, list []plan.Pipeline) (s *slot, err error) {
	allocated := make(chan error, 1)
	go func() {
		var err error
		s, err = x.allocateSlot(0)
		allocated <- err
	}()
	err = x.makePipelines(ctx, list)
	if err = errors.Join(<-allocated, err); err == nil {
		err = x.takePipelines(ctx)
	}
	if err != nil {
		return s, err
	}
	if s, err = s.complete(); err != nil || x.o.NoWarmUp {
		return s, err
	}
	return s, s.warmUp(ctx)
}

// ErrGivenUp is the error of NewExecutable where ExecutableOptions.GoOn said so.
var ErrGivenUp = errors.New("given up: it is not worth the time")

// makePipelines makes those of list that the device does not have yet.
func (x *Executable) makePipelines(ctx context.Context, list []plan.Pipeline) error {
	d := x.dev
	if x.o.GoOn != nil {
		if err := d.Prepare(ctx, x.o.First); err != nil {
			return err
		}
		if !x.goOn(&d.pipelines.making, d.Unmade(list)) {
			return ErrGivenUp
		}
	}
	if x.o.Pause == nil {
		return d.Prepare(ctx, list)
	}
	for i, key := range list {
		if d.Unmade(list[i:i+1]) == 0 {
			continue
		}
		if err := x.o.Pause(ctx); err != nil {
			return err
		}
		if err := d.Prepare(ctx, []plan.Pipeline{key}); err != nil {
			return err
		}
	}
	return nil
}

// goOn asks whether left units of work, timed by e, are worth it.
func (x *Executable) goOn(e *effort, left float64) bool {
	perUnit, ok := e.perUnit()
	return x.o.GoOn == nil || !ok || left == 0 || x.o.GoOn(perUnit, left)
}

// takePipelines sets pipelines and layouts, and compiles what is not there yet.
func (x *Executable) takePipelines(ctx context.Context) (err error) {
	d, p := x.dev, x.plan
	x.pipelines = make([]vk.Pipeline, len(p.Steps))
	x.layouts = make([]*layout, len(p.Steps))
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Kernel == shaders.Copy {
			continue
		}
		if x.pipelines[i], err = d.pipelines.get(ctx, s.Pipeline()); err != nil {
			return err
		}
		if x.layouts[i], err = d.pipelines.layout(s.Kernel.Info().Bindings); err != nil {
			return d.failure("layout", err)
		}
	}
	return nil
}

func (x *Executable) loadWeights(ctx context.Context, data backend.Data) error {
	if x.weights == nil {
		return nil
	}
	return x.dev.failure("weights", x.weights.upload(ctx, data, x.plan.WeightBytes, x.o.MemoryBudget))
}

// shareWeights gives x the block of another executable with the same weights, where there is one. s is its only slot,
// and idle.
func (x *Executable) shareWeights(s *slot) (err error) {
	own := x.weights
	if x.weights = x.dev.weights.share(own, x.plan.WeightBytes); x.weights == own {
		return nil
	}
	s.base.destroy()
	own.free()
	s.base, err = s.newRecording(nil, nil)
	return err
}

func (x *Executable) queue() *queue {
	if x.o.Urgent {
		return x.dev.urgent()
	}
	return x.dev.normal()
}

// Weights reads the packed constants back from the device, so that nobody needs to keep them for Store.
func (x *Executable) Weights() ([]byte, error) {
	done, err := x.slots[0].Use()
	if err != nil {
		return nil, err
	}
	defer done()
	if x.weights == nil {
		return nil, nil
	}
	b := make([]byte, x.plan.WeightBytes)
	if err := x.weights.download(b, x.o.MemoryBudget); err != nil {
		return nil, x.dev.failure("weights", err)
	}
	return b, nil
}

// Stats implements backend.Executable.
func (x *Executable) Stats() backend.Stats { return x.stats }

// Begin implements backend.Executable.
//
// Errors: INVALID_ARGUMENT for an output that lies where an input or another output does.
func (x *Executable) Begin(ctx context.Context, inputs, outputs []backend.Binding) (backend.Execution, error) {
	return x.BeginIn(ctx, 0, inputs, outputs)
}

// BeginIn is Begin for execution n, from 0, with arena n of ExecutableOptions.Arenas: it waits for no other.
// Precondition: no execution n is under way in any executable of these arenas.
func (x *Executable) BeginIn(ctx context.Context, n int, inputs, outputs []backend.Binding) (backend.Execution, error) {
	e, err := x.begin(ctx, n, inputs, outputs)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Estimates implements backend.Executable.
func (x *Executable) Estimates() []time.Duration { return x.estimates }

// Later implements backend.Executable.
func (x *Executable) Later() time.Duration { return 0 }

// BeginRun is Begin with inputs and outputs in host memory, and with the concrete result.
func (x *Executable) BeginRun(ctx context.Context, inputs, outputs [][]byte) (*Execution, error) {
	return x.begin(ctx, 0, backend.Hosts(inputs), backend.Hosts(outputs))
}

func (x *Executable) begin(ctx context.Context, n int, inputs, outputs []backend.Binding) (*Execution, error) {
	if err := x.checkBindings("input", x.plan.Inputs, inputs); err != nil {
		return nil, err
	}
	if err := x.checkBindings("output", x.plan.Outputs, outputs); err != nil {
		return nil, err
	}
	if err := x.checkOverlaps(inputs, outputs); err != nil {
		return nil, err
	}
	if err := x.dev.failure("begin", nil); err != nil {
		return nil, err
	}
	t := backend.TraceOf(ctx)
	began := t.Now()
	s, err := x.slots[n].Take(ctx)
	if err != nil {
		return nil, err
	}
	taken := t.Now()
	var copied int64
	if err = x.dev.failure("slot", s.cleared()); err == nil {
		copied, err = s.load(inputs, outputs)
	}
	loaded := t.Now()
	var r *recording
	if err == nil {
		r, err = s.recording()
	}
	e := &s.run
	*e = Execution{slot: s, recording: r, copied: copied}
	if err == nil && t != nil {
		err = e.trace(t)
	}
	if err != nil {
		*e = Execution{}
		s.forget()
		x.slots[n].Give(s)
		return nil, err
	}
	if t != nil {
		t.Waited, t.Loaded = backend.Span{From: began, To: taken}, backend.Span{From: taken, To: loaded}
		t.Recorded = backend.Span{From: loaded, To: time.Now()}
	}
	return e, nil
}

// Close implements backend.Executable. It blocks until every execution is released.
func (x *Executable) Close() error {
	if x.destroySlots() {
		x.views.close()
		x.dev.weights.letGo(x.weights)
		x.dev.Release()
	}
	return nil
}

// destroySlots waits for all executions. It reports false where it was called before.
func (x *Executable) destroySlots() (first bool) {
	for _, p := range x.slots {
		first = p.Close((*slot).destroy)
	}
	return first
}

// destroy undoes what a failed build has done.
func (x *Executable) destroy() {
	x.destroySlots()
	x.views.close()
	x.dev.weights.letGo(x.weights)
}
