package vulkan

import (
	"context"
	"fmt"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

var _ backend.Exportable = (*Memory)(nil)

// ImportExternal lets executions use memory of a device where it is, as backend.ExternalMemory says. The end of an
// allocation that is no multiple of plan.Align cannot be used.
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
		dev: d, imported: true, readOnly: x.ReadOnly, block: b, views: newSharedViews(d), base: x.Offset, size: x.Size,
	}), nil
}

// room is what a tensor takes on the device: kernels may see plan.Align bytes behind it.
func (f *Form) room() int64 { return plan.AlignUp(f.DeviceBytes) + plan.Align }

// checkForm looks at f, and whether the device works.
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
	return d.remember(&Memory{dev: d, block: b, bytes: b.taken, views: newSharedViews(d), form: f, budget: budget}), nil
}

// AllocateExportable is Allocate, of memory that Export can hand out. Errors: also vk.ErrNotSupported.
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

// Export implements backend.Exportable. Only memory by AllocateExportable has something to export.
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

// transfer moves the first bytes of m from or to dense. Precondition: m is external.
func (m *Memory) transfer(ctx context.Context, dense []byte, write bool) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n := int64(len(dense))
	if err := m.dev.failure("transfer", nil); err != nil {
		return err
	}
	switch {
	case m.closed.Load():
		return errClosedMemory
	case n > m.size:
		return fmt.Errorf("%d bytes of memory of %d", n, m.size)
	case write && m.readOnly:
		return fmt.Errorf("memory that can only be read")
	case n == 0:
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
