package driver

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/qos"
)

// ProfileKind says what the time of a row went to.
type ProfileKind string

// Kinds of rows. All but the first four are of the host.
const (
	ProfileOp         ProfileKind = "op"         // an operation of the model, on the device
	ProfileConversion ProfileKind = "conversion" // of an input or output, between the dense form and the device's
	ProfileCopy       ProfileKind = "copy"       // of an input or output, by the device or by the host
	ProfileTimestamps ProfileKind = "timestamps" // what it cost the device to take times
	ProfileBind       ProfileKind = "bind"       // checking the request, mapping pools, waiting for buffers
	ProfileScheduler  ProfileKind = "scheduler"  // waiting for the device's turn, for memory, and who decides that
	ProfileRecord     ProfileKind = "record"     // writing commands
	ProfileSubmit     ProfileKind = "submit"     // handing commands to the device
	ProfileWait       ProfileKind = "wait"       // for the device to begin, and to see that it has ended
	ProfileGap        ProfileKind = "gap"        // the device had nothing of the execution to do between two submissions
	ProfileFinish     ProfileKind = "finish"     // what comes after the last work, copies apart
)

// Profile says where the time of one execution went.
type Profile struct {
	Began time.Time     // of the call
	Wall  time.Duration // until the outputs were written
	// Rows add up to Wall: those of the device's steps in order, one for each that ran, then those of the host that took
	// any time.
	Rows []ProfileRow
	// Spans are what happened when, by the host's clock, in the order of their beginnings.
	Spans []ProfileSpan
}

// ProfileRow is a part of an execution's time. What follows Uncertainty is of steps of the device only.
type ProfileRow struct {
	Name string // operations as "CONV_2D #3 + RELU6 #4", with what is fused in; else what it is
	Kind ProfileKind
	Time time.Duration
	// Uncertainty is by how much Time may be wrong, by the standard deviation of what is known. Measured: the step was
	// timed in this execution; else its time is what is known of it and of the rest.
	Uncertainty time.Duration
	Measured    bool
	// Runs is how often it ran: once, but in loops, of which Time is the sum.
	Runs int

	Kernel  string // "copy" where it is none
	Why     string // what made the compiler choose the kernel; empty where there is no other
	Segment int    // that the step is part of
	FLOP    float64
	Bytes   float64 // read and written
	// Ceiling names what bounds the step on this device at most: "f32", "int8 dot", "cache", "memory", "copy" or
	// "dispatch"; Least is the time that it would take then. Empty and 0 where nothing is known of the device's speed.
	Ceiling string
	Least   time.Duration
}

// ProfileSpan is a part of an execution's timeline. Those of the device may overlap those of the host.
type ProfileSpan struct {
	Name     string
	Kind     ProfileKind
	OnDevice bool
	Busy     bool // the device's work on one submission, which its steps divide
	From, To time.Time
}

// profiling says whether and how an execution is profiled.
type profiling uint8

const (
	unprofiled profiling = iota
	someSteps            // as many are timed as slow the execution by 3 % at most
	everyStep
)

// WithProfile asks for Result.Profile. The execution takes 3 % longer at most: where timestamps are dear, as on
// lavapipe, only some steps are timed at each execution, and the rest of the time is shared among the others by what is
// known of them. The profile is made of the notes when somebody asks for it.
func WithProfile() ExecuteOption {
	return func(o *executeOptions) { o.profiling = max(o.profiling, someSteps) }
}

// WithStepProfile is WithProfile that times every step, whatever it costs: for networks so small that no timestamp is
// cheap. What such executions take teaches admission nothing.
func WithStepProfile() ExecuteOption {
	return func(o *executeOptions) { o.profiling = everyStep }
}

// Profile says where the time of the execution went; nil without WithProfile. The first call works it out, which takes
// some microseconds for each step; later ones return the same. Safe for concurrent use.
func (r *Result) Profile() *Profile {
	if r.profiler == nil {
		return nil
	}
	r.profiler.once.Do(r.profiler.resolve)
	return r.profiler.made
}

// profiler notes when an execution does what. A nil one notes nothing. Not safe for concurrent use.
type profiler struct {
	trace backend.Trace
	bound time.Time // when the request was
	ran   backend.Span
	begin backend.Span
	own   []ownSpan
	room  [4]ownSpan // for own
	first time.Time  // when the first submission was made

	// What an execution takes once.
	context backend.TraceContext
	fence   profiledFence

	// Of an execution that has ended: the call, and how often it gave way.
	whole       backend.Span
	preemptions int
	once        sync.Once
	made        *Profile // by once
}

// ownSpan is a submission, or a wait for one.
type ownSpan struct {
	backend.Span
	waits bool
}

func newProfiler(p profiling) *profiler {
	if p == unprofiled {
		return nil
	}
	out := &profiler{trace: backend.Trace{Every: p == everyStep}}
	out.own = out.room[:0]
	return out
}

// traced returns ctx for Begin.
func (p *profiler) traced(ctx context.Context) context.Context {
	if p == nil {
		return ctx
	}
	p.context = backend.TraceContext{Context: ctx, Trace: &p.trace}
	return &p.context
}

