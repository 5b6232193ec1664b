package driver

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/internal/pools"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/memory"
)

// CopyFrom sets the buffer to the dense, row-major value that m holds, which is of exactly its size. dims are those
// of the value; none where the buffer's are known. It waits for the executions that use the buffer, as long as ctx
// lasts. When it fails the buffer is uninitialised, unless it never got its turn.
//
// Errors: INVALID_ARGUMENT for memory that is closed, of another size or none, and for dims that cannot be; GENERAL_FAILURE
// for memory that cannot be mapped or read, with ErrClosed for a closed buffer, and with context.Canceled where ctx was
// cancelled; MISSED_DEADLINE_PERSISTENT where ctx had ended by its deadline at the call, MISSED_DEADLINE_TRANSIENT where it
// did later; RESOURCE_EXHAUSTED_*; DEVICE_UNAVAILABLE.
func (b *Buffer) CopyFrom(ctx context.Context, m nn.Memory, dims nn.Dims) error {
	leave, err := b.enterCopy(ctx, true)
	if err != nil {
		return err
	}
	defer leave()
	b.written = false
	err = b.copyFrom(ctx, m, dims)
	b.written = err == nil
	return err
}

// CopyTo writes the buffer's value to m, dense and row-major; m is of exactly its size. It waits for the executions
// that write the buffer, as long as ctx lasts.
//
// Errors: those of CopyFrom, and GENERAL_FAILURE where the buffer is uninitialised.
func (b *Buffer) CopyTo(ctx context.Context, m nn.Memory) error {
	leave, err := b.enterCopy(ctx, false)
	if err != nil {
		return err
	}
	defer leave()
	return b.copyTo(ctx, m)
}

// enterCopy keeps the device open and waits for the buffer's turn, until leave is called.
func (b *Buffer) enterCopy(ctx context.Context, write bool) (leave func(), err error) {
	if err := nn.NotNil("context", ctx); err != nil {
		return nil, err
	}
	d := b.client.device
	if err := d.enter(); err != nil {
		return nil, err
	}
	if err = b.enter(); err != nil {
		d.busy.Done()
		return nil, err
	}
	if turn := turnOf(write); !b.turn.TryAcquire(turn) {
		if err = b.turn.Acquire(ctx, turn); err != nil {
			b.leave()
			d.busy.Done()
			return nil, fmt.Errorf("buffer: %w", err)
		}
	}
	return func() {
		b.turn.Release(turnOf(write))
		b.leave()
		d.busy.Done()
	}, nil
}

// copyFrom is CopyFrom. Precondition: the turn is held for writing.
func (b *Buffer) copyFrom(ctx context.Context, m nn.Memory, dims nn.Dims) error {
	if err := checkContext("copy", ctx); err != nil {
		return err
	}
	full := nn.Operand{Type: b.operand.Type}
	switch {
	case len(dims) == 0:
		if full.Dims = b.operand.Dims; !b.isFixed() {
			return nn.Invalid("copy", "the buffer's dimensions %v are open and none are given", []uint32(full.Dims))
		}
	case !full.Type.IsTensor() || !dims.Known():
		return nn.Invalid("copy", "dimensions %v for a buffer of %v", []uint32(dims), full.Type)
	default:
		var err error
		if full.Dims, err = combine(full.Type, b.operand.Dims, dims); err != nil {
			return nn.Invalid("copy", "dimensions %v for a buffer of %v", []uint32(dims), []uint32(b.operand.Dims))
		}
	}
	size, err := full.ByteSize()
	if err != nil {
		return nn.Invalid("copy", "%w", err)
	}
	x, err := openForCopy(b.client.device, m, size, false)
	if err != nil {
		return err
	}
	defer x.Close()
	if err := b.reserve(full.Dims); err != nil { // before the host's memory is taken, which has no account
		return err
	}
	data := x.Data
	if x.File != nil {
		data = make([]byte, size)
		if err := pools.Fill(x.File, data, 0); err != nil {
			return nn.Errorf(nn.StatusGeneralFailure, "copy", "%w", err)
		}
	}
	if x.Imported != nil {
		data = make([]byte, size)
		if err := x.Imported.Read(ctx, data); err != nil {
			return fmt.Errorf("copy: %w", err)
		}
	}
	if err := b.memory.Write(ctx, data[:size]); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	b.client.device.counters.copied.Add(uint64(size))
	return nil
}

// copyTo is CopyTo. Precondition: the turn is held.
func (b *Buffer) copyTo(ctx context.Context, m nn.Memory) error {
	if err := checkContext("copy", ctx); err != nil {
		return err
	}
	if !b.initialised() {
		return nn.Errorf(nn.StatusGeneralFailure, "copy", "the buffer is not initialised")
	}
	full := nn.Operand{Type: b.operand.Type, Dims: b.shape}
	size, err := full.ByteSize()
	if err != nil {
		return nn.Invalid("copy", "%w", err)
	}
	if size == 0 && m != nil { // no memory is that small
		return nil
	}
	x, err := openForCopy(b.client.device, m, size, true)
	if err != nil {
		return err
	}
	defer x.Close()
	data := x.Data
	if x.File != nil || x.Imported != nil {
		data = make([]byte, size)
	}
	if err := b.memory.Read(ctx, data[:size]); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	if x.File != nil {
		if err := pools.Flush(x.File, data, 0); err != nil {
			return nn.Errorf(nn.StatusGeneralFailure, "copy", "%w", err)
		}
	}
	if x.Imported != nil {
		if err := x.Imported.Write(ctx, data); err != nil {
			return fmt.Errorf("copy: %w", err)
		}
	}
	b.client.device.counters.copied.Add(uint64(size))
	return nil
}

// openForCopy keeps and maps m, which must hold exactly size bytes; what the host cannot map d imports.
func openForCopy(d *Device, m nn.Memory, size uint32, write bool) (*pools.Pool, error) {
	if nn.IsNil(m) {
		return nil, nn.Invalid("copy", "there is no memory")
	}
	if _, ok := m.(nn.BufferToken); ok {
		return nil, nn.Invalid("copy", "a token is no memory")
	}
	if n := m.Size(); n != int64(size) {
		return nil, nn.Invalid("copy", "memory of %d bytes; the buffer's value has %d", n, size)
	}
	x := &pools.Pool{Source: m}
	if write && x.ReadOnly() {
		return nil, nn.Invalid("copy", "the memory is read only")
	}
	if err := d.pools.OpenForHost(x, "copy"); err != nil {
		return nil, err
	}
	return x, nil
}

// Export returns a hardware_buffer_blob of the buffer's memory, which this or another process opens with memory.Open
// and names as a pool: the tensor, dense and row-major. It waits for the executions that use the buffer. The handle
// is the caller's to close, and keeps the memory alive beyond the buffer.
//
// The memory is in the device's own form, which is dense where the innermost dimension is a multiple of 4; others
// cannot be exported. The buffer was allocated with BufferDesc.Exportable.
//
// Others may write exported memory at any time; the driver does not order their accesses, so those who share it must
// agree on when each uses it. From Export on the buffer counts as initialised, if only by the zeros that it was
// allocated with, because the driver cannot see others write it. After an execution that fails to write it, it is
// uninitialised until the next Export. A request that names the same memory by token and as a pool gets undefined
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
