package gpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/compile"
	"github.com/nngpu/nngpu/gpu/internal/pool"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
)

// tree is an executable of a model with IF or WHILE, or with sizes that only the data tells: a plan for each straight region,
// plans for each that is open, and what decides which comes next.
// Safe for concurrent use.
type tree struct {
	b       *Backend
	model   *compile.Tree
	parts   []*part     // by straight region; nil of one that is open, or does nothing
	open    []*openPart // by straight region; nil of one that is not open
	dims    [][]nn.Dims // by straight region; of its outputs, where executions are to be told
	loops   []loopCount
	inputs  []int64 // bytes; 0 of what must be omitted, unknownSize of parameters of any length
	outputs []int64 // unknownSize where only the data tells
	o       backend.Options
	arenas  *vulkan.Arenas // of all regions; those of a frame have its number
	stats   backend.Stats
	weights atomic.Pointer[[]int] // of compile.EncodeTree; nil before it was stored

	frames  *pool.Pool[*frame] // nil for one that was lost and could not be made anew
	numbers chan int           // that no frame has

	compiling sync.WaitGroup  // instances of open regions
	closed    context.Context // of these; done after stop
	stop      context.CancelFunc
}

// part is a straight region.
type part struct {
	*executable
	ratio atomic.Uint64 // bits of what the latest executions took, by what the cost model says; 0: there was none
}

// loopCount is how many iterations a loop took lately.
type loopCount struct {
	mu   sync.Mutex
	list [8]int // guarded by mu
	n    int    // guarded by mu; of list, in all
}

// unknownSize stands for the size of an output whose dimensions only the data tells, or of a parameter whose dimensions only
// executions do.
const unknownSize = -1

// compileTree is Compile of a model that needs a tree.
func (b *Backend) compileTree(ctx context.Context, m *nn.Model, o backend.Options) (_ backend.Executable, err error) {
	facts := b.current()
	t, err := compile.TreeOf(&facts, m)
	if err != nil {
		return nil, err
	}
	x := b.newTree(t, o)
	defer func() {
		if err != nil {
			_ = x.Close() // this error is the one to tell
		}
	}()
	if err := x.prepareOpen(); err != nil {
		return nil, err
	}
	forms, err := x.plan(ctx, o)
	if err != nil {
		return nil, err
	}
	x.share()
	for i, f := range forms {
		if f == nil {
			continue
		}
		l, err := b.makeForm(ctx, f, x.options(o))
		if err != nil {
			return nil, err
		}
		x.take(i, l)
		forms[i] = nil // its weights are on the device now
	}
	if err := x.complete(ctx); err != nil {
		return nil, err
	}
	return x, nil
}

// plan compiles the straight regions that are not open; nil stands for those that do nothing.
func (x *tree) plan(ctx context.Context, o backend.Options) (forms []*form, err error) {
	t := x.model
	forms = make([]*form, len(t.Straights))
	for i, s := range t.Straights {
		if s.Model != nil && !s.Open {
			if forms[i], err = x.b.planForm(ctx, s.Model, o); err != nil {
				return nil, err
			}
			s.Plan = forms[i].plan
			s.Relabel(s.Plan)
		}
	}
	x.needed()
	for i, s := range t.Straights {
		if s.Model == nil && len(s.In) > 0 && !s.Open {
			list := make([]nn.Operand, len(s.In))
			for k, v := range s.In {
				list[k] = t.Values[v].Operand
			}
			if forms[i], err = x.b.planCopy(ctx, list); err != nil {
				return nil, err
			}
			s.Plan = forms[i].plan
		}
	}
	return forms[:len(t.Straights)], nil
}

// share makes arenas for the largest of the plans that there are.
func (x *tree) share() {
	largest := int64(0)
	for _, s := range x.model.Straights {
		if s.Plan != nil {
			largest = max(largest, s.Plan.ArenaBytes)
		}
	}
	x.arenas = vulkan.NewArenas(maxFrames, largest)
}

// options are those of executables that take turns.
func (x *tree) options(o backend.Options) vulkan.ExecutableOptions {
	v := executableOptions(o)
	v.Arenas = x.arenas
	return v
}

