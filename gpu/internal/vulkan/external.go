package vulkan

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"os"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// External says which memory from outside a device can use in place; the rest is copied.
type External struct {
	HostImport bool  // memory of the host: memfds, mapped files, dma-bufs that can be mapped
	HostAlign  int64 // of the address, bytes
	OpaqueFD   bool  // memory of the same driver on the same device, by fd
	DmaBuf     bool  // dma-bufs by fd
	Export     bool  // the device's memory can leave as an opaque fd
	SyncFD     bool  // the end of submitted work can leave as a sync_file
	PlainFiles bool  // opaque fds are files of the host: see vk.Handle.Trusted
}

// external is what Vulkan reports of a device.
func external(p *vk.Properties) External {
	return External{
		HostImport: p.HostImport, HostAlign: p.HostAlign,
		OpaqueFD: p.OpaqueFD.Import, DmaBuf: p.DmaBuf.Import, Export: p.OpaqueFD.Export, SyncFD: p.SyncFD,
		PlainFiles: p.Type == vk.TypeCPU,
	}
}

// importHost makes a block of b in place, for inputs only if readOnly. It takes nothing from the account.
//
// b begins a mapping, or at least a page of one, and is no Go memory: a device imports whole pages, with what follows b
// in the last one. It stays mapped until the block is freed, and nobody can shrink the file behind it, which no Vulkan
// implementation survives. Pages of a mapping without PROT_WRITE are for inputs only. The block's host bytes are all of
// these pages. On an abandoned device nothing is ever freed, and its work may still touch them: they must then stay
// mapped for good.
//
// Errors: backend.ErrNotImported where the device cannot, in particular for an address that is no multiple of
// External.HostAlign; then the bytes must be copied.
func (d *Device) importHost(b []byte, readOnly bool) (*block, error) {
	if err := d.failure("import", nil); err != nil {
		return nil, err
	}
	pages, err := wholePages(b, d.props.HostAlign)
	if err != nil {
		return nil, err
	}
	usage := uint32(blockUsage)
	if readOnly {
		usage = vk.UsageTransferSrc | vk.UsageUniformTexel | vk.UsageStorage
	}
	x := &block{dev: d, bytes: int64(len(pages)), host: pages, cached: true}
	x.buffer, x.memory, err = d.dev.ImportHost(pages, usage)
	if err != nil {
		return nil, d.notImported("import", err)
	}
	return x, nil
}

