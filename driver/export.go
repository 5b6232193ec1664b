//go:build linux

package driver

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/memory"
)

// Export returns a hardware_buffer_blob of the buffer's memory, which this or another process opens with memory.Open
// and names as a pool: the tensor, dense and row-major. It waits for the executions that use the buffer. The handle
// is the caller's to close, and keeps the memory alive beyond the buffer.
//
// The memory is in the device's own form, which is dense where the innermost dimension is a multiple of 4; others
// cannot be exported. The buffer was allocated with BufferDesc.Exportable.
//
// What left the driver is written by others when they like, without taking turns: who uses it when is for those who
// share it to agree on. From Export on the buffer counts as initialised, if only by the zeros that it was allocated
// with, because nobody tells when others write it. An execution that fails to write it takes that back, and the next
// Export restores it. A request that names the same memory by token and as a pool gets what it asked for: undefined
// values.
//
// On software devices the handle is a plain file, and whoever gets it can end this process, see
// WithTrustedExternalMemory.
//
// Errors: INVALID_ARGUMENT for a buffer that cannot be exported.
func (b *Buffer) Export() (memory.Handle, error) {
	leave, err := b.enterCopy(context.Background(), true)
	if err != nil {
		return memory.Handle{}, err
	}
	defer leave()
	if !b.exportable {
		return memory.Handle{}, nn.Invalid("export", "the buffer was not allocated for it")
	}
	full := nn.Operand{Type: b.operand.Type, Dims: b.operand.Dims}
	size, err := full.ByteSize()
	if err != nil {
		return memory.Handle{}, nn.Invalid("export", "%w", err)
	}
	if err := b.reserve(b.operand.Dims); err != nil { // where it was lost
		return memory.Handle{}, err
	}
	x, err := b.memory.(backend.Exportable).Export()
	if err != nil {
		return memory.Handle{}, fmt.Errorf("export: %w", err)
	}
	if !x.Dense || x.Offset != 0 || x.Size < int64(size) || x.Kind != backend.OpaqueFD {
		_ = unix.Close(x.FD)
		return memory.Handle{}, nn.Invalid("export",
			"%v%v is not dense on the device: its innermost dimension must be a multiple of 4", full.Type, []uint32(full.Dims))
	}
	b.client.device.pools.Exported(b, &x.External)
	b.written = true
	return memory.Handle{
		Kind: memory.HardwareBufferBlob, Size: int64(size),
		Buffer: memory.Descriptor{
			Width: size, Height: 1, Layers: 1, Format: memory.FormatBlob, Source: memory.SourceOpaque,
			Allocation: x.Allocation, MemoryType: x.MemoryType, DeviceUUID: x.DeviceUUID, DriverUUID: x.DriverUUID,
		},
		Files: []*os.File{os.NewFile(uintptr(x.FD), "nngpu buffer")},
	}, nil
}

// newMemory allocates memory of the given dimensions.
func (b *Buffer) newMemory(dims nn.Dims) (backend.Memory, error) {
	d := b.client.device.backend
	if !b.exportable {
		return d.Allocate(b.operand.Type, dims, 0)
	}
	e, ok := d.(backend.ExternalMemory)
	if !ok {
		return nil, nn.Errorf(nn.StatusGeneralFailure, "buffer", "the device's memory cannot be exported")
	}
	m, err := e.AllocateExportable(b.operand.Type, dims, 0)
	if err != nil {
		return nil, err
	}
	return m, nil
}
