package driver

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

// preparing says when which form of a model is compiled.
type preparing struct {
	delayed   bool
	staged    bool
	after     int // executions of the first form, before the optimised one is compiled
	instances int // of a template, at most; 0: as many as without WithInstances
}

// WithStagedCompilation asks for the first result as soon as possible. Where compiling takes long, PrepareModel returns
// after a compilation that is fast and whose executions are slower: then Stats().Quick is true. After so many
// executions the optimised form is compiled in the background, one at a time on each device, and takes the place of the
// first one for the executions that begin then, and in the cache; 0 does not wait for the first one for longer than a
// second. Where a model is compiled as soon in full, or the device has its kernels already, it is. Results stay within
// tolerance. A compilation that fails changes nothing and is logged as a warning; Close gives it up.
//
// The compilation in the background keeps out of the way: it begins no pipeline while an execution waits or runs on the
// device, but for one a second where that never ends.
//
// The values of the model are retained until then, and must not change; what was copied of its pools (see PrepareModel)
// stays in memory and in the client's account. Both forms are in memory for a moment.
// PrepareModelFromCache loads the form that is in its files, and does not improve it.
//
// Without this option a device may give a quick form, too, as long as it has to find out which kernels it can trust (see
// backend.Stats): it gives way in the same way, after one execution.
func WithStagedCompilation(after int) Option {
	return func(o *prepareOptions) { o.preparing.staged, o.preparing.after = true, max(0, after) }
}

// staged is an executable that gives way to a better one.
type staged struct {
	better func(context.Context) (backend.Executable, error) // nil once it was called, or never will be
	done   func()                                            // after better, or in its place
	log    *slog.Logger                                      // of an error of better
	turn   chan struct{}                                     // of the device: who has put its element in compiles
	ctx    context.Context                                   // of better
	cancel context.CancelFunc                                // by Close
	work   sync.WaitGroup                                    // the compilation, until what it replaced is closed

	mu      sync.Mutex
	current *stage      // guarded by mu
	early   *time.Timer // immutable; counts an execution where none comes; nil: there is none
	left    int         // guarded by mu; executions until better is called, below 0 once it was
	settled bool        // guarded by mu; nothing begins any more
	closed  bool        // guarded by mu
	err     error       // guarded by mu; of closing the first stage
}

// stage is one form of the model.
type stage struct {
	backend.Executable
	beginning sync.WaitGroup // calls of Begin; added to under the mutex while it is the current one
}

// newStaged takes ownership of exe. It calls better after so many executions, never more than once, and done in any
// case.
func newStaged(exe backend.Executable, after int, turn chan struct{}, better func(context.Context) (backend.Executable, error), done func(), log *slog.Logger) *staged {
	s := &staged{better: better, done: done, log: log, turn: turn, current: &stage{Executable: exe}, left: after}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if after == 0 {
		s.left = 1
		s.early = time.AfterFunc(firstResult, s.executed)
	}
	return s
}

const (
	// firstResult is how long the first execution is waited for, to have the device and the processors to itself.
	firstResult = time.Second
	// patience is how long a piece of work in the background waits for the device to be idle, and shortPatience one that an
	// execution waits for.
	patience      = time.Second
	shortPatience = patience / 10
)

// giveWay is backend.Options.Pause of compilations in the background.
func (d *Device) giveWay(ctx context.Context) error { return d.giveWayFor(ctx, patience) }

// giveWayShortly is giveWay of compilations that executions wait for.
func (d *Device) giveWayShortly(ctx context.Context) error { return d.giveWayFor(ctx, shortPatience) }

func (d *Device) giveWayFor(ctx context.Context, patience time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_ = d.scheduler.Idle(waiting) // or it has waited long enough
	return ctx.Err()
}

// giveWayWithin is giveWayShortly of what an execution has compiled while it runs: to all but that one.
func (d *Device) giveWayWithin(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, shortPatience)
	defer cancel()
	_ = d.scheduler.IdleButOne(waiting) // or it has waited long enough
	return ctx.Err()
}

// isIdle reports whether no execution waits or runs on the device.
func (d *Device) isIdle() bool {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	return d.scheduler.Idle(now) == nil
}

// executed counts an execution that has ended.
func (s *staged) executed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left < 0 || s.settled {
		return
	}
	if s.left--; s.left == 0 {
		s.left = -1
		s.work.Go(s.improve)
	}
}

func (s *staged) improve() {
	defer s.done()
	exe, err := s.compile()
	s.better = nil // with what it holds
	if err != nil {
		if s.ctx.Err() == nil {
			s.log.Warn("a model could not be optimised in the background and stays slow", "error", err)
		}
		return
	}
	s.mu.Lock()
	old := s.current
	s.current = &stage{Executable: exe}
	s.mu.Unlock()
	old.beginning.Wait()
	err = old.Close() // waits for the executions
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
}

