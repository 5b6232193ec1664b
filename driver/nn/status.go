package nn

import (
	"context"
	"errors"
	"fmt"
)

// Status is the result that a client of the HAL sees; values are the HAL's ErrorStatus.
type Status int32

// Statuses of NN HAL 1.3.
const (
	StatusNone                        Status = 0
	StatusDeviceUnavailable           Status = 1
	StatusGeneralFailure              Status = 2
	StatusOutputInsufficientSize      Status = 3
	StatusInvalidArgument             Status = 4
	StatusMissedDeadlineTransient     Status = 5
	StatusMissedDeadlinePersistent    Status = 6
	StatusResourceExhaustedTransient  Status = 7
	StatusResourceExhaustedPersistent Status = 8
)

var statusNames = [...]string{
	"NONE", "DEVICE_UNAVAILABLE", "GENERAL_FAILURE", "OUTPUT_INSUFFICIENT_SIZE", "INVALID_ARGUMENT",
	"MISSED_DEADLINE_TRANSIENT", "MISSED_DEADLINE_PERSISTENT",
	"RESOURCE_EXHAUSTED_TRANSIENT", "RESOURCE_EXHAUSTED_PERSISTENT",
}

func (s Status) String() string {
	if s >= 0 && int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("Status(%d)", int32(s))
}

// ErrClosed is the cause of every error of something that was closed: of its own calls, and of calls that it is given to.
var ErrClosed = errors.New("closed")

// Error pairs the status a client sees with the cause a developer needs.
type Error struct {
	Status Status
	Where  string // "operation 3 (CONV_2D)": what was refused, not the Go function
	Err    error  // never nil
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %v", e.Where, e.Status, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an *Error whose cause is formatted as by fmt.Errorf.
func Errorf(s Status, where, format string, args ...any) error {
	return &Error{Status: s, Where: where, Err: fmt.Errorf(format, args...)}
}

// Invalid is Errorf with INVALID_ARGUMENT, the status of every client mistake.
func Invalid(where, format string, args ...any) error {
	return Errorf(StatusInvalidArgument, where, format, args...)
}

// StatusOf is the only mapping from an error to a status: the outermost *Error wins, a deadline that
// passed is MISSED_DEADLINE_TRANSIENT, anything else GENERAL_FAILURE, and nil NONE.
//
// The HAL has no status for a cancelled context: it is GENERAL_FAILURE, and errors.Is(err, context.Canceled) tells it
// from other failures.
func StatusOf(err error) Status {
	if err == nil {
		return StatusNone
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return StatusMissedDeadlineTransient
	}
	return StatusGeneralFailure
}