// now is the time, where it is of use.
func (p *profiler) now() (t time.Time) {
	if p != nil {
		t = time.Now()
	}
	return t
}

// isBound notes that the request is bound and the execution goes to the scheduler.
func (p *profiler) isBound() {
	if p != nil {
		p.bound = time.Now()
		p.ran.From = p.bound
	}
}

// hasBegun notes a call of Begin.
func (p *profiler) hasBegun(from time.Time) {
	if p != nil {
		p.begin = backend.Span{From: from, To: time.Now()}
	}
}

// hasRun notes the return of the scheduler.
func (p *profiler) hasRun() {
	if p != nil {
		p.ran.To = time.Now()
	}
}

// submitted notes a submission that was handed over since from, and the wait for its fence.
func (p *profiler) submitted(from time.Time, f qos.Fence) qos.Fence {
	if p == nil {
		return f
	}
	p.own = append(p.own, ownSpan{backend.Span{From: from, To: time.Now()}, false})
	if p.first.IsZero() {
		p.first = from
	}
	fence := &p.fence
	if fence.p != nil { // it is in use
		fence = new(profiledFence)
	}
	*fence = profiledFence{f, p}
	return fence
}

type profiledFence struct {
	qos.Fence
	p *profiler
}

// Wait implements qos.Fence. The goroutine that executes calls it.
func (f *profiledFence) Wait(ctx context.Context) error {
	from := time.Now()
	err := f.Fence.Wait(ctx)
	f.p.own = append(f.p.own, ownSpan{backend.Span{From: from, To: time.Now()}, true})
	return err
}

// hasEnded notes that the execution began then, took that long and was scheduled as r says.
func (p *profiler) hasEnded(began time.Time, took time.Duration, r *qos.Report) {
	p.whole, p.preemptions = backend.Span{From: began, To: began.Add(took)}, r.Preemptions
}

// resolve makes the profile, and lets go of what it is made from.
func (p *profiler) resolve() {
	if p.trace.Late != nil {
		p.trace.Late.Resolve()
	}
	out := &Profile{Began: p.whole.From, Wall: p.whole.Length()}
	out.Spans = p.timeline()
	host := partition(p.whole, out.Spans)
	out.Rows = p.deviceRows(host[""])
	for _, s := range hostRows {
		if t := host[s.name]; t > 0 {
			out.Rows = append(out.Rows, ProfileRow{Name: s.name, Kind: s.kind, Time: t})
		}
	}
	p.made, p.trace, p.context, p.fence = out, backend.Trace{}, backend.TraceContext{}, profiledFence{}
}

// hostRows are the rows of the host, in the order in which they are shown.
var hostRows = []struct {
	name string
	kind ProfileKind
}{
	{"bind", ProfileBind}, {"queue", ProfileScheduler}, {"slot", ProfileScheduler}, {"copy inputs", ProfileCopy},
	{"record", ProfileRecord}, {"submit", ProfileSubmit}, {"wait for the device", ProfileWait}, {"gaps", ProfileGap},
	{"preempted", ProfileScheduler}, {"scheduling", ProfileScheduler}, {"copy outputs", ProfileCopy}, {"finish", ProfileFinish},
}

// timeline has the spans of the host and of the device, which may overlap.
func (p *profiler) timeline() (list []ProfileSpan) {
	t := &p.trace
	add := func(name string, kind ProfileKind, s backend.Span) {
		if s.Length() > 0 {
			list = append(list, ProfileSpan{Name: name, Kind: kind, From: s.From, To: s.To})
		}
	}
	for _, s := range p.own {
		if s.waits {
			add("wait for the device", ProfileWait, s.Span)
		} else {
			add("submit", ProfileSubmit, s.Span)
		}
	}
	add("bind", ProfileBind, backend.Span{From: p.whole.From, To: p.bound})
	queued := backend.Span{From: p.ran.From, To: p.begin.From}
	if p.begin == (backend.Span{}) {
		queued.To = p.first
	}
	add("queue", ProfileScheduler, queued)
	if p.begin != (backend.Span{}) { // it had a slot and waited for what others had on the device
		add("queue", ProfileScheduler, backend.Span{From: p.begin.To, To: p.first})
	}
	add("slot", ProfileScheduler, t.Waited)
	add("copy inputs", ProfileCopy, t.Loaded)
	add("record", ProfileRecord, t.Recorded)
	if t.Recorded == (backend.Span{}) { // the backend does not tell
		add("record", ProfileRecord, p.begin)
	}
	add("copy outputs", ProfileCopy, t.Stored)
	add("finish", ProfileFinish, backend.Span{From: p.ran.To, To: p.whole.To})
	for _, s := range p.pauses() {
		add("preempted", ProfileScheduler, s)
	}
	for _, s := range t.Busy {
		list = append(list, ProfileSpan{Name: "device", OnDevice: true, Busy: true, From: s.From, To: s.To})
	}
	list = append(list, p.steps()...)
	slices.SortStableFunc(list, func(a, b ProfileSpan) int { return a.From.Compare(b.From) })
	return list
}

