package vulkan

import (
	"time"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

// traced is what an execution that was asked for a trace does beside its work.
type traced struct {
	to       *backend.Trace
	of       *recording
	sampling *sampling // nil: no timestamps are taken
	list     []submitted
	room     [1]submitted // for list
	// Of the sampling: when steps began, on the host's clock, and what they took.
	began, took map[int]time.Duration
}

// submitted is a range of segments on its way.
type submitted struct {
	first, last int
	at          time.Duration // by now(), when it was handed over
	fence       *fence
	seen        time.Duration // once it has ended: when a waiter saw that
	busy        span          // likewise: when the device worked on it; empty where only the host can tell
}

const (
	// slowed is the part of its time on the device by which a trace may slow an execution.
	slowed = 0.03
	// readingStamps is what the host pays to read some timestamps, and leastStamp the least that taking one costs: on
	// SwiftShader, where the cost of an empty step hides it, four of them slow hello_world by 8.6 µs.
	readingStamps, leastStamp = 4 * time.Microsecond, 500 * time.Nanosecond
)

// trace makes e an execution whose times go to t. at is when its commands were looked for.
func (e *Execution) trace(t *backend.Trace) error {
	x := e.slot.x
	x.known.prepare(x)
	e.traced = &traced{to: t, of: e.recording}
	e.traced.list = e.traced.room[:0]
	t.Steps = x.known.steps
	from, to := x.known.window(x, e.recording, t.Every)
	if from == to {
		return nil
	}
	begin := now()
	was := e.slot.sampling
	p, err := e.slot.newSampling(e.recording, from, to)
	if err != nil {
		return x.dev.failure("trace", err)
	}
	if p != was {
		x.known.recorded((now() - begin) / time.Duration(to-from))
	}
	e.traced.sampling = p
	return nil
}

// prepare describes the steps of x, once.
func (k *knowledge) prepare(x *Executable) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.steps != nil {
		return
	}
	p, facts := x.plan, x.dev.Facts()
	k.steps = make([]backend.Step, len(p.Steps))
	k.samples = make([][]float64, len(p.Steps))
	segment := 0
	for i := range p.Steps {
		for segment < len(p.Segments)-1 && i >= p.Segments[segment] {
			segment++
		}
		s := &p.Steps[i]
		k.steps[i] = backend.Step{
			Kind: stepKind(s), Label: s.Label, Kernel: s.Kernel.String(), Why: s.Why, Segment: segment, FLOP: s.FLOP, Bytes: s.Bytes,
		}
		if c := x.dev.ceilings.Load(); c != nil {
			k.steps[i].Ceiling, k.steps[i].Least = c.Of(&facts, s)
		}
	}
}

func stepKind(s *plan.Step) backend.StepKind {
	_, input := s.Transfers.Input()
	switch {
	case s.Kernel == shaders.Copy:
		return backend.StepCopies
	case s.Transfers == 0:
		return backend.StepComputes
	case input:
		return backend.StepConvertsInput
	}
	return backend.StepConvertsOutput
}

