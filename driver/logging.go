package driver

import (
	"log/slog"

	"github.com/nngpu/nngpu/driver/backend"
)

// WithLogger says where warnings go: of trouble that costs time, or what was to be kept, while calls succeed, so that no
// error tells of it. There are few: a cache that cannot work here, whose state was damaged or in which a
// model could not be kept (each at most once), a compiled model that a cache refused, one that could not be optimised in
// the background or outgrew its client's budget, a device that was lost or opened again, and messages of the validation
// layers. What a call reports as an error is not logged as well.
//
// Messages have the attribute "device", and "error" where there is one. The default is slog.Default() as it is when
// NewDevice is called, as a program expects that has set it up; slog.New(slog.DiscardHandler) is silent. The handler is
// called from any goroutine, with locks held: it must not call this package.
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
