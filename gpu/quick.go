package gpu

import (
	"context"
	"errors"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/lower"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/shaders"
)

// compileSoon is Compile with backend.Options.Quick. It begins with the optimised form, and with those of its kernels
// that both forms have. What they take tells what the rest will: how fast the Vulkan driver compiles, on a machine that
// does other things too, and whether it has a cache of its own on disk are not known before. Where the quick form is then
// expected to have its first result clearly sooner, it is made in the place of the other.
func (b *Backend) compileSoon(ctx context.Context, m *nn.Model, o backend.Options) (*longLived, error) {
	start := time.Now()
	facts := b.current()
	p, weights, floor, err := b.plan(ctx, &facts, m, o)
	if err != nil {
		return nil, err
	}
	options := executableOptions(o)
	if c := newContest(&facts, p); c != nil {
		c.planning, c.unmade = time.Since(start), func() float64 { return b.devices.now().Unmade(c.quick) }
		options.First, options.GoOn = c.both, c.goOn
	}
	x, err := b.newLongLived(ctx, p, weights, options)
	if err == nil {
		x.stats.Quick = floor
	}
	if !errors.Is(err, vulkan.ErrGivenUp) {
		return x, err
	}
	return b.compileForm(ctx, m, o)
}

// contest is between the optimised form of a model, which is being made, and the quick one.
type contest struct {
	both   []plan.Pipeline // that both forms have
	quick  []plan.Pipeline // that only the quick one has
	unmade func() float64  // the work of making those of quick that the device does not have
	// planning is what the compiler took for the optimised form, as it will for the quick one. fullRun and quickRun are
	// expected of the first execution.
	planning, fullRun, quickRun time.Duration
}

// newContest returns the contest of p, without planning and unmade; nil where both forms are the same.
func newContest(f *plan.Facts, p *plan.Plan) *contest {
	c := &contest{}
	seen := map[plan.Pipeline]bool{}
	for i := range p.Steps {
		s := p.Steps[i]
		c.fullRun += f.StepTime(&s)
		if s.Kernel != shaders.Copy {
			if add, ok := lower.QuickAdd(&s); ok {
				seen[add.Pipeline()] = true
				c.quickRun += f.StepTime(&add)
			}
			quick, ok := lower.Quick(f, &s)
			if !ok {
				continue
			}
			s.Kernel, s.Local = quick.Kernel, quick.Local
			seen[quick] = true
		}
		c.quickRun += f.StepTime(&s)
	}
	for _, k := range p.Pipelines() {
		if seen[k] {
			c.both = append(c.both, k)
			delete(seen, k)
		}
	}
	for k := range seen {
		c.quick = append(c.quick, k)
	}
	if len(c.quick) == 0 && len(c.both) == len(p.Pipelines()) {
		return nil
	}
	return c
}

// sooner is what part of the other's time the quick form's first result may take: less is not worth an execution that is
// slower, and estimates are not better than that.
const sooner = 0.7

// goOn is vulkan.ExecutableOptions.GoOn of the optimised form.
func (c *contest) goOn(perUnit time.Duration, left float64) bool {
	took := func(units float64) float64 { return float64(perUnit) * units }
	full := took(left) + float64(c.fullRun)
	quick := took(c.unmade()) + float64(c.planning+c.quickRun)
	return quick > sooner*full
}
