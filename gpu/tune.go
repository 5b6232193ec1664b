package gpu

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/internal/numbers"
	"github.com/nngpu/nngpu/shaders"
)

const (
	// worthTuning is what part of the time of the kernel with the best score another may take, and worthTuned what part of
	// the whole model's the plan that is put together of those: less is noise. worthKernel is what part of the whole a
	// kernel has to save that the plan does not have yet: compiling it takes time at every start.
	worthTuning, worthTuned, worthKernel = 0.95, 0.99, 0.005
	// fewestTunings and mostTunings bound how often a plan runs to be timed.
	fewestTunings, mostTunings = 3, 15
)

// tuner finds out which kernels run a model fastest on a device. In each round it compiles the whole model anew, with the
// next kernel by score wherever there is one, and times all its steps in turn with those of the kernels with the best
// score: so it takes no more plans than there are candidates for a single choice, each kernel is timed between the
// neighbours that it has, and a machine whose speed changes matters little. Not safe for concurrent use.
type tuner struct {
	b     *Backend
	model *nn.Model
	o     backend.Options
	until time.Time // when the budget is used up
	asked map[plan.Question][]shaders.Kernel
	won   map[plan.Question]winner
	whole time.Duration // of the kernels with the best score
	in    [][]byte
	out   [][]byte
}

// winner is a kernel that was faster than the one with the best score: what all steps of the label took with either.
type winner struct {
	kernel    shaders.Kernel
	took, was time.Duration
}

func (w *winner) ratio() float64 { return float64(w.took) / float64(w.was) }

// planTuned compiles m with the kernels that are fastest by measurement, as far as o.Tuning is enough to find them. Where
// nothing is found out, because the device has no timestamps or no memory for it, scores decide.
func (b *Backend) planTuned(ctx context.Context, m *nn.Model, o backend.Options) (*form, error) {
	if o.Pause == nil {
		o.Pause = func(context.Context) error { return nil } // kernels are compared with their floors, as in the background
	}
	t := &tuner{
		b: b, model: m, o: o, until: time.Now().Add(o.Tuning),
		asked: map[plan.Question][]shaders.Kernel{}, won: map[plan.Question]winner{},
	}
	base, err := t.plan(ctx, nil, t.asked)
	if err != nil {
		return nil, err
	}
	f, err := t.improve(ctx, base)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		if _, lost := b.devices.now().Lost(); lost != nil {
			return nil, lost
		}
		b.devices.debug("a model is not tuned", "error", err)
		return base, nil
	}
	return f, nil
}

// plan compiles the model with the given answers.
func (t *tuner) plan(ctx context.Context, take map[plan.Question]plan.Answer, asked map[plan.Question][]shaders.Kernel) (*form, error) {
	facts := t.b.current()
	facts.Choices = &plan.Choices{Take: take, Asked: asked}
	p, weights, floor, err := t.b.plan(ctx, &facts, t.model, t.o)
	if err != nil {
		return nil, err
	}
	return &form{p, weights, floor}, nil
}

// improve returns the best form that it finds, perhaps base.
func (t *tuner) improve(ctx context.Context, base *form) (best *form, err error) {
	rounds := 0
	for _, list := range t.asked {
		rounds = max(rounds, len(list))
	}
	if rounds < 2 {
		return base, nil
	}
	t.fill(base.plan)
	d, err := t.b.devices.use()
	if err != nil {
		return nil, err
	}
	defer d.Release()
	x, err := t.executable(ctx, d, base)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	for i := 1; i < rounds && (i == 1 || time.Now().Before(t.until)); i++ {
		if err := t.round(ctx, d, x, i, rounds-i); err != nil {
			return nil, err
		}
	}
	take := t.answers(base.plan)
	if len(take) == 0 {
		return base, nil
	}
	tuned, err := t.plan(ctx, take, nil)
	if err != nil {
		return nil, err
	}
	y, err := t.executable(ctx, d, tuned)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, y.Close()) }()
	if better, err := t.faster(ctx, y, x); err != nil || !better {
		return base, err
	}
	return tuned, nil
}

// answers are the winners, without those whose kernels save too little for the pipelines that they are.
func (t *tuner) answers(base *plan.Plan) map[plan.Question]plan.Answer {
	there := shaders.Set{}
	for i := range base.Steps {
		there.Add(base.Steps[i].Kernel)
	}
	saved := map[shaders.Kernel]time.Duration{}
	for _, w := range t.won {
		saved[w.kernel] += w.was - w.took
	}
	take := map[plan.Question]plan.Answer{}
	for q, w := range t.won {
		if !there.Has(w.kernel) && float64(saved[w.kernel]) < worthKernel*float64(t.whole) {
			continue
		}
		take[q] = plan.Answer{Kernel: w.kernel, Why: fmt.Sprintf("tuned: %s, and %s by %s, which has the best score",
			millisecondsText(w.took), millisecondsText(w.was), t.asked[q][0])}
	}
	return take
}

