package vulkan

import (
	"fmt"
	"math/bits"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// ExternalMemory is a device's memory on its way to another process or API. Who writes and who reads it when is for
// those who share it to agree on, by fences.
type ExternalMemory struct {
	FD    int // belongs to who holds the value
	Kind  vk.HandleKind
	Bytes int64 // as allocated
	// MemoryType, DeviceUUID and DriverUUID are of the device that allocated the memory behind an opaque fd; not
	// looked at for dma-bufs.
	MemoryType int
	DeviceUUID [16]byte
	DriverUUID [16]byte
	// Trusted as vk.Handle.Trusted: without it software devices refuse opaque fds.
	Trusted bool
}

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
// the device; who holds it reads and writes the memory.
func (x *exportable) export() (ExternalMemory, error) {
	d := x.dev
	if err := d.failure("export", nil); err != nil {
		return ExternalMemory{}, err
	}
	fd, err := d.dev.ExportFD(x.memory, vk.OpaqueFD)
	if err != nil {
		return ExternalMemory{}, d.failure("export", err)
	}
	return ExternalMemory{
		FD: fd, Kind: vk.OpaqueFD, Bytes: x.allocated, MemoryType: x.memoryType,
		DeviceUUID: d.props.DeviceUUID, DriverUUID: d.props.DriverUUID,
	}, nil
}

// importFD makes a block of memory from elsewhere, which takes nothing of the account. The fd stays the caller's. The
// block has m.Bytes, rounded down to plan.Align; the host does not see them.
//
// Errors: backend.ErrNotImported where the device cannot or may not: memory of another device or driver, a file that
// is too short, could shrink or is not trusted. With it comes vk.ErrInvalidHandle where the fd is to blame.
func (d *Device) importFD(m ExternalMemory) (*block, error) {
	const where = "import"
	if err := d.failure(where, nil); err != nil {
		return nil, err
	}
	if m.Kind == vk.OpaqueFD && (m.DeviceUUID != d.props.DeviceUUID || m.DriverUUID != d.props.DriverUUID) {
		return nil, fmt.Errorf("%s: %w: memory of device %x, driver %x", where, backend.ErrNotImported, m.DeviceUUID, m.DriverUUID)
	}
	b := &block{dev: d, bytes: m.Bytes / plan.Align * plan.Align}
	if b.bytes <= 0 || m.Bytes > d.props.MaxAllocation {
		return nil, fmt.Errorf("%s: %w: %d bytes", where, backend.ErrNotImported, m.Bytes)
	}
	if err := b.importFD(m); err != nil {
		b.free()
		return nil, d.notImported(where, err)
	}
	return b, nil
}

// importFD fills in buffer and memory; what is there stays on errors.
func (b *block) importFD(m ExternalMemory) (err error) {
	d := b.dev
	h := vk.Handle{FD: m.FD, Kind: m.Kind, Bytes: m.Bytes, MemoryType: m.MemoryType, Trusted: m.Trusted}
	types := ^uint32(0)
	switch {
	case m.Kind == vk.DmaBuf:
		if types, err = d.dev.FDTypes(m.FD, m.Kind); err != nil {
			return err
		}
	case m.Kind != vk.OpaqueFD:
		return fmt.Errorf("%w: %v", vk.ErrNotSupported, m.Kind)
	case !d.info.External.OpaqueFD:
		return fmt.Errorf("%w: no import of an %v", vk.ErrNotSupported, m.Kind)
	}
	if b.buffer, err = d.dev.NewExternalBuffer(b.bytes, blockUsage, m.Kind); err != nil {
		return err
	}
	need := d.dev.Requirements(b.buffer)
	types &= need.Types
	if m.Kind == vk.DmaBuf {
		if h.MemoryType = deviceMemory(d.props, types); h.MemoryType < 0 && types != 0 {
			h.MemoryType = bits.TrailingZeros32(types)
		}
	}
	if need.Size > m.Bytes || h.MemoryType < 0 || types>>h.MemoryType&1 == 0 {
		return fmt.Errorf("%w: %d bytes of memory type %d, a buffer wants %d of types %#b",
			vk.ErrInvalidHandle, m.Bytes, h.MemoryType, need.Size, types)
	}
	if b.memory, err = d.dev.ImportFD(h, b.buffer); err != nil {
		return err
	}
	return d.dev.Bind(b.buffer, b.memory)
}