// newTree has no parts yet.
func (b *Backend) newTree(t *compile.Tree, o backend.Options) *tree {
	x := &tree{b: b, model: t, o: o, loops: make([]loopCount, len(t.Loops)), parts: make([]*part, len(t.Straights)),
		open: make([]*openPart, len(t.Straights)), numbers: make(chan int, maxFrames)}
	for n := range maxFrames {
		x.numbers <- n
	}
	x.frames = pool.New(maxFrames, x.newFrame)
	x.closed, x.stop = context.WithCancel(context.Background())
	x.o.Pause = nil
	return x
}

// complete makes the first frame, when all parts are there.
func (x *tree) complete(ctx context.Context) error {
	x.sizes()
	f, err := x.newFrame(ctx)
	if err != nil {
		return err
	}
	for _, m := range f.memory {
		if m != nil {
			x.stats.ArenaBytes += m.Bytes()
		}
	}
	x.frames.Add(f)
	return nil
}

// planCopy compiles what copies tensors like those of list.
func (b *Backend) planCopy(ctx context.Context, list []nn.Operand) (*form, error) {
	facts := b.current()
	p, weights, err := compile.Copy(ctx, &facts, list)
	if err != nil {
		return nil, err
	}
	return &form{plan: p, weights: weights}, nil
}

// take makes l the executable of straight region i.
func (x *tree) take(i int, l *longLived) {
	x.parts[i] = &part{executable: newExecutable(l, x.b, x.o)}
	s := l.Stats()
	x.stats.Pipelines += s.Pipelines
	x.stats.Dispatches += s.Dispatches
	x.stats.Segments += s.Segments
	x.stats.ArenaBytes = max(x.stats.ArenaBytes, s.ArenaBytes) // regions take turns
	x.stats.WeightBytes += s.WeightBytes
	x.stats.KeptBytes += s.KeptBytes
	x.stats.GFLOP += s.GFLOP
	x.stats.Quick = x.stats.Quick || s.Quick
}

// needed drops from the first region, which brings the inputs of the model to where others find them, those that no plan
// reads, because they count as left off. Precondition: all others are compiled.
func (x *tree) needed() {
	t := x.model
	used := map[int]bool{}
	for _, s := range t.Straights {
		for k, v := range s.In {
			if s.Plan == nil || s.Plan.Inputs[k].Size > 0 {
				used[v] = true
			}
		}
		for _, p := range s.Params {
			used[p.Value] = true
		}
	}
	for _, l := range t.Loops {
		for _, v := range l.Init {
			used[v] = true
		}
	}
	entry, ok := t.Main[0].(*compile.Straight)
	if ok && entry.Model == nil {
		var in, out []int
		for k, v := range entry.Out {
			if used[v] || t.Values[v].Place == compile.InWord {
				in, out = append(in, entry.In[k]), append(out, v)
			}
		}
		entry.In, entry.Out = in, out
		if len(in) == 0 && entry.Index == len(t.Straights)-1 {
			t.Main, t.Straights, x.parts = t.Main[1:], t.Straights[:entry.Index], x.parts[:entry.Index]
		}
	}
}

// sizes finds what executions bind.
func (x *tree) sizes() {
	t := x.model
	size := func(v int) int64 {
		switch {
		case v == compile.None:
			return 0
		case t.Values[v].IsOpen():
			return unknownSize
		}
		n, _ := t.Values[v].ByteSize() // which validation has computed
		return int64(n)
	}
	entry, ok := t.Main[0].(*compile.Straight)
	for _, v := range t.Inputs {
		if !ok || !slices.Contains(entry.In, v) {
			v = compile.None
		}
		x.inputs = append(x.inputs, size(v))
	}
	for _, v := range t.Outputs {
		x.outputs = append(x.outputs, size(v))
	}
}

// Stats implements backend.Executable.
func (x *tree) Stats() backend.Stats { return x.stats }

// Estimates implements backend.Executable.
func (x *tree) Estimates() []time.Duration { return x.first(x.model.Main).Estimates() }

// estimated is a part or an openPart.
type estimated interface {
	Estimates() []time.Duration
	expected() time.Duration
}

// region is n; nil where it does nothing.
func (x *tree) region(n *compile.Straight) estimated {
	if p := x.parts[n.Index]; p != nil {
		return p
	}
	if p := x.open[n.Index]; p != nil {
		return p
	}
	return nil
}

