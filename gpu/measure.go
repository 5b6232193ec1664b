package gpu

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

var (
	errNoTime = errors.New("nobody can tell how long the device works")
	errInUse  = errors.New("others use the device")
)

// meter times small plans on a device. Not safe for concurrent use.
type meter struct {
	ctx   context.Context
	dev   *vulkan.Device
	facts plan.Facts
	runs  int // of each measurement

	submitted int64 // how often it submitted work
	alone     bool  // it ends with errInUse where others submit work
	before    int64 // submissions to the device before its own
}

const (
	meterRuns   = 7                      // of each measurement
	meterRounds = 3                      // of all measurements, since machines have slow seconds
	firstRuns   = 3                      // the same where the first use of a device waits for it
	meterTarget = 8 * time.Millisecond   // that a measurement is made to take, if the work can be made to last
	meterLimit  = 400 * time.Millisecond // after which a measurement does with three runs
)

// run executes p, which has no inputs or outputs, several times. took is the shortest time from handing it over to seeing its
// end, latency the lower quartile. The clock is the host's, which a disturbance can only make longer: software devices take
// the moment when a thread comes to the work for its beginning, so that a disturbed run may seem to take half as long.
func (m *meter) run(p *plan.Plan, runs int) (took, latency time.Duration, err error) {
	x, err := m.executable(p)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	var waits []time.Duration
	begin := time.Now()
	for i := range runs {
		if i >= 3 && time.Since(begin) > meterLimit {
			break
		}
		_, waited, err := m.once(x, false)
		if err != nil {
			return 0, 0, err
		}
		waits = append(waits, waited)
	}
	slices.Sort(waits)
	return waits[0], waits[len(waits)/4], nil
}

func (m *meter) executable(p *plan.Plan) (*vulkan.Executable, error) {
	return vulkan.NewExecutable(m.ctx, m.dev, p, make([]byte, p.WeightBytes), vulkan.ExecutableOptions{MaxSlots: 1})
}

// once runs x; stamped, with a timestamp after each step.
func (m *meter) once(x *vulkan.Executable, stamped bool) (device, latency time.Duration, err error) {
	if m.alone && m.dev.Submissions() != m.before+m.submitted {
		return 0, 0, errInUse
	}
	ctx := m.ctx
	if stamped {
		ctx = &backend.TraceContext{Context: ctx, Trace: &backend.Trace{Every: true}}
	}
	e, err := x.BeginRun(ctx, nil, nil)
	if err != nil {
		return 0, 0, err
	}
	defer e.Release()
	begin := time.Now()
	f, err := e.Submit(0, e.Segments())
	if err != nil {
		return 0, 0, err
	}
	m.submitted++
	if err := f.Wait(m.ctx); err != nil {
		return 0, 0, err
	}
	device, latency = e.DeviceTime(), time.Since(begin)
	if device <= 0 {
		return 0, 0, errNoTime
	}
	return device, latency, nil
}

// differ measures how much longer one plan takes on the device than another, or the same where stamped with timestamps: the
// middle of several pairs of runs, one right after the other. It is what the device keeps up; the fastest would be what it
// reaches once.
func (m *meter) differ(less, more *plan.Plan, stamped bool, runs int) (_ time.Duration, err error) {
	var pair [2]*vulkan.Executable
	defer func() {
		for _, x := range pair {
			if x != nil {
				err = errors.Join(err, x.Close())
			}
		}
	}()
	for i, p := range []*plan.Plan{less, more} {
		if pair[i], err = m.executable(p); err != nil {
			return 0, err
		}
		if _, _, err := m.once(pair[i], stamped && i == 1); err != nil { // touches memory
			return 0, err
		}
	}
	var list []time.Duration
	begin := time.Now()
	for i := range runs {
		if i >= 3 && time.Since(begin) > meterLimit {
			break
		}
		var times [2]time.Duration
		for k, x := range pair {
			if times[k], _, err = m.once(x, stamped && k == 1); err != nil {
				return 0, err
			}
		}
		list = append(list, times[1]-times[0])
	}
	slices.Sort(list)
	return max(list[len(list)/2], 0), nil
}

// each measures what one more execution of step s takes behind a barrier or not, by what n more take.
func (m *meter) each(s *plan.Step, n int, barriers bool, runs int) (time.Duration, error) {
	const few = 1
	took, err := m.differ(repeated(s, few, barriers), repeated(s, few+n, barriers), false, runs)
	return took / time.Duration(n), err
}

