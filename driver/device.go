// Package driver is the HAL: devices, clients, prepared models, executions.
//
// It checks models and requests, decides who runs when, and hands the rest to a backend, which the caller
// brings: driver never imports one. Statuses and rules are those of Android's NN HAL 1.3; every error that
// leaves the package maps to one by nn.StatusOf.
//
// Everything is safe for concurrent use. Ownership runs downwards: closing a client closes its prepared
// models; closing a device closes its clients. Closing twice is nothing, and what was closed says ErrClosed, as
// GENERAL_FAILURE; so does what belongs to it. Given to another call it is INVALID_ARGUMENT.
//
// A nil argument where something is needed, an interface that holds a nil pointer and a nil option are INVALID_ARGUMENT
// wherever there is an error to return. Methods need a receiver that a function of this package returned.
//
// Every call that takes a context refuses one that has ended before it does anything. However it ends, errors.Is tells
// context.Canceled, which the HAL calls GENERAL_FAILURE, and context.DeadlineExceeded, which is one of MISSED_DEADLINE_*,
// from other failures.
package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/internal/pools"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
	"github.com/nngpu/nngpu/qos"
)

// ErrClosed is the cause of every error of something that was closed.
var ErrClosed = nn.ErrClosed

// Device is one device with its clients.
type Device struct {
	backend   backend.Backend
	log       *slog.Logger
	counters  counters
	cache     *compiledCache
	scheduler *qos.Scheduler
	prepares  prepareRates
	buffers   bufferTable
	pools     *pools.Table
	closing   sync.Once

	mu      sync.Mutex
	clients map[*Client]bool // guarded by mu
	gone    error            // guarded by mu; why nothing begins: it is closed, or NewDevice was not given what it needs
	busy    sync.WaitGroup   // calls of the backend by no prepared model; added to under mu while open
}

// DeviceOption changes how a device works.
type DeviceOption func(*deviceOptions)

type deviceOptions struct {
	cache      CacheOptions
	scheduling SchedulingOptions
	log        *slog.Logger // nil: the default
	// trustedExternal: see WithTrustedExternalMemory.
	trustedExternal bool
}

// WithCache says where compiled models are kept between processes, or that they are not.
func WithCache(c CacheOptions) DeviceOption {
	return func(o *deviceOptions) { o.cache = c }
}

// WithTrustedExternalMemory says that all who hold a descriptor of a device's memory that comes to this process are
// trusted as the process itself is.
//
// It matters on software devices alone. Their opaque fds are plain files: what is written at the beginning of one, or
// its becoming shorter while it is in use, ends the process, and neither can be prevented. Without this option they
// take only what Buffer.Export of the same Device handed out, as long as that buffer lives, and refuse the rest.
func WithTrustedExternalMemory() DeviceOption {
	return func(o *deviceOptions) { o.trustedExternal = true }
}

// NewDevice returns a device that runs on b. It takes ownership of b.
//
// It opens nothing, so that only its arguments can be wrong: without a backend, or with a nil option, every call on the
// device that returns an error says so, NewClient first of all, with INVALID_ARGUMENT.
func NewDevice(b backend.Backend, opts ...DeviceOption) *Device {
	var o deviceOptions
	err := apply(opts, &o)
	if nn.IsNil(b) {
		b, err = noBackend{}, nn.NotNil("backend", nil)
	}
	log := newLogger(o.log, b)
	return &Device{
		backend: b, log: log, cache: newCompiledCache(b, o.cache, log), scheduler: newScheduler(b.Info().Type, o.scheduling),
		pools: pools.NewTable(b, o.trustedExternal), clients: map[*Client]bool{}, gone: err,
	}
}

// noBackend stands for one that is missing. Nothing is asked of it but what it is.
type noBackend struct{ backend.Backend }

func (noBackend) Info() backend.Info                { return backend.Info{} }
func (noBackend) LogTo(*slog.Logger)                {}
func (noBackend) Memory() (used, peak, limit int64) { return 0, 0, 0 }
func (noBackend) Close() error                      { return nil }

// apply lets opts change o. INVALID_ARGUMENT for one that is nil.
func apply[O any, F ~func(*O)](opts []F, o *O) error {
	for i, f := range opts {
		if f == nil {
			return nn.NotNil(fmt.Sprintf("option %d", i), nil)
		}
		f(o)
	}
	return nil
}

// checkContext refuses a context that is nil or has ended when a call begins.
func checkContext(what string, ctx context.Context) error {
	if nn.IsNil(ctx) {
		return nn.Invalid(what, "there is no context")
	}
	switch err := ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return nn.Errorf(nn.StatusMissedDeadlinePersistent, what, "%w", qos.ErrRefused)
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}

