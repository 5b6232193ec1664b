// Package driver is the HAL: devices, clients, prepared models, executions.
//
// It checks models and requests, decides who runs when, and hands the rest to a backend, which the caller
// brings: driver never imports one. Statuses and rules are those of Android's NN HAL 1.3; every error that
// leaves the package maps to one by nn.StatusOf.
//
// Everything is safe for concurrent use. Ownership runs downwards: closing a client closes its prepared models; closing
// a device closes its clients. Closing twice does nothing. Calls on what was closed, and on what belongs to it, fail
// with ErrClosed, a GENERAL_FAILURE; a closed object as the argument of another call is INVALID_ARGUMENT.
//
// A nil argument where something is needed, an interface that holds a nil pointer and a nil option are INVALID_ARGUMENT
// wherever there is an error to return. Methods need a receiver that a function of this package returned.
//
// Every call that takes a context fails at once when that has ended already. Whenever it ends, errors.Is finds in the
// error context.Canceled, which the HAL calls GENERAL_FAILURE, or context.DeadlineExceeded, which is one of
// MISSED_DEADLINE_*.
package driver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/internal/pools"
	"github.com/nngpu/nngpu/driver/internal/prepare"
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
	scheduler *qos.Scheduler
	buffers   bufferTable
	pools     *pools.Table
	closing   sync.Once

	preparations *prepare.Device

	mu      sync.Mutex
	clients map[*Client]bool // guarded by mu
	gone    error            // guarded by mu; why nothing begins: it is closed, or NewDevice was not given what it needs
	busy    sync.WaitGroup   // calls of the backend by no prepared model; added to under mu while open
}

// DeviceOption changes how a device works.
type DeviceOption func(*deviceOptions)

type deviceOptions struct {
	cache      cache.Options
	scheduling SchedulingOptions
	log        *slog.Logger // nil: the default
	// trustedExternal: see WithTrustedExternalMemory.
	trustedExternal bool
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
	d := &Device{
		backend: b, log: log, scheduler: newScheduler(b.Info().Type, o.scheduling),
		pools: pools.NewTable(b, o.trustedExternal), clients: map[*Client]bool{}, gone: err,
	}
	d.preparations = prepare.NewDevice(b, log, d.scheduler, &d.counters, o.cache)
	return d
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
	own, unmapped := prepare.Own(m, nil)
	if nn.StatusOf(unmapped) == nn.StatusInvalidArgument {
		return nil, nil, unmapped
	}
	if unmapped != nil { // no operation is sure to be accepted: the model is not
		n := len(m.Main.Operations)
		return make([]bool, n), slices.Repeat([]error{unmapped}, n), nil
	}
	defer own.Release()
	if err := validate.Model(own.Model); err != nil {
		return nil, nil, err
	}
	reasons, err = d.preparations.Supports(own.Model)
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

// WithLogger says where warnings go: they report what costs time, or could not be kept, while calls succeed and return
// no error. There are few: a cache that cannot work here, whose state was damaged or in which a model could not be kept
// (each at most once), a compiled model that a cache refused, one that could not be optimised in the background or
// outgrew its client's budget, a device that was lost or opened again, and messages of the validation layers. What a
// call reports as an error is not logged as well.
//
// Messages have the attribute "device", and "error" where there is one. The default is slog.Default() at the time of
// NewDevice; slog.New(slog.DiscardHandler) is silent. The handler is called from any goroutine, with locks held: it
// must not call this package.
func WithLogger(l *slog.Logger) DeviceOption {
	return func(o *deviceOptions) { o.log = l }
}

// newLogger is l, or the default, with what all messages of a device on b have.
func newLogger(l *slog.Logger, b backend.Backend) *slog.Logger {
	if l == nil {
		l = slog.Default()
	}
	l = l.With("device", b.Info().Name)
	b.LogTo(l)
	return l
}

// ErrUnsupported is found by errors.Is in the error of a preparation whose model is valid, but has operations that the
// device does not run; errors.As finds the UnsupportedError, which lists them with the reasons. The status is
// GENERAL_FAILURE; a model that breaks a rule is INVALID_ARGUMENT, whatever else it has.
var ErrUnsupported = nn.ErrUnsupported

// UnsupportedError lists the operations of a valid model that the device does not run.
type UnsupportedError = nn.UnsupportedError
