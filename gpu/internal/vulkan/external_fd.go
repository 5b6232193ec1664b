package vulkan

import (
	"fmt"
	"math/bits"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// exportable is a block whose memory can leave the device.
type exportable struct {
	*block
	allocated  int64
	memoryType int
}

// newExportable allocates a block as newBlock does for kernels, with memory of its own that export can hand out.
// bytes > 0.
//
// Errors: also vk.ErrNotSupported.
func (d *Device) newExportable(bytes, budget int64, what string) (x *exportable, err error) {
	if !d.info.External.Export {
		return nil, fmt.Errorf("%s: %w: no memory that can be exported", what, vk.ErrNotSupported)
	}
	b, err := d.reserve(bytes, budget, what)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			b.free()
			x, err = nil, d.failure(what, err)
		}
	}()
	if b.buffer, err = d.dev.NewExternalBuffer(b.bytes, blockUsage, vk.OpaqueFD); err != nil {
		return nil, err
	}
	need := d.dev.Requirements(b.buffer)
	if err = b.reserve(need.Size, budget, what); err != nil {
		return nil, err
	}
	x = &exportable{block: b, allocated: need.Size, memoryType: deviceMemory(d.props, need.Types)}
	if x.memoryType < 0 {
		return nil, fmt.Errorf("%w: memory of the kind", vk.ErrNotSupported)
	}
	if b.memory, err = d.dev.AllocateExport(b.buffer, need.Size, x.memoryType, vk.OpaqueFD); err != nil {
		return nil, err
	}
	return x, d.dev.Bind(b.buffer, b.memory)
}

// export hands the block's memory out. The fd belongs to the caller and keeps the memory alive, beyond the block and
// the device; who holds it reads and writes the memory, when he has agreed with the others on it, by fences.
func (x *exportable) export() (backend.External, error) {
	d := x.dev
	if err := d.failure("export", nil); err != nil {
		return backend.External{}, err
	}
	fd, err := d.dev.ExportFD(x.memory, vk.OpaqueFD)
	if err != nil {
		return backend.External{}, d.failure("export", err)
	}
	return backend.External{
		FD: fd, Kind: backend.OpaqueFD, Allocation: x.allocated, MemoryType: uint32(x.memoryType),
		DeviceUUID: d.props.DeviceUUID, DriverUUID: d.props.DriverUUID,
	}, nil
}

// importFD makes a block of all memory that x is a part of, which takes nothing of the account. The fd stays the caller's. The
// block has x.Allocation bytes, rounded down to plan.Align; the host does not see them.
//
// Errors: backend.ErrNotImported where the device cannot or may not: memory of another device or driver, a file that
// is too short, could shrink or is not trusted. With it comes vk.ErrInvalidHandle where the fd is to blame.
func (d *Device) importFD(x backend.External) (*block, error) {
	const where = "import"
	if err := d.failure(where, nil); err != nil {
		return nil, err
	}
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%s: %w: %w", where, backend.ErrNotImported, fmt.Errorf(format, args...))
	}
	b := &block{dev: d, bytes: x.Allocation / plan.Align * plan.Align}
	switch {
	case x.Kind != backend.OpaqueFD && x.Kind != backend.DMABuf:
		return nil, refuse("%v", x.Kind)
	case x.Kind == backend.OpaqueFD && (x.DeviceUUID != d.props.DeviceUUID || x.DriverUUID != d.props.DriverUUID):
		return nil, refuse("memory of device %x, driver %x", x.DeviceUUID, x.DriverUUID)
	case b.bytes <= 0 || x.Allocation > d.props.MaxAllocation:
		return nil, refuse("%d bytes", x.Allocation)
	}
	if err := b.importFD(x); err != nil {
		b.free()
		return nil, d.notImported(where, err)
	}
	return b, nil
}

// importFD fills in buffer and memory; what is there stays on errors.
func (b *block) importFD(x backend.External) (err error) {
	d := b.dev
	h := vk.Handle{FD: x.FD, Kind: vk.OpaqueFD, Bytes: x.Allocation, MemoryType: int(x.MemoryType), Trusted: x.Trusted}
	types := ^uint32(0)
	switch {
	case x.Kind == backend.DMABuf:
		h.Kind = vk.DmaBuf
		if types, err = d.dev.FDTypes(h.FD, h.Kind); err != nil {
			return err
		}
	case !d.info.External.OpaqueFD:
		return fmt.Errorf("%w: no import of an %v", vk.ErrNotSupported, h.Kind)
	}
	if b.buffer, err = d.dev.NewExternalBuffer(b.bytes, blockUsage, h.Kind); err != nil {
		return err
	}
	need := d.dev.Requirements(b.buffer)
	types &= need.Types
	if h.Kind == vk.DmaBuf {
		if h.MemoryType = deviceMemory(d.props, types); h.MemoryType < 0 && types != 0 {
			h.MemoryType = bits.TrailingZeros32(types)
		}
	}
	if need.Size > h.Bytes || h.MemoryType < 0 || types>>h.MemoryType&1 == 0 {
		return fmt.Errorf("%w: %d bytes of memory type %d, a buffer wants %d of types %#b",
			vk.ErrInvalidHandle, h.Bytes, h.MemoryType, need.Size, types)
	}
	if b.memory, err = d.dev.ImportFD(h, b.buffer); err != nil {
		return err
	}
	return d.dev.Bind(b.buffer, b.memory)
}
