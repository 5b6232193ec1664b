package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// Exit codes; docs/command.md and the help text list them.
const (
	exitOK          = 0
	exitWrong       = 1   // a result differs from what was expected
	exitUsage       = 2   // the command line, or a file it names, is wrong
	exitRefused     = 3   // the model is sound but refused, or the device cannot be used
	exitInterrupted = 130 // 128 + SIGINT, as shells report it
)

// exitError is an error that decides the exit code.
type exitError struct {
	code   int
	status string // for JSON; empty for that of err
	err    error
}

func (e *exitError) Error() string { return e.err.Error() }

func (e *exitError) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

func wrongResult(format string, args ...any) error {
	return &exitError{code: exitWrong, err: fmt.Errorf(format, args...)}
}

// fileError is a usage error about a file that cannot be read or written: the path once, and why.
func fileError(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		if pe.Path == "" {
			return usageError("the name of a file or folder is empty")
		}
		return usageError("%s: %w", pe.Path, pe.Err)
	}
	return usageError("%w", err)
}

// failure is the JSON of an error; its field names are an interface.
type failure struct {
	Error  string `json:"error"`
	Status string `json:"status"`
}

// describe turns err into what is reported, and the exit code.
func (a *app) describe(ctx context.Context, err error) (failure, int) {
	code, status := exitRefused, ""
	var e *exitError
	switch known := errors.As(err, &e); {
	case ctx.Err() != nil && !(known && e.code == exitWrong):
		return failure{"interrupted", nn.StatusGeneralFailure.String()}, exitInterrupted
	case known:
		code, status = e.code, e.status
	case !a.started:
		code = exitUsage
	}
	if status == "" {
		status = nn.StatusOf(err).String()
		if code == exitUsage && nn.StatusOf(err) == nn.StatusGeneralFailure {
			status = nn.StatusInvalidArgument.String()
		}
	}
	message := console.OneLine(err.Error())
	if h := a.hint(err); h != "" && code == exitRefused {
		message += "; " + h
	}
	return failure{message, status}, code
}

// report tells err on one line (or as JSON) and returns the exit code.
func (a *app) report(ctx context.Context, err error) int {
	f, code := a.describe(ctx, err)
	if (a.json || !a.started && wantsJSON(a.args)) && !a.printed {
		_ = console.JSON(a.out, f, "")
	} else {
		console.Lines(a.err, "nngpu: "+refusalLines(f.Error, err))
	}
	return code
}

// refusalLines puts each reason why operations are not supported on a line of its own.
func refusalLines(message string, err error) string {
	var u *nn.UnsupportedError
	if !errors.As(err, &u) {
		return message
	}
	lines := u.Reasons()
	for i := range lines {
		lines[i] = console.OneLine(lines[i])
	}
	return strings.Replace(message, ": "+strings.Join(lines, "; "), ":\n  "+strings.Join(lines, "\n  "), 1)
}

// hint says what to do about an error that is not one of the command line, whose message says it itself.
func (a *app) hint(err error) string {
	var unsupported *importer.UnsupportedError
	switch status := nn.StatusOf(err); {
	case errors.As(err, &unsupported):
		return "convert the model without what is named"
	case errors.Is(err, vk.ErrNoLoader):
		return "" // says what to install
	case errors.Is(err, vk.ErrIncompatibleDriver):
		if v := os.Getenv("NNGPU_LAVAPIPE"); v != "" && strings.EqualFold(a.device, lavapipe) {
			return fmt.Sprintf("NNGPU_LAVAPIPE=%s is used instead of what is installed: correct or unset it", v)
		}
		for _, name := range []string{"VK_DRIVER_FILES", "VK_ICD_FILENAMES"} {
			if v := os.Getenv(name); v != "" {
				return fmt.Sprintf("%s=%s keeps other drivers out: correct or unset it", name, v)
			}
		}
		if _, err := os.Stat("/proc/driver/nvidia/version"); err == nil {
			return "NVIDIA's driver does not start without the libraries of glvnd, even where there is no display: install them (Debian: libegl1, libgl1)"
		}
		return "install a Vulkan driver (Debian: mesa-vulkan-drivers)"
	case status == nn.StatusDeviceUnavailable:
		return "nngpu info lists the devices"
	case status == nn.StatusResourceExhaustedPersistent || status == nn.StatusResourceExhaustedTransient:
		if a.budget > 0 {
			return "raise --memory-budget"
		}
		return "choose another device; nngpu info lists them"
	}
	return ""
}