// Info describes the device.
func (d *Device) Info() backend.Info { return d.backend.Info() }

// SupportedOperations reports for each operation of m's main graph whether PrepareModel is sure to accept
// it; where it is not, reasons has the cause at the same place. A model that breaks a rule gives
// INVALID_ARGUMENT.
func (d *Device) SupportedOperations(m *nn.Model) (supported []bool, reasons []error, err error) {
	if err := d.enter(); err != nil {
		return nil, nil, err
	}
	defer d.busy.Done()
	own, unmapped := ownConstants(m, nil)
	if nn.StatusOf(unmapped) == nn.StatusInvalidArgument {
		return nil, nil, unmapped
	}
	if unmapped != nil { // no operation is sure to be accepted: the model is not
		n := len(m.Main.Operations)
		return make([]bool, n), slices.Repeat([]error{unmapped}, n), nil
	}
	defer own.release()
	if err := validate.Model(own.Model); err != nil {
		return nil, nil, err
	}
	reasons, err = d.supports(own.Model)
	if err != nil {
		return nil, nil, fmt.Errorf("supported operations: %w", err)
	}
	supported = make([]bool, len(reasons))
	for i, why := range reasons {
		supported[i] = why == nil
	}
	return supported, reasons, nil
}

// enter keeps the backend open until busy.Done is called.
func (d *Device) enter() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone != nil {
		return d.gone
	}
	d.busy.Add(1)
	return nil
}

// Close closes all clients, waits for the calls that are going on, then frees the device. Idempotent.
//
// Fenced executions are waited for as well. One whose wait fence is never signalled, without a deadline and with a
// context that never ends, holds Close up for ever: signal the fence with an error, or cancel the context, before.
func (d *Device) Close() (err error) {
	d.closing.Do(func() {
		d.mu.Lock()
		clients := maps.Clone(d.clients)
		d.gone = closed("device")
		d.mu.Unlock()
		var errs []error
		for c := range clients {
			errs = append(errs, c.Close())
		}
		d.busy.Wait()
		err = errors.Join(append(errs, d.pools.Close(), d.backend.Close())...)
	})
	return err
}

func closed(what string) error {
	return &nn.Error{Status: nn.StatusGeneralFailure, Where: what, Err: ErrClosed}
}

// Option changes how a model is prepared.
type Option func(*prepareOptions)

type prepareOptions struct {
	backend.Options
	files     *cacheFiles // nil: none
	preparing preparing
	deadline  time.Time // zero: none
	start     time.Time // of the call
	saving    *saving
}

// WithPrepareDeadline says when the preparation must have ended. It is refused where it is expected to take longer: where
// a cache may have the model, at once if loading it takes longer by what loading has taken on this device, and if it is
// not there, before it is compiled. MISSED_DEADLINE_PERSISTENT says that the deadline had passed at the call, or that no
// preparation like it was ever as quick; all else is MISSED_DEADLINE_TRANSIENT, and it is given up with that when it
// takes longer than expected. The context's deadline counts too, the nearer of both.
func WithPrepareDeadline(t time.Time) Option {
	return func(o *prepareOptions) { o.deadline = t }
}

// WithPreference says what to optimise for. The default is nn.FastSingleAnswer.
func WithPreference(p nn.Preference) Option {
	return func(o *prepareOptions) { o.Preference = p }
}

// WithPriority orders the model's executions among those of the same client. The default is
// nn.PriorityMedium.
func WithPriority(p nn.Priority) Option {
	return func(o *prepareOptions) { o.Priority = p }
}

// PrepareModel compiles m, or takes it from the cache. ctx bounds the compilation. The main graph and the pools
// of m are retained and must not change. Where it leaves dimensions of its inputs open, what is returned is a template: m
// is checked as far as that is possible without them, and executions compile it for theirs (see WithInstances). Its values
// and its nn.HostMemory are then retained, and must not change, and what was copied of its pools stays in memory and in the
// client's account.
//
// The bytes in the pools may change at any time: constants that others could write, which is all but nn.HostMemory and
// nn.Sealed, are copied before anything looks at them, and the copy counts in the client's budget until the model is
// compiled.
//
// Errors: INVALID_ARGUMENT for what is wrong with m, its pools or an option; GENERAL_FAILURE for a pool that cannot be
// mapped, and context.Canceled where ctx was cancelled; MISSED_DEADLINE_* as WithPrepareDeadline says, where ctx ended by
// its deadline too; RESOURCE_EXHAUSTED_*; DEVICE_UNAVAILABLE.
func (c *Client) PrepareModel(ctx context.Context, m *nn.Model, opts ...Option) (_ *PreparedModel, err error) {
	start := time.Now()
	o, leave, err := c.enterPrepare(ctx, opts)
	if err != nil {
		return nil, err
	}
	defer leave()
	defer func() { c.device.counters.prepareEnded(err) }()
	pm, err := c.prepare(ctx, m, o, start)
	if err != nil {
		return nil, err
	}
	return c.adopt(pm, o.Priority)
}

