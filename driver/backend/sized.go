package backend

import "github.com/nngpu/nngpu/driver/nn"

// Sized is an Execution of a model some of whose outputs have dimensions that only the data tells: what the model leaves open
// of them although the dimensions of all inputs are known.
type Sized interface {
	Execution
	// OutputDims has the dimensions of each output as far as they are known; nil of those that are not yet. All are
	// after the end, and those of an execution that ended with OUTPUT_INSUFFICIENT_SIZE as far as they were computed.
	// They are valid until Release, and neither contradict what the model says of the output nor leave a known one open.
	//
	// Where an output has more bytes than are bound, or its dimensions are not those of the memory that it is bound to,
	// the execution ends with OUTPUT_INSUFFICIENT_SIZE before anything of that output is written: an error of Submit, of
	// Finish, or of Next of a Continuing. It goes on before, as far as it can without writing beyond what is bound, until
	// the dimensions of all outputs are known.
	OutputDims() []nn.Dims
}
