package prepare

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// Form is one executable of a model, with what is known of it.
type Form struct {
	backend.Executable
	Est  *qos.Estimator // of its executions
	Runs atomic.Int64   // executions that ended well

	quick     bool           // it gives way to a better one
	entry     *entry         // its place in the transparent cache; nil: none
	beginning sync.WaitGroup // calls of Begin; added to under the instance's mutex while it is the current form
}

func newForm(exe backend.Executable, quick bool) *Form {
	return &Form{Executable: exe, Est: qos.NewEstimator(exe.Estimates()), quick: quick}
}

const (
	// enoughRuns is how often a model has to run before the times of its segments are worth keeping.
	enoughRuns = 5
	// newsworthy is the factor by which the times must differ from those that are kept already.
	newsworthy = 1.25
)

// keepLearned keeps the execution times in the transparent cache, if they are news. Precondition: f is open.
func (f *Form) keepLearned(d *Device) {
	if f == nil || f.Runs.Load() < enoughRuns {
		return
	}
	learned := f.Est.Segments()
	was, is := sum(f.Estimates()), sum(learned)
	if is < time.Duration(float64(was)*newsworthy) && was < time.Duration(float64(is)*newsworthy) {
		return
	}
	f.keepEstimates(d, learned)
}

// keepEstimates notes what was learned in the entry, if there is a time for each segment, else nothing. That takes
// reading and writing the model part; a failure costs the next process what was learned.
func (f *Form) keepEstimates(d *Device, learned []time.Duration) {
	s, ok := f.Executable.(backend.Storer)
	if !ok || f.entry == nil || len(learned) == 0 {
		return
	}
	s.SetEstimates(learned)
	if err := f.entry.update(s); err != nil && !errors.Is(err, cache.ErrUnavailable) { // the cache itself logs that one
		d.log.Warn("what was learned of a model's execution times is not kept", "error", err)
	}
}

// entry is where a form lies in the transparent cache.
type entry struct {
	store *cache.Store
	key   cache.Key
	sum   [sha256.Size]byte // of the model part that lies there
	once  sync.Once
}

// update rewrites the model part, once, unless something else is there by now.
func (e *entry) update(s backend.Storer) (err error) {
	e.once.Do(func() {
		var model []byte
		if model, err = s.StoreModel(); err != nil || sha256.Sum256(model) == e.sum {
			return
		}
		err = e.store.UpdateModel(e.key, func(old []byte) []byte {
			if sha256.Sum256(old) != e.sum {
				return nil
			}
			return model
		})
		if errors.Is(err, cache.ErrMiss) || errors.Is(err, cache.ErrRejected) {
			err = nil // somebody removed it
		}
	})
	return err
}

func sum(list []time.Duration) (total time.Duration) {
	for _, d := range list {
		total += d
	}
	return total
}

// compile compiles one form of m, the quick one if that is wanted and worth it, and keeps it in s, which may be nil.
func (d *Device) compile(ctx context.Context, m *nn.Model, o *Options, s store, quick bool) (*Form, error) {
	b := o.Options
	b.Quick, b.Storable = quick, s != nil
	if o.Priority < nn.PriorityHigh {
		b.PauseWithin = giveWay(d.scheduler.IdleButOne, shortPatience)
	}
	start := time.Now()
	exe, err := d.backend.Compile(ctx, m, b)
	took := time.Since(start)
	if err != nil {
		d.log.Debug("a model was not compiled", "took", took, "quick", quick, "error", err)
		return nil, err
	}
	f := newForm(exe, exe.Stats().Quick)
	d.counts.Compiled(f.quick, took)
	d.log.Debug("a model was compiled", "took", took, "quick", f.quick)
	if s != nil {
		o.Saved.done(s.keep(f)) // a failure makes the next start slower, but not this one
	}
	return f, nil
}

// restore makes a form of a cache's entry e and closes e.
func (d *Device) restore(ctx context.Context, e *cache.Entry, o backend.Options) (*Form, error) {
	defer e.Close() // files that were only read: nothing can be lost
	start := time.Now()
	exe, err := d.restorer.Restore(ctx, e.Model, e.Data, o)
	took := time.Since(start)
	d.log.Debug("a model was brought back from the cache", "took", took, "failed", err != nil)
	if err != nil {
		return nil, err
	}
	d.counts.Restored(took)
	return newForm(exe, o.Quick), nil
}

// make gives m its first form: the one in its store, else one that is compiled. next, if not nil, is the work that
// makes a better one in the background. make refuses what would be late.
func (d *Device) make(ctx context.Context, m *Source, o *Options) (f *Form, status Status, next *improvement, err error) {
	status = Off
	s, err := d.storeFor(m, o)
	if err != nil {
		return nil, status, nil, err
	}
	if s != nil {
		if f, status, err = s.load(ctx, o.Staged); err != nil {
			return nil, status, nil, err
		}
	}
	if f != nil {
		o.Saved.done(nil)
	} else {
		if err = d.rates.canCompile(m.Model, o); err == nil {
			f, err = d.compile(ctx, m.Model, o, s, o.Staged)
		}
		if err != nil {
			return nil, status, nil, err
		}
	}
	if f.quick {
		next = d.improve(m, o, s)
	}
	d.counts.Prepared(status)
	return f, status, next, nil
}

// improvement is the compilation of a better form in the background.
type improvement struct {
	device  *Device
	source  *Source
	options Options
	store   store // its own; nil: none
}

// improve returns the improvement of m's form, which holds what it needs until close.
func (d *Device) improve(m *Source, o *Options, s store) *improvement {
	n := &improvement{device: d, source: m.Retain(), options: *o}
	n.options.Pause = giveWay(d.scheduler.Idle, patience)
	if s != nil {
		var err error
		if n.store, err = s.retain(); err != nil {
			d.notKept(err)
			o.Saved.done(err)
			n.store = nil
		}
	}
	return n
}

// run compiles, when it is its turn.
func (n *improvement) run(ctx context.Context) (*Form, error) {
	d := n.device
	select {
	case d.background <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-d.background }()
	if err := n.options.Pause(ctx); err != nil {
		return nil, err
	}
	return d.compile(ctx, n.source.Model, &n.options, n.store, false)
}

func (n *improvement) close() {
	if n.store != nil {
		n.store.close()
	}
	n.source.Release()
}
