package driver

import "github.com/nngpu/nngpu/driver/nn"

// ErrUnsupported is found by errors.Is in the error of a preparation whose model is valid, but has operations that the
// device does not run; errors.As finds the UnsupportedError, which lists them with the reasons. The status is
// GENERAL_FAILURE; a model that breaks a rule is INVALID_ARGUMENT, whatever else it has.
var ErrUnsupported = nn.ErrUnsupported

// UnsupportedError lists the operations of a valid model that the device does not run.
type UnsupportedError = nn.UnsupportedError
