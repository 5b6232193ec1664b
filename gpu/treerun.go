package gpu

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/compile"
)

// treeExecution is one run of a tree. It has at most one region under way, and so never waits for a slot while it holds
// another.
type treeExecution struct {
	x *tree
	f *frame // nil once released

	at    []backend.Binding // by value
	open  openExecution
	stack []activation
	limit time.Duration // of each loop; 0: none

	now    backend.Execution // of the region under way; nil: there is none
	part   *part             // of now
	inputs []backend.Binding // room for those of a region
	outs   []backend.Binding
	times  []time.Duration // room for Next

	took    time.Duration
	traffic backend.Traffic
	trace   *treeTrace // nil: nobody asked
}

// activation is a sequence that is being run.
type activation struct {
	list compile.Sequence
	next int

	loop       *compile.Loop // whose First or Step it is; nil: of none
	since      time.Time     // when the loop began
	stepping   bool          // it is Step
	iterations int           // that have begun
}

var _ backend.Continuing = (*treeExecution)(nil)

func newTreeExecution(x *tree, f *frame, inputs, outputs []backend.Binding) *treeExecution {
	t := x.model
	e := &treeExecution{x: x, f: f, at: make([]backend.Binding, len(t.Values)), stack: []activation{{list: t.Main}}}
	for i := range t.Values {
		switch v := &t.Values[i]; v.Place {
		case compile.InWord:
			e.at[i].Host = f.words[i]
		case compile.InMemory, compile.InConstant:
			e.at[i] = e.memory(i)
		}
	}
	for k, v := range t.Inputs {
		if v != compile.None {
			e.at[v] = inputs[k]
		}
	}
	for k, v := range t.Outputs {
		e.at[v] = outputs[k]
	}
	e.open.init(x, inputs, outputs)
	return e
}

// memory is the place of value v in the frame; none where its dimensions are open.
func (e *treeExecution) memory(v int) backend.Binding {
	if e.f.memory[v] == nil {
		return backend.Binding{}
	}
	n, _ := e.x.model.Values[v].ByteSize() // which validation has computed
	return backend.Binding{Memory: e.f.memory[v], Length: int64(n)}
}

// advance begins the next region. It reports false where there is none.
func (e *treeExecution) advance(ctx context.Context) (bool, error) {
	for len(e.stack) > 0 {
		a := &e.stack[len(e.stack)-1]
		if a.next == len(a.list) {
			again, err := e.turn(a)
			if err != nil {
				return false, err
			}
			if !again {
				e.stack = e.stack[:len(e.stack)-1]
			}
			continue
		}
		a.next++
		switch n := a.list[a.next-1].(type) {
		case *compile.Straight:
			if p := e.x.parts[n.Index]; p != nil {
				return true, e.begin(ctx, n, p)
			}
			if p := e.x.open[n.Index]; p != nil {
				if begun, err := e.beginOpen(ctx, n, p); begun || err != nil {
					return begun, err
				}
			}
		case *compile.Branch:
			list := n.Else
			if e.f.words[n.If][0] != 0 {
				list = n.Then
			}
			e.stack = append(e.stack, activation{list: list})
		case *compile.Loop:
			for k, v := range n.Current {
				if err := e.enter(n, k); err != nil {
					return false, err
				}
				e.at[v], e.at[n.Next[k]] = e.at[n.Init[k]], e.memory(n.Next[k])
			}
			e.stack = append(e.stack, activation{list: n.First, loop: n, since: time.Now()})
		}
	}
	return false, nil
}

// turn is called at the end of a sequence, and reports whether a is to go on.
func (e *treeExecution) turn(a *activation) (bool, error) {
	l := a.loop
	if l == nil {
		return false, nil
	}
	if a.stepping { // current and next change places; what was current in the beginning was neither
		for k, v := range l.Current {
			if e.x.model.Values[v].IsOpen() {
				e.swap(v, l.Next[k])
				continue
			}
			other := v
			if e.at[l.Next[k]].Memory == e.f.memory[v] {
				other = l.Next[k]
			}
			e.at[v], e.at[l.Next[k]] = e.at[l.Next[k]], e.memory(other)
		}
	}
	if e.f.words[l.While][0] == 0 {
		e.x.loops[l.Index].ended(a.iterations)
		return false, nil
	}
	if took := time.Since(a.since); e.limit > 0 && took > e.limit {
		return false, nn.Errorf(nn.StatusMissedDeadlineTransient, "WHILE", "%d iterations took %v, and it may take %v", a.iterations, took, e.limit)
	}
	a.iterations++
	a.list, a.next, a.stepping = l.Step, 0, true
	return true, nil
}