// costs measures what is paid for a dispatch, a barrier, a timestamp and a submission beside the work, with a step that
// does next to nothing.
func (m *meter) costs(tiny *plan.Step) (r plan.Rates, err error) {
	const steps = 80
	runs := 2 * m.runs // they are short
	if r.Dispatch, err = m.each(tiny, steps, false, runs); err != nil {
		return r, err
	}
	loose, ordered := repeated(tiny, steps, false), repeated(tiny, steps, true)
	if r.Barrier, err = m.differ(loose, ordered, false, runs); err != nil {
		return r, err
	}
	if r.Stamp, err = m.differ(ordered, ordered, true, runs); err != nil {
		return r, err
	}
	const latencies = 64
	_, latency, err := m.run(repeated(tiny, 1, false), latencies)
	if err != nil {
		return r, err
	}
	// A difference may be lost in the noise; nothing costs nothing.
	const least = time.Nanosecond
	r.Submit = max(latency-r.Dispatch, least)
	r.Dispatch, r.Barrier, r.Stamp = max(r.Dispatch, least), max(r.Barrier/(steps-1), least), max(r.Stamp/steps, least)
	return r, nil
}

// middleRates has of each rate and cost of some measurements the middle one: what kernels keep up, which a slow or a quick
// second does not change.
func middleRates(list []plan.Rates) plan.Rates {
	return plan.Rates{
		FLOPS:     middle(list, func(r *plan.Rates) float64 { return r.FLOPS }),
		Depthwise: middle(list, func(r *plan.Rates) float64 { return r.Depthwise }),
		Bandwidth: middle(list, func(r *plan.Rates) float64 { return r.Bandwidth }),
		Dispatch:  middle(list, func(r *plan.Rates) time.Duration { return r.Dispatch }),
		Barrier:   middle(list, func(r *plan.Rates) time.Duration { return r.Barrier }),
		Stamp:     middle(list, func(r *plan.Rates) time.Duration { return r.Stamp }),
		Submit:    middle(list, func(r *plan.Rates) time.Duration { return r.Submit }),
	}
}

