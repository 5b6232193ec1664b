package driver

import (
	"fmt"
	"os"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/memory"
)

// Export returns a hardware_buffer_blob of the buffer's memory, which this or another process opens with memory.Open
// and names as a pool: the tensor, dense and row-major. The handle is the caller's to close, and keeps the memory
// alive beyond the buffer. The buffer was allocated with BufferDesc.Exportable.
//
// Memory that left the driver is written by others when they like, without taking turns: who uses it when is for
// those who share it to agree on. From Export on the buffer counts as initialised, if only by the zeros that it was
// allocated with; an execution that fails to write it takes that back, and the next Export restores it.
//
// On software devices the handle is a plain file, and whoever gets it can end this process, see
// WithTrustedExternalMemory.
//
// Errors: INVALID_ARGUMENT for a buffer that is not exportable; GENERAL_FAILURE where the device fails to.
func (b *Buffer) Export() (memory.Handle, error) {
	if err := b.enterNow(); err != nil {
		return memory.Handle{}, err
	}
	defer b.client.device.busy.Done()
	defer b.leave()
	if !b.exportable {
		return memory.Handle{}, nn.Invalid("export", "the buffer was not allocated for it")
	}
	b.exporting.Lock()
	defer b.exporting.Unlock()
	x, err := b.memory.(backend.Exportable).Export()
	if err != nil {
		return memory.Handle{}, fmt.Errorf("export: %w", err)
	}
	return memory.Handle{}, nil
}