// begin begins region n, which is not open.
func (e *treeExecution) begin(ctx context.Context, n *compile.Straight, p *part) error {
	if e.x.dims != nil {
		if err := e.size(n, e.x.dims[n.Index]); err != nil {
			return err
		}
	}
	return e.beginPart(ctx, n, p)
}

// beginPart begins region n as p, whose outputs have their places.
func (e *treeExecution) beginPart(ctx context.Context, n *compile.Straight, p *part) (err error) {
	e.inputs, e.outs = e.inputs[:0], e.outs[:0]
	for _, v := range n.In {
		if n.Model == nil && e.isEmpty(v) { // nothing is copied
			continue
		}
		at := e.at[v]
		if p.Plan().Inputs[len(e.inputs)].Size == 0 { // it is left off
			at = backend.Binding{}
		}
		e.inputs = append(e.inputs, at)
	}
	for _, v := range n.Out {
		if !e.isEmpty(v) {
			e.outs = append(e.outs, e.at[v])
		}
	}
	// The trace in ctx is the tree's.
	e.now, err = p.beginIn(&backend.TraceContext{Context: ctx, Trace: e.trace.begin()}, e.f.number, e.inputs, e.outs)
	if err != nil {
		e.now = nil
		return err
	}
	e.part = p
	return nil
}

// end notes what the region under way, which the device has done, took, and brings its results to their places.
func (e *treeExecution) end() error {
	if e.now == nil {
		return nil
	}
	defer e.endPart()
	if err := e.now.Finish(); err != nil {
		return err
	}
	e.trace.ended(e.part)
	took := e.now.DeviceTime()
	e.took += took
	e.part.took(took)
	if e.open.of != nil {
		e.open.of.took(took)
	}
	t := e.now.Traffic()
	e.traffic.Copied += t.Copied
	e.traffic.Converted += t.Converted
	return nil
}

// endPart lets go of the region under way.
func (e *treeExecution) endPart() {
	e.now.Release()
	e.now = nil
	e.open.leave()
}

// LimitLoops implements backend.Continuing.
func (e *treeExecution) LimitLoops(d time.Duration) { e.limit = d }

// Next implements backend.Continuing.
func (e *treeExecution) Next(ctx context.Context) (segments []time.Duration, later time.Duration, err error) {
	if e.f == nil {
		return nil, 0, errTreeReleased
	}
	if err := e.end(); err != nil {
		return nil, 0, err
	}
	if err := e.open.tooShort(); err != nil {
		return nil, 0, err
	}
	begun, err := e.advance(ctx)
	if err != nil || !begun {
		return nil, 0, err
	}
	e.times = e.times[:0]
	for _, d := range e.part.Estimates() {
		e.times = append(e.times, asDuration(float64(d)*e.part.factor()))
	}
	return e.times, e.later(), nil
}

// later is what is expected after the region under way.
func (e *treeExecution) later() time.Duration {
	ns := 0.0
	for i := range e.stack {
		a := &e.stack[i]
		ns += e.x.expect(a.list[a.next:])
		if a.loop != nil {
			ns += float64(max(e.x.loops[a.loop.Index].expected()-a.iterations, 0)) * e.x.expect(a.loop.Step)
		}
	}
	return asDuration(ns)
}

var (
	errTreeReleased = errors.New("execution is released")
	errTreeGoesOn   = errors.New("the execution has not come to its end")
)

// Submit implements backend.Execution.
func (e *treeExecution) Submit(first, last int) (backend.Fence, error) {
	if e.now == nil {
		return nil, errTreeReleased
	}
	return e.now.Submit(first, last)
}

// Segments implements backend.Execution.
func (e *treeExecution) Segments() int {
	if e.now == nil {
		return 0
	}
	return e.now.Segments()
}

// Finish implements backend.Execution.
func (e *treeExecution) Finish() error {
	if e.now != nil || len(e.stack) > 0 {
		return errTreeGoesOn
	}
	return nil
}

// DeviceTime implements backend.Execution.
func (e *treeExecution) DeviceTime() time.Duration { return e.took }

// SegmentTimes implements backend.Execution: there are others each time.
func (e *treeExecution) SegmentTimes() []time.Duration { return nil }

// SyncFile implements backend.Execution: what comes after a region is for the host to say.
func (e *treeExecution) SyncFile() (*os.File, error) { return nil, backend.ErrNoSyncFile }

// Traffic implements backend.Execution.
func (e *treeExecution) Traffic() backend.Traffic { return e.traffic }

// Release implements backend.Execution.
func (e *treeExecution) Release() {
	if e.f == nil {
		return
	}
	if e.now != nil {
		e.endPart()
	}
	f := e.f
	e.open.release(f)
	e.f, e.stack = nil, nil
	clear(e.at)
	e.x.frames.Give(f)
}
