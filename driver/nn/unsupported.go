package nn

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUnsupported marks the refusal of a model that is valid, but has operations that a device does not run. Its status
// is GENERAL_FAILURE. The error is an *UnsupportedError, which lists them.
var ErrUnsupported = errors.New("operations are not supported")

// UnsupportedError lists what a device does not run of the main graph of a valid model. errors.Is says that it is
// ErrUnsupported, and each of the reasons.
type UnsupportedError struct {
	Total      int // operations of the graph
	Operations []UnsupportedOperation
}

// UnsupportedOperation is an operation that a device does not run.
type UnsupportedOperation struct {
	Index  int // in the main graph
	Type   OperationType
	Reason error // never nil
}

// Unsupported makes the error for the operations of m that a backend does not run, nil where it runs all. reasons has
// an entry for each operation of the main graph, nil for one that runs.
func Unsupported(m *Model, reasons []error) error {
	if err := NotNil("model", m); err != nil {
		return err
	}
	e := &UnsupportedError{Total: len(reasons)}
	for i, why := range reasons {
		if why != nil {
			e.Operations = append(e.Operations, UnsupportedOperation{i, m.Main.Operations[i].Type, why})
		}
	}
	if len(e.Operations) == 0 {
		return nil
	}
	return &Error{Status: StatusGeneralFailure, Where: "model", Err: e}
}

// Summary counts the operations, without the reasons.
func (e *UnsupportedError) Summary() string {
	return fmt.Sprintf("%d of %d operations not supported", len(e.Operations), e.Total)
}

// Reasons has a line for each type of operation and reason, in the order of the first such operation.
func (e *UnsupportedError) Reasons() []string {
	type kind struct {
		t   OperationType
		why string
	}
	count := map[kind]int{}
	var order []UnsupportedOperation
	for _, op := range e.Operations {
		k := kind{op.Type, op.Reason.Error()}
		if count[k]++; count[k] == 1 {
			order = append(order, op)
		}
	}
	var lines []string
	for _, op := range order {
		what := fmt.Sprintf("operation %d (%v)", op.Index, op.Type)
		if n := count[kind{op.Type, op.Reason.Error()}]; n > 1 {
			what = fmt.Sprintf("%d times %v, first operation %d", n, op.Type, op.Index)
		}
		lines = append(lines, what+": "+op.Reason.Error())
	}
	return lines
}

func (e *UnsupportedError) Error() string {
	return e.Summary() + ": " + strings.Join(e.Reasons(), "; ")
}

// Is makes errors.Is find ErrUnsupported.
func (e *UnsupportedError) Is(target error) bool { return target == ErrUnsupported }

// Unwrap gives the reasons.
func (e *UnsupportedError) Unwrap() []error {
	var all []error
	for _, op := range e.Operations {
		all = append(all, op.Reason)
	}
	return all
}