// window is the range of steps that the next execution of r times; none if that would slow it too much.
func (k *knowledge) window(x *Executable, r *recording, every bool) (from, to int) {
	n := len(x.plan.Steps)
	if x.dev.stampMask == 0 || n == 0 {
		return 0, 0
	}
	if every {
		return 0, n
	}
	facts := x.dev.Facts()
	rates := facts.Rates()
	whole := time.Duration(x.fastest.Load())
	if whole == 0 {
		for _, t := range x.estimates {
			whole += t
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	room := stampRoom(whole, rates.Stamp, k.record, r.points)
	if room < 2 {
		return 0, 0
	}
	from, to = r.window(k.next, room)
	k.next = to % n
	return from, to
}

// stampRoom is how many of points timestamps fit in an execution that takes whole. Unless all fit, their commands are
// written anew each time, which costs record for each.
func stampRoom(whole, stamp, record time.Duration, points int) int {
	left := max(slowed*float64(whole)-float64(readingStamps), 0)
	if all := int(left / float64(max(stamp, leastStamp))); points <= all {
		return all
	}
	return int(left / float64(max(stamp, leastStamp)+record))
}

// recorded notes what it took to write the commands of a window, per step.
func (k *knowledge) recorded(each time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.record = each
}

// commands are those of segments [first, last).
func (t *traced) commands(r *recording, first, last int) []vk.CommandBuffer {
	if t.sampling != nil {
		return t.sampling.cmds[first:last]
	}
	return r.cmds[first:last]
}

// finishTrace notes what would be lost with the slot. Precondition: that of Finish.
func (e *Execution) finishTrace() error {
	t := e.traced
	t.to.Late = t
	for i := range t.list {
		t.list[i].seen = t.list[i].fence.reached()
	}
	if t.sampling == nil && e.slot.stamps == 0 {
		return nil
	}
	x := e.slot.x
	d := x.dev
	d.calibrate()
	if t.sampling != nil {
		var err error
		if t.began, t.took, err = t.sampling.read(d); err != nil {
			return d.failure("trace", err)
		}
		e.boundClock()
		facts := d.Facts()
		stamp := facts.Rates().Stamp
		for k, b := range t.took {
			t.began[k] = d.clock.host(t.began[k])
			t.took[k] = max(b-stamp, b/16)
			x.known.add(k, t.took[k])
		}
	}
	for i := range t.list {
		s := &t.list[i]
		if ticks := e.stamps(2*s.first, 2*(s.last-s.first)); len(ticks) > 0 {
			from, to := d.ticks(ticks[0]), d.ticks(ticks[len(ticks)-1])
			d.clock.bound(from, to, s.at, s.seen)
			s.busy = span{d.clock.host(from), d.clock.host(to)}
		}
	}
	return nil
}

// Resolve attributes the time of the device to the steps, by all that is known by now. The execution, and more, may be
// gone.
func (t *traced) Resolve() {
	x := t.of.slot.x
	facts := x.dev.Facts()
	costs := facts.Rates()
	stamps := make([]int, len(x.plan.Segments)) // by segment
	if t.sampling != nil {
		for _, at := range t.sampling.points {
			stamps[x.known.steps[at.step].Segment]++
		}
	}
	t.to.Times = make([]backend.StepTime, len(x.plan.Steps))
	for i := range t.list {
		s := &t.list[i]
		if s.busy == (span{}) {
			// What passes before the device begins and until its end is seen, is measured with work that takes no time.
			latency := min(costs.Submit, (s.seen-s.at)/2)
			s.busy = span{s.at + latency/2, s.seen - latency/2}
		}
		t.to.Busy = append(t.to.Busy, backend.Span{From: wall(s.busy.from), To: wall(s.busy.to)})
		n := 0
		for _, m := range stamps[s.first:s.last] {
			n += m
		}
		length := s.busy.to - s.busy.from
		stamping := min(time.Duration(n)*costs.Stamp, length*9/10)
		t.to.Stamping += stamping
		t.divide(s, length-stamping, &facts)
	}
}

// span is a time on the host's clock, by now().
type span struct{ from, to time.Duration }

// boundClock narrows the device's clock by the timestamps of the window.
func (e *Execution) boundClock() {
	x, t := e.slot.x, e.traced
	for i := range t.list {
		s := &t.list[i]
		first := 0
		if s.first > 0 {
			first = x.plan.Segments[s.first-1]
		}
		var from, to time.Duration
		found := false
		for k := first; k < x.plan.Segments[s.last-1]; k++ {
			if at, ok := t.began[k]; ok {
				if !found {
					from, found = at, true
				}
				to = at + t.took[k]
			}
		}
		if found {
			x.dev.clock.bound(from, to, s.at, s.seen)
		}
	}
}

// divide divides total, the time that the device spent on steps of s, among them.
func (t *traced) divide(s *submitted, total time.Duration, facts *plan.Facts) {
	x, stamp := t.of.slot.x, facts.Rates().Stamp
	first := 0
	if s.first > 0 {
		first = x.plan.Segments[s.first-1]
	}
	var steps []int
	var beliefs []belief
	for k := first; k < x.plan.Segments[s.last-1]; k++ {
		if !t.of.runs(&x.plan.Steps[k]) {
			continue
		}
		b := x.known.of(k, stamp)
		if now, ok := t.took[k]; ok { // this time it is known
			b.took = float64(now)
		} else if !b.known {
			b.took = float64(facts.StepTime(&x.plan.Steps[k]))
			b.doubt = b.took
		}
		steps, beliefs = append(steps, k), append(beliefs, b)
	}
	anchors := map[int]time.Duration{}
	for i, k := range steps {
		if from, ok := t.began[k]; ok {
			anchors[i] = from
		}
	}
	shares := attribute(float64(total), beliefs)
	at := layOut(s.busy, shares, anchors)
	for i, b := range shares {
		k := steps[i]
		_, measured := t.took[k]
		t.to.Times[k] = backend.StepTime{
			At: wall(at[i]), Took: time.Duration(b.took), Uncertainty: time.Duration(b.doubt), Measured: measured,
		}
	}
}

// layOut says when each of the steps that fill busy began: at its anchor, where it has one, and between anchors in
// proportion to what they take.
func layOut(busy span, shares []belief, anchors map[int]time.Duration) []time.Duration {
	out := make([]time.Duration, len(shares))
	before := make([]float64, len(shares)+1) // of each step, what those before it take
	for i, b := range shares {
		before[i+1] = before[i] + b.took
	}
	fill := func(first, last int, from, to time.Duration) { // steps [first, last) are within [from, to]
		length := before[last] - before[first]
		for i := first; i < last; i++ {
			out[i] = from
			if length > 0 {
				out[i] += time.Duration((before[i] - before[first]) / length * float64(to-from))
			}
		}
	}
	first, from := 0, busy.from
	for i := range shares {
		if at, ok := anchors[i]; ok {
			at = min(max(at, from), busy.to)
			fill(first, i, from, at)
			first, from = i, at
		}
	}
	fill(first, len(shares), from, busy.to)
	return out
}
