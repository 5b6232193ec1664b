package gpu

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
)

// Ceiling names a rate that no kernel can exceed on a device.
type Ceiling uint8

// Ceilings. Rates are multiplications and additions a second, that of memory bytes. Those of matrices are of 16-bit floats
// and 8-bit integers with sums of 32 bits.
const (
	CeilingF32 Ceiling = iota
	CeilingF16
	CeilingInt8
	CeilingMemory
	CeilingMatrixF16
	CeilingMatrixInt8
)

var ceilingNames = [...]string{"f32", "f16", "int8 dot", "memory", "f16 matrix", "int8 matrix"}

func (c Ceiling) String() string {
	if int(c) < len(ceilingNames) {
		return ceilingNames[c]
	}
	return fmt.Sprintf("Ceiling(%d)", uint8(c))
}

// ErrNoCeiling: the device has no such arithmetic, or no room to measure its memory.
var ErrNoCeiling = errors.New("the device cannot do that")

// Gauge measures one ceiling again and again, in some milliseconds each time: Measure measures once, and the speed of
// many machines changes from second to second. Not safe for concurrent use.
type Gauge struct {
	dev      *vulkan.Device // retained
	x        *vulkan.Executable
	units    float64       // of one run
	overhead time.Duration // that is no part of the work
}

// gaugeRuns is how often each kernel that could be a gauge of memory runs before one is chosen.
const gaugeRuns = 3

// Gauge makes a gauge of what. The caller closes it, before the backend. The rates that are kept for the device stay as
// they are.
//
// Errors: INVALID_ARGUMENT without a context; ErrNoCeiling; those of the device.
func (b *Backend) Gauge(ctx context.Context, what Ceiling) (*Gauge, error) {
	if err := nn.NotNil("context", ctx); err != nil {
		return nil, err
	}
	d, err := b.devices.use()
	if err != nil {
		return nil, err
	}
	rates := b.current().Measured
	g := &Gauge{dev: d, overhead: rates.Submit + rates.Dispatch}
	m := &meter{ctx: ctx, dev: d, facts: b.facts, runs: gaugeRuns}
	p, err := g.plan(m, what)
	if err == nil {
		g.x, err = m.executable(p)
	}
	if err != nil {
		d.Release()
		return nil, fmt.Errorf("gauge of %v: %w", what, err)
	}
	return g, nil
}

// plan chooses the work of the gauge and sets its units.
func (g *Gauge) plan(m *meter, what Ceiling) (*plan.Plan, error) {
	if what == CeilingMemory {
		return g.memory(m)
	}
	for _, k := range multipliers(&m.facts) {
		if k.ceiling == what {
			count, _, err := m.grow(4*k.local, multiplyMostCount, g.overhead, k.plan)
			g.units = float64(count) * k.units()
			return k.plan(count), err
		}
	}
	return nil, ErrNoCeiling
}

// memory takes the kernel that moves most.
func (g *Gauge) memory(m *meter) (best *plan.Plan, err error) {
	size := m.memorySize()
	most := 0.0
	for _, k := range movers {
		steps := k.slabs(&m.facts, size)
		rate, err := m.moved(steps, size, k.traffic, g.overhead)
		if err != nil {
			return nil, err
		}
		if rate > most {
			most, best, g.units = rate, movePlan(steps, size), k.traffic*float64(size)
		}
	}
	if best == nil {
		return nil, ErrNoCeiling
	}
	return best, nil
}

// Rate is what the device does now, in units a second, by a single run. It waits for what others have submitted, and goes
// by the host's clock, as meter.run does.
//
// Errors: INVALID_ARGUMENT without a context; those of the device.
func (g *Gauge) Rate(ctx context.Context) (float64, error) {
	if err := nn.NotNil("context", ctx); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil { // which waiting for work that is done already does not notice
		return 0, err
	}
	m := meter{ctx: ctx, dev: g.dev}
	_, took, err := m.once(g.x, false)
	if err != nil {
		return 0, err
	}
	return g.units / without(took, g.overhead).Seconds(), nil
}

// Close gives the gauge's memory back.
func (g *Gauge) Close() error {
	err := g.x.Close()
	g.dev.Release()
	return err
}
