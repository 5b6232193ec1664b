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
	StatusNone                        Status = 0 // NONE
	StatusDeviceUnavailable           Status = 1 // DEVICE_UNAVAILABLE
	StatusGeneralFailure              Status = 2 // GENERAL_FAILURE
	StatusOutputInsufficientSize      Status = 3 // OUTPUT_INSUFFICIENT_SIZE
	StatusInvalidArgument             Status = 4 // INVALID_ARGUMENT
	StatusMissedDeadlineTransient     Status = 5 // MISSED_DEADLINE_TRANSIENT
	StatusMissedDeadlinePersistent    Status = 6 // MISSED_DEADLINE_PERSISTENT
	StatusResourceExhaustedTransient  Status = 7 // RESOURCE_EXHAUSTED_TRANSIENT
	StatusResourceExhaustedPersistent Status = 8 // RESOURCE_EXHAUSTED_PERSISTENT
)

// ErrClosed is the cause in the errors of what was closed: those of its own calls, and of calls with it as an argument.
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