// prepare does the work of PrepareModel, but for the account of what it returns.
func (c *Client) prepare(ctx context.Context, m *nn.Model, o *prepareOptions, start time.Time) (*PreparedModel, error) {
	own, err := ownConstants(m, c)
	if err != nil {
		return nil, err
	}
	defer own.release()
	if err := validate.Model(own.Model); err != nil {
		return nil, err
	}
	dims, err := outputDims(own.Model)
	if err != nil {
		return nil, err
	}
	pm := &PreparedModel{
		client: c, signature: signatureOf(m), own: own, needed: validate.Needed(own.Model), outputs: dims, saving: o.saving,
	}
	if validate.Open(own.Model) {
		return pm, pm.makeTemplate(o)
	}
	rates := &c.device.prepares
	cost := rates.cost(own.Model)
	if c.device.loads(o) {
		if err := rates.canLoad(cost, o); err != nil {
			return nil, fmt.Errorf("prepare model: %w", err)
		}
	}
	ctx, cancel := withDeadline(ctx, o.deadline)
	defer cancel()
	exe, status, err := c.device.compileFor(ctx, own, o)
	if err != nil {
		return nil, fmt.Errorf("prepare model: %w", err)
	}
	switch {
	case o.preparing.delayed:
	case status == CacheHit:
		rates.loaded(cost, time.Since(start))
	default:
		rates.observe(own.Model, cost, time.Since(start))
	}
	pm.only = &instance{exe: exe, kept: status}
	return pm, nil
}

// withDeadline is context.WithDeadline, where there is a deadline.
func withDeadline(ctx context.Context, t time.Time) (context.Context, context.CancelFunc) {
	if t.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, t)
}

// enterPrepare decodes and checks options and keeps the backend open until leave is called.
func (c *Client) enterPrepare(ctx context.Context, opts []Option) (o *prepareOptions, leave func(), err error) {
	if c.isClosed() {
		return nil, nil, closed("client")
	}
	o = &prepareOptions{
		start: time.Now(), saving: &saving{}, Options: backend.Options{Preference: nn.FastSingleAnswer, Priority: nn.PriorityMedium},
	}
	if err := apply(opts, o); err != nil {
		return nil, nil, err
	}
	if err := cmp.Or(validate.Preference(o.Preference), validate.Priority(o.Priority), checkContext("preparation", ctx)); err != nil {
		return nil, nil, err
	}
	if t, ok := ctx.Deadline(); ok && (o.deadline.IsZero() || t.Before(o.deadline)) {
		o.deadline = t
	}
	if err := checkDeadline("preparation", o.deadline, o.start); err != nil {
		return nil, nil, err
	}
	if err := c.device.enter(); err != nil {
		return nil, nil, err
	}
	return o, c.device.busy.Done, nil
}

// adopt makes pm, which has what it runs on, a prepared model of c. It takes ownership.
func (c *Client) adopt(pm *PreparedModel, priority nn.Priority) (*PreparedModel, error) {
	pm.priority = priority
	if x := pm.only; x != nil {
		_, late := x.exe.(*delayed)
		bytes := x.size()
		if err := c.takeBeside(pm.own.held(), bytes, "model"); err != nil {
			return nil, errors.Join(err, x.exe.Close())
		}
		x.bytes, x.counted = bytes, !late
	}
	c.mu.Lock()
	if c.models != nil {
		c.models[pm] = true
		c.mu.Unlock()
		return pm, nil
	}
	c.mu.Unlock()
	return nil, errors.Join(closed("client"), pm.free())
}

// outputDims returns the dimensions of each output, where the model leaves them open those that its inputs
// give.
func outputDims(m *nn.Model) ([]nn.Dims, error) {
	dims, err := validate.Shapes(m)
	if err != nil {
		return nil, err
	}
	var out []nn.Dims
	for _, index := range m.Main.Outputs {
		out = append(out, dims[index])
	}
	return out, nil
}