// round times the i-th candidates of all choices that have so many, in turn with base. The budget is meant for as many
// rounds as are left, and for comparing what comes out.
func (t *tuner) round(ctx context.Context, d *vulkan.Device, base *vulkan.Executable, i, left int) (err error) {
	take := map[plan.Question]plan.Answer{}
	for q, list := range t.asked {
		if i < len(list) {
			take[q] = plan.Answer{Kernel: list[i]}
		}
	}
	share := time.Until(t.until) / time.Duration(left+1)
	f, err := t.plan(ctx, take, nil)
	if err != nil {
		return err
	}
	x, err := t.executable(ctx, d, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	var was, took samples
	for n, began := 0, time.Now(); n <= mostTunings && (n <= fewestTunings || time.Since(began) < share); n++ {
		one, err := t.times(ctx, base)
		if err != nil {
			return err
		}
		other, err := t.times(ctx, x)
		if err != nil {
			return err
		}
		if n > 0 { // the first touches memory, and compiles where a driver does that late
			was.add(one)
			took.add(other)
		}
	}
	t.whole = 0
	for label := range was {
		t.whole += median(was[label])
	}
	for q := range take {
		if len(was[q.Label]) == 0 || len(took[q.Label]) == 0 {
			continue
		}
		w := winner{take[q].Kernel, median(took[q.Label]), median(was[q.Label])}
		t.b.devices.debug("a kernel is timed", "operation", q.Label, "kernel", w.kernel, "took", w.took, "best score", t.asked[q][0], "took then", w.was)
		if best, ok := t.won[q]; w.ratio() < worthTuning && (!ok || w.ratio() < best.ratio()) {
			t.won[q] = w
		}
	}
	return nil
}

// samples are times by the label of the steps.
type samples map[string][]time.Duration

func (s *samples) add(times map[string]time.Duration) {
	if *s == nil {
		*s = samples{}
	}
	for label, took := range times {
		(*s)[label] = append((*s)[label], took)
	}
}

// fill makes the inputs and outputs of the runs.
func (t *tuner) fill(p *plan.Plan) {
	rng := rand.New(rand.NewPCG(1, 2))
	g := &t.model.Main
	for i := range p.Inputs {
		t.in = append(t.in, numbers.Random(rng, g.Operands[g.Inputs[i]].Type, int(p.Inputs[i].Size)))
	}
	for i := range p.Outputs {
		t.out = append(t.out, make([]byte, p.Outputs[i].Size))
	}
}

// times runs x and returns what the steps of each label took.
func (t *tuner) times(ctx context.Context, x *vulkan.Executable) (map[string]time.Duration, error) {
	trace := &backend.Trace{Every: true}
	if _, err := t.run(ctx, x, trace); err != nil {
		return nil, err
	}
	if trace.Late != nil {
		trace.Late.Resolve()
	}
	sums := map[string]time.Duration{}
	for k, s := range trace.Times {
		if !s.At.IsZero() {
			sums[trace.Steps[k].Label] += s.Took
		}
	}
	if len(sums) == 0 {
		return nil, errNoTime
	}
	return sums, nil
}

// faster reports whether one runs faster than another, in turn, each as a whole, for what is left of the budget.
func (t *tuner) faster(ctx context.Context, one, other *vulkan.Executable) (bool, error) {
	var took [2][]time.Duration
	for n := 0; n <= mostTunings && (n <= fewestTunings || time.Now().Before(t.until)); n++ {
		for i, x := range []*vulkan.Executable{one, other} {
			whole, err := t.run(ctx, x, nil)
			if err != nil {
				return false, err
			}
			if n > 0 { // as in round
				took[i] = append(took[i], whole)
			}
		}
	}
	return float64(median(took[0])) < worthTuned*float64(median(took[1])), nil
}

func (t *tuner) executable(ctx context.Context, d *vulkan.Device, f *form) (*vulkan.Executable, error) {
	o := executableOptions(t.o)
	o.MaxSlots = 1
	return vulkan.NewExecutableFrom(ctx, d, f.plan, f.weights, o)
}

// run executes x once, segment by segment, so that others have the device between them, and returns the time of the whole.
func (t *tuner) run(ctx context.Context, x *vulkan.Executable, trace *backend.Trace) (time.Duration, error) {
	if err := t.o.Pause(ctx); err != nil {
		return 0, err
	}
	at := ctx
	if trace != nil {
		at = &backend.TraceContext{Context: ctx, Trace: trace}
	}
	e, err := x.BeginRun(at, t.in, t.out)
	if err != nil {
		return 0, err
	}
	defer e.Release()
	began := time.Now()
	for s := range e.Segments() {
		f, err := e.Submit(s, s+1)
		if err != nil {
			return 0, err
		}
		if err := f.Wait(ctx); err != nil {
			return 0, err
		}
	}
	took := time.Since(began)
	return took, e.Finish()
}

// median of what there is at least one of.
func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}
