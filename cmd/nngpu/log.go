package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
)

// logHandler shows what the library logs as the command's own words: warnings in a line each, everything with -v.
type logHandler struct{ app *app }

func (a *app) logger() *slog.Logger { return slog.New(logHandler{a}) }

// Enabled implements slog.Handler.
func (h logHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || h.app.verbose || h.app.events != nil
}

// Handle implements slog.Handler.
func (h logHandler) Handle(_ context.Context, r slog.Record) error {
	var text strings.Builder
	text.WriteString(r.Message)
	var more []string
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" {
			text.WriteString(fmt.Sprintf(": %v", a.Value))
		} else {
			more = append(more, fmt.Sprintf("%s %v", strings.ReplaceAll(a.Key, "_", " "), a.Value))
		}
		return true
	})
	if len(more) > 0 {
		text.WriteString(fmt.Sprintf(" (%s)", strings.Join(more, ", ")))
	}
	line := console.OneLine(text.String())
	h.app.events.Add(&r, line)
	if r.Level >= slog.LevelWarn {
		h.app.warn("%s", line)
	} else {
		h.app.note("%s", line)
	}
	return nil
}

// WithAttrs implements slog.Handler. A command uses one device, so that its name, which all messages have, is noise.
func (h logHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(string) slog.Handler { return h }