// wholePages lengthens b to a multiple of align, as far as its last page goes.
func wholePages(b []byte, align int64) ([]byte, error) {
	if len(b) == 0 || align <= 0 {
		return nil, fmt.Errorf("%d bytes: %w", len(b), backend.ErrNotImported)
	}
	size := roundUp(int64(len(b)), align)
	if size > roundUp(int64(len(b)), int64(os.Getpagesize())) {
		return nil, fmt.Errorf("%d bytes, where pages are of %d: %w", len(b), align, backend.ErrNotImported)
	}
	return lengthen(b, size), nil
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

// notImported is the error of an import that failed: the device may be lost, else what it refuses is copied.
func (d *Device) notImported(where string, err error) error {
	err = d.failure(where, err)
	if nn.StatusOf(err) == nn.StatusDeviceUnavailable || errors.Is(err, backend.ErrNotImported) {
		return err
	}
	return fmt.Errorf("%w: %w", backend.ErrNotImported, err)
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
// the device; its holder reads and writes the memory when that is agreed with the others, by fences.
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

// importFD makes a block of the whole memory that x is a part of; it takes nothing from the account. The fd stays the
// caller's. The block has x.Allocation bytes, rounded down to plan.Align; the host does not see them.
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

var _ backend.Exportable = (*Memory)(nil)

// ImportExternal lets executions use memory of a device in place, as backend.ExternalMemory says. What an allocation
// has beyond a multiple of plan.Align cannot be used.
func (d *Device) ImportExternal(x backend.External) (*Memory, error) {
	if room := x.Allocation / plan.Align * plan.Align; x.Offset < 0 || x.Size <= 0 || x.Offset > room-x.Size {
		return nil, fmt.Errorf("import: %w: %d bytes at %d of an allocation of %d", backend.ErrNotImported, x.Size, x.Offset, x.Allocation)
	}
	b, err := d.importFD(x)
	if err != nil {
		return nil, err
	}
	d.counters.imports.Add(1)
	return d.remember(&Memory{
		dev: d, imported: true, readOnly: x.ReadOnly, block: b, views: newViews(d), base: x.Offset, size: x.Size,
	}), nil
}

// room is what a tensor takes on the device: kernels may see plan.Align bytes behind it.
func (f *Form) room() int64 { return plan.AlignUp(f.DeviceBytes) + plan.Align }

// checkForm checks f, and that the device works.
func (d *Device) checkForm(f *Form) error {
	for _, p := range []*plan.Plan{f.Pad, f.Unpad} {
		if p == nil {
			continue
		}
		if err := d.checkPlan(p); err != nil {
			return fmt.Errorf("plan: %w", err)
		}
	}
	if f.DenseBytes <= 0 || f.DeviceBytes < f.DenseBytes {
		return fmt.Errorf("%d bytes on the device for %d", f.DeviceBytes, f.DenseBytes)
	}
	return d.failure("allocate", nil)
}

// newMemory clears b and makes a tensor's memory of it. It takes ownership of b.
func (d *Device) newMemory(b *block, f Form, budget int64) (*Memory, error) {
	if err := b.zero(); err != nil {
		b.free()
		return nil, err
	}
	return d.remember(&Memory{dev: d, block: b, bytes: b.taken, views: newViews(d), form: f, budget: budget}), nil
}

// AllocateExportable is Allocate for memory that Export can hand out. Errors: also vk.ErrNotSupported.
func (d *Device) AllocateExportable(f Form, budget int64) (*Memory, error) {
	if err := d.checkForm(&f); err != nil {
		return nil, err
	}
	x, err := d.newExportable(f.room(), budget, "tensor memory")
	if err != nil {
		return nil, err
	}
	m, err := d.newMemory(x.block, f, budget)
	if err != nil {
		return nil, err
	}
	m.export = x
	return m, nil
}

// Export implements backend.Exportable. Only memory from AllocateExportable has something to export.
func (m *Memory) Export() (backend.Exported, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.dev.failure("export", nil); err != nil {
		return backend.Exported{}, err
	}
	switch {
	case m.closed.Load():
		return backend.Exported{}, errClosedMemory
	case m.export == nil:
		return backend.Exported{}, fmt.Errorf("export: %w: the memory was not allocated for it", vk.ErrNotSupported)
	}
	x, err := m.export.export()
	if err != nil {
		return backend.Exported{}, err
	}
	x.Size = m.form.DeviceBytes
	return backend.Exported{External: x, Dense: m.form.Pad == nil && m.form.Unpad == nil && m.form.DenseBytes == m.form.DeviceBytes}, nil
}

// external reports whether m is memory of a device, which the host does not see.
func (m *Memory) external() bool { return m.imported && m.host == nil }

// transfer moves the first bytes of m from or to dense. Precondition: m is external, open and at least as large.
func (m *Memory) transfer(ctx context.Context, dense []byte, write bool) error {
	n := int64(len(dense))
	if n == 0 {
		return nil
	}
	staging, err := m.dev.newBlock(min(n, stagingBytes), m.budget, hostBlock, "staging memory")
	if err != nil {
		return err
	}
	defer staging.free()
	for at := int64(0); at < n; at += staging.bytes {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := dense[at:min(at+staging.bytes, n)]
		if write {
			copy(staging.host, part)
			err = m.dev.copyShared(staging, 0, m.block, m.base+at, int64(len(part)))
		} else if err = m.dev.copyShared(m.block, m.base+at, staging, 0, int64(len(part))); err == nil {
			copy(part, staging.host)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyShared copies n bytes between blocks that host, kernels and copies may have written, and may read afterwards.
func (d *Device) copyShared(from *block, fromAt int64, to *block, toAt, n int64) error {
	var c vk.Commands
	c.Barrier(computeTransfer|vk.StageHost, deviceWrites|vk.AccessHostWrite, vk.StageTransfer, vk.AccessTransferRead|vk.AccessTransferWrite)
	c.Copy(from.buffer, fromAt, to.buffer, toAt, n)
	c.Barrier(vk.StageTransfer, vk.AccessTransferWrite, computeTransfer|vk.StageHost, deviceAccess|vk.AccessHostRead)
	return d.runOnce(&c)
}