func (s *staged) compile() (backend.Executable, error) {
	select {
	case s.turn <- struct{}{}:
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
	defer func() { <-s.turn }()
	return s.better(s.ctx)
}

// now is what an execution that begins now would run on.
func (s *staged) now() backend.Executable {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.Executable
}

// Stats implements backend.Executable.
func (s *staged) Stats() backend.Stats { return s.now().Stats() }

// Estimates implements backend.Executable.
func (s *staged) Estimates() []time.Duration { return s.now().Estimates() }

// Later implements backend.Executable.
func (s *staged) Later() time.Duration { return s.now().Later() }

// Begin implements backend.Executable.
func (s *staged) Begin(ctx context.Context, inputs, outputs []backend.Binding) (backend.Execution, error) {
	s.mu.Lock()
	if s.settled {
		s.mu.Unlock()
		return nil, closed("executable")
	}
	at, counts := s.current, s.left >= 0
	at.beginning.Add(1)
	s.mu.Unlock()
	defer at.beginning.Done()
	x, err := at.Begin(ctx, inputs, outputs)
	if err != nil || !counts {
		return x, err
	}
	e := stagedExecution{Execution: x, of: s}
	if c, ok := x.(backend.Continuing); ok {
		return &stagedContinuing{e, c}, nil
	}
	return &e, nil
}

// settle gives up a compilation that is going on and waits for its end, so that the executable stays what it is.
// Nothing begins on it any more. Idempotent.
func (s *staged) settle() {
	s.mu.Lock()
	if s.settled {
		s.mu.Unlock()
		return
	}
	s.settled = true
	started := s.left < 0
	s.mu.Unlock()
	if s.early != nil {
		s.early.Stop()
	}
	s.cancel()
	s.work.Wait()
	if !started {
		s.better = nil
		s.done()
	}
}

// settle does so with what is a staged executable, also one that was delayed. Precondition: nobody compiles it.
func settle(exe backend.Executable) {
	if d, ok := exe.(*delayed); ok {
		exe = d.known()
	}
	if s, ok := exe.(*staged); ok {
		s.settle()
	}
}

// Close implements backend.Executable. It gives up a compilation that is going on and waits for its end. Idempotent.
func (s *staged) Close() error {
	s.settle()
	s.mu.Lock()
	again, err, current := s.closed, s.err, s.current
	s.closed = true
	s.mu.Unlock()
	if again {
		return nil
	}
	return errors.Join(err, current.Close())
}

type stagedExecution struct {
	backend.Execution
	of       *staged
	released bool
}

// Release implements backend.Execution.
func (x *stagedExecution) Release() {
	x.Execution.Release()
	if !x.released {
		x.released = true
		x.of.executed()
	}
}

// stagedContinuing is one that goes on.
type stagedContinuing struct {
	stagedExecution
	continuing backend.Continuing
}

// LimitLoops implements backend.Continuing.
func (x *stagedContinuing) LimitLoops(d time.Duration) { x.continuing.LimitLoops(d) }

// Next implements backend.Continuing.
func (x *stagedContinuing) Next(ctx context.Context) ([]time.Duration, time.Duration, error) {
	return x.continuing.Next(ctx)
}

// compileAnew compiles m in the form that o asks for first, and keeps it in p, which may be nil. It refuses what would
// be late.
func (d *Device) compileAnew(ctx context.Context, m *ownModel, o *prepareOptions, p keeper) (backend.Executable, error) {
	if err := d.prepares.canCompile(m.Model, o); err != nil {
		return nil, err
	}
	exe, err := d.compileForm(ctx, m.Model, o, p, o.preparing.staged)
	if err != nil || !exe.Stats().Quick {
		return exe, err
	}
	return d.stage(exe, m, o, p), nil
}

// compileForm compiles one form of m, the quick one if that is wanted and worth it, and keeps it in p.
func (d *Device) compileForm(ctx context.Context, m *nn.Model, o *prepareOptions, p keeper, quick bool) (backend.Executable, error) {
	b := o.Options
	b.Quick, b.Storable = quick, p != nil
	if o.Priority < nn.PriorityHigh {
		b.PauseWithin = d.giveWayWithin
	}
	start := time.Now()
	exe, err := d.backend.Compile(ctx, m, b)
	took := time.Since(start)
	if err != nil {
		d.log.Debug("a model was not compiled", "took", took, "quick", quick, "error", err)
		return nil, err
	}
	h := &d.counters.compile
	if quick = exe.Stats().Quick; quick {
		h = &d.counters.quick
	}
	h.observe(took)
	d.log.Debug("a model was compiled", "took", took, "quick", quick)
	if p == nil {
		return exe, nil
	}
	exe, err = p.keep(exe, quick)
	o.saving.done(err) // which costs the next start its speed, and this one nothing
	return exe, nil
}

// stage makes exe, which is the quick form of m, an executable that becomes the optimised one.
func (d *Device) stage(exe backend.Executable, m *ownModel, o *prepareOptions, p keeper) *staged {
	done := func() {}
	if p != nil {
		own, err := p.retain()
		if p = own; err != nil {
			d.cache.notKept(err)
			o.saving.done(err)
			p = nil
		} else {
			done = own.close
		}
	}
	m.retain()
	background := *o
	background.Pause = d.giveWay
	better := func(ctx context.Context) (backend.Executable, error) {
		if err := d.giveWay(ctx); err != nil {
			return nil, err
		}
		return d.compileForm(ctx, m.Model, &background, p, false)
	}
	free := func() {
		done()
		m.release()
	}
	return newStaged(exe, o.preparing.after, d.cache.background, better, free, d.log)
}
