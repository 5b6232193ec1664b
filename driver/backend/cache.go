package backend

import (
	"context"
	"io"
	"time"
)

// Storer is an Executable whose compiled form can be kept outside of the process.
type Storer interface {
	// Store returns the two parts of the compiled form. model may steer execution and must be verified before
	// it comes back to Restore; data is constants only. Neither may be changed.
	Store() (model, data []byte, err error)
	// SetEstimates replaces Estimates, for this process and for what is stored from now on. What is not one time
	// above 0 and of at most MaxEstimate for each segment is ignored. list is not retained.
	SetEstimates(list []time.Duration)
	// StoreModel returns what Store would return for model, without reading back the data.
	StoreModel() (model []byte, err error)
}

// MaxEstimate bounds an estimate of one segment.
const MaxEstimate = time.Hour

// Restorer is a Backend that takes back what a Storer gave.
type Restorer interface {
	// StoreIdentity names everything that a stored form depends on: version of this program, kernels, device
	// and Vulkan driver. A form stored under another identity must not be restored.
	StoreIdentity() string
	// Restore makes an executable without any work of the compiler. model is what Store returned: the caller
	// has verified it, and it is checked for damage all the same. data verifies itself while it is read: an error of
	// ReadAt is one of Restore, which reads all that Store gave, during the call; twice only what is at several places of
	// the model. What goes unnoticed in it can only give wrong numbers; too short is an error.
	Restore(ctx context.Context, model []byte, data Data, o Options) (Executable, error)
}

// Data is the constants of a stored form.
type Data interface {
	io.ReaderAt
	// Size is the number of bytes; reading may find fewer.
	Size() int64
}
