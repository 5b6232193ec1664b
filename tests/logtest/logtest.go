// Package logtest gives tests what the driver logs.
package logtest

import (
	"context"
	"log/slog"
)

// Warning is a message of slog.LevelWarn or above. Err is its attribute "error", nil where it has none or one of another
// type.
type Warning struct {
	Message string
	Err     error
}

// New returns a logger that hands warnings to f, from whatever goroutine they come, and drops the rest.
func New(f func(Warning)) *slog.Logger { return slog.New(handler(f)) }

type handler func(Warning)

func (h handler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (h handler) Handle(_ context.Context, r slog.Record) error {
	w := Warning{Message: r.Message}
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok && a.Key == "error" {
			w.Err = err
		}
		return true
	})
	h(w)
	return nil
}

func (h handler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h handler) WithGroup(string) slog.Handler      { return h }
