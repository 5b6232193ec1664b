package backend

import "log/slog"

// Logging is a Backend that meets trouble of which no caller is told: the loss of a device, messages of validation
// layers.
type Logging interface {
	// LogTo says where that goes. It is called at most once, before all methods but Info. A handler is called from any
	// goroutine, with locks held: it must not call the backend, nor the driver.
	LogTo(l *slog.Logger)
}