// first is the region that s begins with.
func (x *tree) first(s compile.Sequence) estimated {
	switch n := s[0].(type) {
	case *compile.Straight:
		if p := x.region(n); p != nil {
			return p
		}
		return x.first(s[1:])
	case *compile.Loop:
		return x.first(n.First)
	}
	panic("gpu: a condition that nothing has computed")
}

// Later implements backend.Executable.
func (x *tree) Later() time.Duration {
	return asDuration(x.expect(x.model.Main) - float64(x.first(x.model.Main).expected()))
}

func asDuration(ns float64) time.Duration {
	return time.Duration(min(max(ns, 0), float64(backend.MaxEstimate)))
}

// Begin implements backend.Executable.
func (x *tree) Begin(ctx context.Context, inputs, outputs []backend.Binding) (backend.Execution, error) {
	check := func(what string, want []int64, list []backend.Binding) error {
		if len(list) != len(want) {
			return fmt.Errorf("%d %ss for a model with %d", len(list), what, len(want))
		}
		for i := range list {
			if b := &list[i]; (b.Host != nil || b.Memory != nil) && b.Size() != want[i] && want[i] != unknownSize {
				return fmt.Errorf("%s %d: %d bytes, the plan has %d", what, i, b.Size(), want[i])
			}
		}
		return nil
	}
	if err := errors.Join(check("input", x.inputs, inputs), check("output", x.outputs, outputs)); err != nil {
		return nil, err
	}
	for i := range inputs {
		if n := inputs[i].Size(); x.inputs[i] == unknownSize && n > compile.MaxParamBytes {
			return nil, nn.Invalid(fmt.Sprintf("input %d", i), "a parameter of %d bytes; there may be %d", n, compile.MaxParamBytes)
		}
	}
	if err := x.b.devices.open(); err != nil {
		return nil, err
	}
	f, err := x.takeFrame(ctx)
	if err != nil {
		return nil, err
	}
	e := newTreeExecution(x, f, inputs, outputs)
	e.trace = newTreeTrace(backend.TraceOf(ctx))
	if _, err := e.advance(ctx); err != nil {
		e.Release()
		return nil, err
	}
	return e, nil
}

// Close implements backend.Executable. It blocks until every execution is released.
func (x *tree) Close() error {
	if !x.frames.Close((*frame).close) {
		return nil
	}
	var list []error
	for _, p := range x.parts {
		if p != nil {
			list = append(list, p.Close())
		}
	}
	return errors.Join(append(list, x.closeOpen())...)
}

// expected is what p is expected to take.
func (p *part) expected() time.Duration {
	var sum time.Duration
	for _, d := range p.Estimates() {
		sum += d
	}
	return asDuration(float64(sum) * p.factor())
}

func (p *part) factor() float64 {
	if bits := p.ratio.Load(); bits != 0 {
		return math.Float64frombits(bits)
	}
	return 1
}

// took notes what an execution of p took.
func (p *part) took(d time.Duration) {
	var sum time.Duration
	for _, d := range p.Estimates() {
		sum += d
	}
	if d <= 0 || sum <= 0 {
		return
	}
	ratio := float64(d) / float64(sum)
	if p.ratio.Load() != 0 {
		ratio = p.factor() + (ratio-p.factor())/4
	}
	p.ratio.Store(math.Float64bits(ratio))
}

// unknownIterations is how many are expected of a loop that never ran.
const unknownIterations = 8

// expected is the largest of the latest counts: admission rather refuses what would have been in time.
func (c *loopCount) expected() int {
	if n, ok := c.known(); ok {
		return n
	}
	return unknownIterations
}

// known is expected, where the loop ever ran.
func (c *loopCount) known() (n int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == 0 {
		return 0, false
	}
	return slices.Max(c.list[:min(c.n, len(c.list))]), true
}

func (c *loopCount) ended(iterations int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list[c.n%len(c.list)] = iterations
	c.n++
}

// expect is how long s is expected to take, in nanoseconds; of two branches, the one that takes longer.
func (x *tree) expect(s compile.Sequence) (ns float64) {
	for _, n := range s {
		switch n := n.(type) {
		case *compile.Straight:
			if p := x.region(n); p != nil {
				ns += float64(p.expected())
			}
		case *compile.Branch:
			ns += max(x.expect(n.Then), x.expect(n.Else))
		case *compile.Loop:
			ns += x.expect(n.First) + float64(x.loops[n.Index].expected())*x.expect(n.Step)
		}
	}
	return ns
}
