// Package prepare makes models ready to run. A preparation goes from the source, the model with constants that nobody
// else can change, by way of forms, which are executables, to a store, which keeps a form for the next time:
//
//	Source --compile--> Form (quick) --compile in the background--> Form (optimised)
//	                      |  ^                                        |
//	                     keep |load                                  keep
//	                      v  |                                        v
//	                     store: an entry of the transparent cache, or files of the client
//
// An Instance is a model on that way, in one of these states: it has no form yet, because it was delayed or is an
// instance of a template; it is being compiled; it has a quick form; it has the form that stays; it has ended. A Model
// is what the client prepared: one instance, or a template that has one for each list of dimensions that executions
// bring.
//
// It knows no request: the caller that executes asks an instance for its form and begins executions on it.
package prepare

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"sync"
	"time"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/qos"
)

// Status says what a cache did for a model.
type Status string

// Statuses; driver.CacheStatus says what they mean.
const (
	Off      Status = "off"
	Hit      Status = "hit"
	Miss     Status = "miss"
	Rejected Status = "rejected"
)

// Counts is told what preparations do.
type Counts interface {
	// Compiled: a form was compiled, which took that long; Restored: one was loaded.
	Compiled(quick bool, took time.Duration)
	Restored(took time.Duration)
	// Prepared: a model has its first form, with this status of the cache.
	Prepared(Status)
	// Ended: a preparation that was put off has ended, with err nil if it went well.
	Ended(err error)
}

// Device is what the preparations on one device share. Safe for concurrent use.
type Device struct {
	backend   backend.Backend
	log       *slog.Logger
	scheduler *qos.Scheduler
	counts    Counts
	rates     rates

	// Of caches.
	restorer   backend.Restorer // nil: the backend cannot store
	off        bool             // there is no transparent cache
	open       func() (*cache.Store, error)
	keeping    sync.Once
	background chan struct{} // holds an element while a form is compiled in the background: one at a time
}

// NewDevice returns a device on b. o says where the transparent cache is; identity and warnings are filled in.
func NewDevice(b backend.Backend, log *slog.Logger, s *qos.Scheduler, counts Counts, o cache.Options) *Device {
	d := &Device{backend: b, log: log, scheduler: s, counts: counts, off: o.Off, background: make(chan struct{}, 1)}
	d.restorer, _ = b.(backend.Restorer)
	d.open = sync.OnceValues(func() (*cache.Store, error) {
		// The identity, of any length, covers program, kernels, device and Vulkan driver.
		build := sha256.Sum256([]byte(d.restorer.StoreIdentity()))
		o.Warn = func(err error) { log.Warn("the cache does not work as it should", "error", err) }
		o.Identity = cache.Identity{Device: b.Info().Name, Build: hex.EncodeToString(build[:])}
		return cache.Open(o)
	})
	return d
}

// notKept logs the first compiled model that could not be kept for a reason that the cache does not know.
func (d *Device) notKept(err error) {
	d.keeping.Do(func() { d.log.Warn("a compiled model is not kept", "error", err) })
}

// refused logs a compiled model that was in the cache but cannot be used.
func (d *Device) refused(err error) {
	d.log.Warn("a compiled model was refused by the cache and is compiled anew", "error", err)
}

const (
	// firstResult is how long the first execution of a quick form, which is to have the device and the processors to
	// itself, is waited for.
	firstResult = time.Second
	// patience is how long work in the background waits for the device to be idle, and shortPatience how long work
	// waits that an execution needs.
	patience      = time.Second
	shortPatience = patience / 10
)

// giveWay is backend.Options.Pause: it waits for idle, which is a method of the scheduler, but no longer than patience.
func giveWay(idle func(context.Context) error, patience time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		waiting, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		_ = idle(waiting) // if it fails, it has waited long enough
		return ctx.Err()
	}
}

// isIdle reports whether no execution waits or runs on the device.
func (d *Device) isIdle() bool {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	return d.scheduler.Idle(now) == nil
}

// WithDeadline is context.WithDeadline if there is a deadline.
func WithDeadline(ctx context.Context, t time.Time) (context.Context, context.CancelFunc) {
	if t.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, t)
}

// isFull reports whether there would be room if others gave way.
func isFull(err error) bool {
	return err != nil && nn.StatusOf(err) == nn.StatusResourceExhaustedTransient
}

// exhausted reports whether trying again in another way cannot help.
func exhausted(err error) bool {
	switch nn.StatusOf(err) {
	case nn.StatusResourceExhaustedTransient, nn.StatusResourceExhaustedPersistent, nn.StatusDeviceUnavailable:
		return true
	}
	return false
}

func closed(what string) error {
	return &nn.Error{Status: nn.StatusGeneralFailure, Where: what, Err: nn.ErrClosed}
}