func middle[T cmp.Ordered](list []plan.Rates, of func(*plan.Rates) T) T {
	values := make([]T, len(list))
	for i := range list {
		values[i] = of(&list[i])
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// bestCeilings has the highest of each of two measurements.
func bestCeilings(a, b plan.Ceilings) plan.Ceilings {
	return plan.Ceilings{
		F32: max(a.F32, b.F32), F16: max(a.F16, b.F16), Dot: max(a.Dot, b.Dot),
		MatrixF16: max(a.MatrixF16, b.MatrixF16), MatrixInt8: max(a.MatrixInt8, b.MatrixInt8),
		Cache: max(a.Cache, b.Cache), Memory: max(a.Memory, b.Memory), Copy: max(a.Copy, b.Copy),
	}
}

// repeated is n times the step s, each time on other memory of the arena, and on other weights where these are blocks, as the
// steps of a network are: what a cache holds from the one before is of no use.
func repeated(s *plan.Step, n int, barriers bool) *plan.Plan {
	p := &plan.Plan{Steps: make([]plan.Step, n), Segments: []int{n}}
	for i := range p.Steps {
		one := *s
		one.Transfers, one.When, one.Bindings = 0, plan.Always, slices.Clone(s.Bindings)
		for k := range one.Bindings {
			b := &one.Bindings[k]
			buffer, bytes := plan.Arena, &p.ArenaBytes
			if b.Format == plan.FormatBlocks { // which are only there
				buffer, bytes = plan.Weights, &p.WeightBytes
			}
			*b = plan.Binding{Buffer: buffer, Format: b.Format, Offset: *bytes, Size: b.Size, Write: b.Write}
			*bytes += plan.AlignUp(b.Size)
		}
		one.Barrier = barriers && i > 0
		p.Steps[i] = one
	}
	return p
}

// multiplyLocal is the workgroup size of the kernels that measure.
const multiplyLocal = 64

// flatStep is a dispatch of count invocations; see shaders/include/common.glsl.
func flatStep(k shaders.Kernel, local, count int, push []uint32, bindings ...plan.Binding) plan.Step {
	const row = 32768
	groups := uint32((count + local - 1) / local)
	s := plan.Step{
		Kernel: k, Local: plan.Flat(uint32(local)), Groups: [3]uint32{min(groups, row), (groups + row - 1) / row, 1},
		Push: push, Bindings: bindings, Label: "measurement",
	}
	return s
}

const (
	// multiplyRounds and matrixRounds are the numbers of iterations of the loops in measure/multiply.comp and
	// measure/matrix.comp, each of so many operations.
	multiplyRounds, matrixRounds = 4096, 256
	vectorFLOP                   = 4 * 3 * 8  // REPEATS times CHAINS vectors of four
	dotFLOP                      = 4 * 12 * 8 // packed products of four, with their sums
	matrixProducts               = 4 * 8      // of a subgroup
	multiplyMostCount            = 1 << 24    // invocations
)

// multiplier is a variant of measure/multiply.comp or measure/matrix.comp.
type multiplier struct {
	ceiling Ceiling
	kernel  shaders.Kernel
	local   int     // invocations of a workgroup
	rounds  int     // iterations of the loop
	each    float64 // operations of an invocation in an iteration
}

// multipliers are those that a device can run.
func multipliers(f *plan.Facts) []multiplier {
	list := []multiplier{{CeilingF32, shaders.MeasureMultiplyF32, multiplyLocal, multiplyRounds, vectorFLOP}}
	if f.Float16 {
		list = append(list, multiplier{CeilingF16, shaders.MeasureMultiplyF16, multiplyLocal, multiplyRounds, vectorFLOP})
	}
	if f.IntegerDot {
		list = append(list, multiplier{CeilingInt8, shaders.MeasureMultiplyDot, multiplyLocal, multiplyRounds, dotFLOP})
	}
	for _, c := range []struct {
		of Ceiling
		in string
	}{{CeilingMatrixF16, "f16"}, {CeilingMatrixInt8, "s8"}} {
		if k, ok := matrixMultiplier(f, c.in); ok {
			k.ceiling = c.of
			list = append(list, k)
		}
	}
	return list
}

// matrixMultiplier multiplies the largest matrices of type in that there is a kernel for.
func matrixMultiplier(f *plan.Facts, in string) (best multiplier, ok bool) {
	for _, m := range f.Matrices {
		k, known := shaders.ByName(family.MatrixPeak{Matrix: m}.Name())
		if m.In != in || !known {
			continue
		}
		local := f.Workgroup(k.Info(), 0)
		each := float64(2*m.M*m.N*m.K*matrixProducts) / float64(f.SubgroupSize)
		if each > best.each && f.Lacks(k.Info(), local) == nil {
			best, ok = multiplier{kernel: k, local: int(local[0]), rounds: matrixRounds, each: each}, true
		}
	}
	return best, ok
}

// units are the operations of an invocation.
func (k *multiplier) units() float64 { return float64(k.rounds) * k.each }

// plan has so many invocations of k or a little more, which write 4 bytes each of the arena.
func (k *multiplier) plan(count int) *plan.Plan {
	count = (count + k.local - 1) / k.local * k.local
	push := []uint32{uint32(count), uint32(k.rounds), 0x01020304, math.Float32bits(0.5), math.Float32bits(0.25)}
	bytes := plan.AlignUp(4 * int64(count))
	s := flatStep(k.kernel, k.local, count, push, plan.Binding{Buffer: plan.Arena, Size: bytes, Write: true})
	return &plan.Plan{ArenaBytes: bytes, Steps: []plan.Step{s}, Segments: []int{1}}
}

// growing measures units a second with a plan of count invocations, or of more until it takes long enough, of so many units
// each.
func (m *meter) growing(count, most int, overhead time.Duration, units float64, of func(count int) *plan.Plan) (float64, error) {
	count, work, err := m.grow(count, most, overhead, of)
	if err != nil {
		return 0, err
	}
	return float64(count) * units / work.Seconds(), nil
}

// grow is the number of invocations, from count to about most, with which a plan takes long enough, and how long it takes.
func (m *meter) grow(count, most int, overhead time.Duration, of func(count int) *plan.Plan) (int, time.Duration, error) {
	for {
		took, _, err := m.run(of(count), m.runs)
		if err != nil {
			return 0, 0, err
		}
		work := without(took, overhead)
		if work >= meterTarget || count >= most {
			return count, work, nil
		}
		count = grown(count, work)
	}
}

// without is took without the overhead that was measured at another moment, at least half of took: where the machine was
// disturbed then, more would make a rate of next to nothing.
func without(took, overhead time.Duration) time.Duration {
	return max(took-overhead, took/2, time.Nanosecond)
}

// grown is a larger amount of work than n, which took that long: enough to reach the target, if not in one go.
func grown(n int, took time.Duration) int {
	factor := min(max(1.2*float64(meterTarget)/float64(took), 2), 16)
	return int(float64(n)*factor+multiplyLocal-1) / multiplyLocal * multiplyLocal
}

// Sizes of what is moved, in bytes: one side of a copy that stays in the cache nearest to the whole device, and of one
// that no cache holds, by class.
const cacheBytes = 256 << 10

var memoryBytes = map[plan.Class]int64{plan.ClassCPU: 64 << 20, plan.ClassGPU: 256 << 20}

// mover is a kernel of measure/move.comp.
type mover struct {
	kernel  shaders.Kernel
	texel   bool    // it reads a texel buffer
	traffic float64 // bytes that it reads and writes for one that it reads
}

var movers = []mover{
	{shaders.MeasureMove, false, 2}, {shaders.MeasureMoveTexel, true, 2},
	{shaders.MeasureMoveSum, false, 1.25}, {shaders.MeasureMoveSumTexel, true, 1.25},
}

// moves measures bytes a second, read and written, within a cache and beyond all, by the best of the kernels, and by
// copy commands. A device without memory for what no cache holds gives 0 there.
func (m *meter) moves(overhead time.Duration) (c plan.Ceilings, err error) {
	size := m.memorySize()
	for _, k := range movers {
		rate, err := m.cached(k, overhead)
		if err != nil {
			return c, err
		}
		c.Cache = max(c.Cache, rate)
		if rate, err = m.moved(k.slabs(&m.facts, size), size, k.traffic, overhead); err != nil {
			return c, err
		}
		c.Memory = max(c.Memory, rate)
	}
	c.Copy, err = m.moved([]plan.Step{{
		Kernel:   shaders.Copy,
		Bindings: []plan.Binding{{Buffer: plan.Arena, Size: size}, {Buffer: plan.Arena, Offset: size, Size: size, Write: true}},
		Label:    "measurement",
	}}, size, 2, overhead)
	return c, err
}

// memorySize is the bytes of one side of a copy that no cache holds.
func (m *meter) memorySize() int64 {
	return min(memoryBytes[m.facts.Class], m.facts.MaxStorageRange) &^ (plan.Align - 1)
}

// moved times steps that read the first half of the arena, of size bytes, and write to the second; 0 where there is no
// memory for it.
func (m *meter) moved(steps []plan.Step, size int64, traffic float64, overhead time.Duration) (float64, error) {
	took, _, err := m.run(movePlan(steps, size), m.runs)
	switch nn.StatusOf(err) {
	case nn.StatusResourceExhaustedTransient, nn.StatusResourceExhaustedPersistent:
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return traffic * float64(size) / without(took, overhead*time.Duration(len(steps))).Seconds(), nil
}

func movePlan(steps []plan.Step, size int64) *plan.Plan {
	return &plan.Plan{ArenaBytes: 2 * size, Steps: steps, Segments: []int{len(steps)}}
}

// slabs are the dispatches that read size bytes of the arena, each of what one texel buffer holds.
func (k *mover) slabs(f *plan.Facts, size int64) []plan.Step {
	slab := size
	if k.texel {
		slab = min(size, f.MaxTexelElements*16) &^ (plan.Align - 1)
	}
	var steps []plan.Step
	for at := int64(0); at < size; at += slab {
		n := min(slab, size-at)
		steps = append(steps, k.step(int(n/16), ^uint32(0), at, size+at, n))
	}
	return steps
}

// moveEach is EACH of measure/move.comp: texels of one invocation.
const moveEach = 4

// step is a dispatch that reads count texels, a multiple of moveEach, between places of the arena.
func (k *mover) step(count int, mask uint32, from, to, bytes int64) plan.Step {
	format := plan.FormatNone
	if k.texel {
		format = plan.FormatRGBA32F
	}
	count /= moveEach
	return flatStep(k.kernel, multiplyLocal, count, []uint32{uint32(count), mask},
		plan.Binding{Buffer: plan.Arena, Format: format, Offset: from, Size: bytes},
		plan.Binding{Buffer: plan.Arena, Offset: to, Size: bytes, Write: true})
}

// cached measures k within cacheBytes.
func (m *meter) cached(k mover, overhead time.Duration) (float64, error) {
	return m.growing(4*cacheBytes/16, 1<<28, overhead, k.traffic*16, func(count int) *plan.Plan {
		return &plan.Plan{ArenaBytes: 2 * cacheBytes, Segments: []int{1}, Steps: []plan.Step{k.step(count, cacheBytes/16-1, 0, cacheBytes, cacheBytes)}}
	})
}

// ceilings measures what the device can do at most, beside r, which costs measured.
func (m *meter) ceilings(r plan.Rates) (c plan.Ceilings, err error) {
	overhead := r.Submit + r.Dispatch
	if c, err = m.moves(overhead); err != nil {
		return c, err
	}
	rates := map[Ceiling]*float64{
		CeilingF32: &c.F32, CeilingF16: &c.F16, CeilingInt8: &c.Dot, CeilingMatrixF16: &c.MatrixF16, CeilingMatrixInt8: &c.MatrixInt8,
	}
	for _, k := range multipliers(&m.facts) {
		if *rates[k.ceiling], err = m.growing(4*k.local, multiplyMostCount, overhead, k.units(), k.plan); err != nil {
			return c, err
		}
	}
	return c, nil
}
