package driver

import (
	"context"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

// View calls use with the memory that the backend has for the buffer's value, for what a backend can do with it beyond the
// contract: gpu.Screen shows it in a window. Nobody writes it meanwhile. View waits for executions that write it, as long as
// ctx lasts. use must neither change the memory nor keep it.
//
// Errors: those of use; GENERAL_FAILURE where the buffer is uninitialised, has no elements, or is closed; as of CopyTo, where ctx
// ends or the device is lost.
func (b *Buffer) View(ctx context.Context, use func(backend.Memory) error) error {
	if err := nn.NotNil("function", use); err != nil {
		return err
	}
	leave, err := b.enterCopy(ctx, false)
	if err != nil {
		return err
	}
	defer leave()
	if err := checkContext("buffer", ctx); err != nil {
		return err
	}
	if !b.initialised() {
		return nn.Errorf(nn.StatusGeneralFailure, "buffer", "it is not initialised")
	}
	if b.isEmpty() {
		return nn.Errorf(nn.StatusGeneralFailure, "buffer", "it has no elements")
	}
	return use(b.memory)
}