// steps are the spans of the device's steps, each until the next one of its submission begins.
func (p *profiler) steps() []ProfileSpan {
	t := &p.trace
	var list []ProfileSpan
	busy := 0
	for i := range t.Steps[:min(len(t.Steps), len(t.Times))] {
		at := t.Times[i].At
		if at.IsZero() {
			continue
		}
		for busy < len(t.Busy)-1 && !at.Before(t.Busy[busy+1].From) {
			busy++
		}
		if n := len(list); n > 0 && list[n-1].To.After(at) {
			list[n-1].To = at
		}
		to := at.Add(t.Times[i].Took / time.Duration(max(t.Times[i].Runs, 1))) // the first time
		if len(t.Busy) > 0 {
			to = earlier(to, t.Busy[busy].To)
		}
		list = append(list, ProfileSpan{Name: t.Steps[i].Label, Kind: stepKinds[t.Steps[i].Kind], OnDevice: true, From: at, To: later(at, to)})
	}
	return list
}

// pauses are the longest spans between two of its own, as many as there were preemptions.
func (p *profiler) pauses() []backend.Span {
	var list []backend.Span
	for i := 1; i < len(p.own); i++ {
		if s := (backend.Span{From: p.own[i-1].To, To: p.own[i].From}); s.Length() > 0 {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b backend.Span) int { return cmp.Compare(b.Length(), a.Length()) })
	return list[:min(len(list), p.preemptions)]
}

// precedence orders spans that are at the same time, the most telling first. Those that are not named come last.
var precedence = map[string]int{
	"": 1, "copy inputs": 2, "slot": 3, "record": 4, "submit": 5, "wait for the device": 6, "preempted": 7, "copy outputs": 8, "bind": 9, "queue": 10,
	"finish": 11,
}

// partition divides whole among the rows of the host by what happened at each moment. The entry without a name is when
// the device worked.
func partition(whole backend.Span, spans []ProfileSpan) map[string]time.Duration {
	type edge struct {
		at   time.Time
		name string
		step int
	}
	var edges []edge
	var busy []ProfileSpan
	for _, s := range spans {
		name := s.Name
		switch {
		case s.Busy:
			name = ""
			busy = append(busy, s)
		case s.OnDevice:
			continue
		}
		from, to := later(s.From, whole.From), earlier(s.To, whole.To)
		if from.Before(to) {
			edges = append(edges, edge{from, name, 1}, edge{to, name, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return a.at.Compare(b.at) })
	out := map[string]time.Duration{}
	open := map[string]int{}
	at := whole.From
	for i := 0; i <= len(edges); i++ {
		to := whole.To
		if i < len(edges) {
			to = edges[i].at
		}
		if d := to.Sub(at); d > 0 {
			out[telling(open, busy, at)] += d
			at = to
		}
		if i < len(edges) {
			open[edges[i].name] += edges[i].step
		}
	}
	return out
}

// telling is the name of the row for what is open at a moment.
func telling(open map[string]int, busy []ProfileSpan, at time.Time) string {
	best, rank := "scheduling", len(precedence)+1
	for name, n := range open {
		if r := precedence[name]; n > 0 && r < rank {
			best, rank = name, r
		}
	}
	if best == "wait for the device" && len(busy) > 0 && !at.Before(busy[0].To) && at.Before(busy[len(busy)-1].From) {
		return "gaps"
	}
	return best
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// stepKinds has the kind of the rows of each kind of steps.
var stepKinds = [...]ProfileKind{
	backend.StepComputes: ProfileOp, backend.StepConvertsInput: ProfileConversion, backend.StepConvertsOutput: ProfileConversion,
	backend.StepCopies: ProfileCopy,
}

// deviceRows divides total, the time that the device worked, among its steps.
func (p *profiler) deviceRows(total time.Duration) []ProfileRow {
	t := &p.trace
	var rows []ProfileRow
	sum := t.Stamping
	for i := range t.Steps[:min(len(t.Steps), len(t.Times))] {
		s, took := &t.Steps[i], &t.Times[i]
		if took.At.IsZero() {
			continue
		}
		sum += took.Took
		rows = append(rows, ProfileRow{
			Name: s.Label, Kind: stepKinds[s.Kind], Time: took.Took, Uncertainty: took.Uncertainty, Measured: took.Measured, Runs: max(took.Runs, 1),
			Kernel: s.Kernel, Why: s.Why, Segment: s.Segment, FLOP: s.FLOP, Bytes: s.Bytes, Ceiling: s.Ceiling, Least: s.Least,
		})
	}
	if t.Stamping > 0 {
		rows = append(rows, ProfileRow{Name: "timestamps", Kind: ProfileTimestamps, Time: t.Stamping})
	}
	if total > 0 && sum == 0 {
		return append(rows, ProfileRow{Name: "device", Kind: ProfileOp, Time: total})
	}
	// What the device did while the host did not wait for it yet counts once.
	for i := range rows {
		rows[i].Time = time.Duration(float64(rows[i].Time) * float64(total) / float64(sum))
	}
	return rows
}
