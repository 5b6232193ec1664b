package backend

import (
	"context"
	"time"
)

// Trace is where the time of one execution went, as far as the backend sees it. The driver gives one to Begin, in its
// context, and reads it after Finish; a backend that knows nothing of traces leaves it as it is. Not safe for concurrent
// use.
type Trace struct {
	// Every asks for the time of every step, whatever it costs to take it. Otherwise the execution is slowed by 3 % at
	// most: then some steps are timed, others at the next execution, and the rest of the time is attributed by what is
	// known of each step.
	Every bool

	// Of Begin: the wait for a slot, copying inputs, and writing commands.
	Waited, Loaded, Recorded Span
	// Stored is copying outputs, in Finish.
	Stored Span
	// Steps are what the executable does, in order. Shared by its executions: they must not be changed.
	Steps []Step
	// Late, where it is not nil, sets what follows. The driver calls its Resolve once, when somebody wants to know: after
	// Finish, perhaps long after Release. So what takes a while to work out delays no execution.
	Late interface{ Resolve() }
	// Busy is when the device worked on each submission, in their order.
	Busy []Span
	// Times has one entry for each of Steps. With Stamping they add up to what Busy does.
	Times []StepTime
	// Stamping is what it cost the device to take times.
	Stamping time.Duration
}

// Span is a time. It is empty where From is not before To.
type Span struct{ From, To time.Time }

// Length is 0 for an empty span.
func (s Span) Length() time.Duration { return max(s.To.Sub(s.From), 0) }

// StepKind says what a step is for.
type StepKind uint8

const (
	// StepComputes is part of an operation.
	StepComputes StepKind = iota
	// StepConvertsInput and StepConvertsOutput change the form of an input or output, StepCopies moves one.
	StepConvertsInput
	StepConvertsOutput
	StepCopies
)

// Step is a dispatch or a copy of an executable.
type Step struct {
	Kind    StepKind
	Label   string  // operations, as "CONV_2D #3 + RELU6 #4", or "input" or "output"; of no model's text
	Kernel  string  // "copy" where it is none
	Why     string  // what made the compiler choose the kernel; empty where there is no other
	Segment int     // that it is part of
	FLOP    float64 // useful multiplications and additions, or other operations on numbers
	Bytes   float64 // read and written
	// Ceiling names what bounds the step on this device at most: "f32", "int8 dot", "cache", "memory", "copy" or
	// "dispatch"; Least is the time that it would take then. Empty and 0 where the device was not measured.
	Ceiling string
	Least   time.Duration
}

// StepTime is what a step took in one execution.
type StepTime struct {
	// At is when it began; zero for a step that did not run.
	At   time.Time
	Took time.Duration
	// Uncertainty is by how much Took may be wrong, by the standard deviation of what is known.
	Uncertainty time.Duration
	// Measured: it was timed in this execution.
	Measured bool
	// Runs is how often it ran, 0 for once: then At is when it first began, and Took what it took in all.
	Runs int
}

type traceKey struct{}

// TraceContext is a context whose Begin fills Trace.
type TraceContext struct {
	context.Context
	Trace *Trace
}

// Value implements context.Context.
func (c *TraceContext) Value(key any) any {
	if key == (traceKey{}) {
		return c.Trace
	}
	return c.Context.Value(key)
}

// TraceOf returns the trace that ctx has, nil for none.
func TraceOf(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

// Now is the time, the zero one where t is nil: what is not traced need not be looked at.
func (t *Trace) Now() (now time.Time) {
	if t != nil {
		now = time.Now()
	}
	return now
}
