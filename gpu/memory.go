package gpu

import (
	"bytes"
	"cmp"
	"context"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/compile"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
)

// Allocate implements backend.Backend.
func (b *Backend) Allocate(t nn.OperandType, dims nn.Dims, budget int64) (backend.Memory, error) {
	form, err := b.form(t, dims)
	if err != nil {
		return nil, err
	}
	return b.memory(func(d *vulkan.Device) (*vulkan.Memory, error) { return d.Allocate(form, budget) })
}

// memory is what make gives on the device in use.
func (b *Backend) memory(make func(*vulkan.Device) (*vulkan.Memory, error)) (backend.Exportable, error) {
	d, err := b.devices.use()
	if err != nil {
		return nil, err
	}
	defer d.Release()
	m, err := make(d)
	if err != nil {
		return nil, err // no interface around a nil pointer
	}
	return m, nil
}

// form is what a tensor is like in the device's memory.
func (b *Backend) form(t nn.OperandType, dims nn.Dims) (vulkan.Form, error) {
	facts := b.current()
	x, err := compile.Exchange(&facts, t, dims)
	if err != nil {
		return vulkan.Form{}, err
	}
	return vulkan.Form{DenseBytes: x.DenseBytes, DeviceBytes: x.DeviceBytes, Pad: x.Pad, Unpad: x.Unpad}, nil
}

// Import implements backend.Backend.
func (b *Backend) Import(host []byte, readOnly bool) (backend.Memory, error) {
	return b.memory(func(d *vulkan.Device) (*vulkan.Memory, error) { return d.Import(host, readOnly) })
}

// Counters count what executions should do only once.
type Counters = vulkan.Counters

// Counters of the device since it was opened, or opened again.
func (b *Backend) Counters() Counters { return b.devices.now().Counters() }

// Memory implements backend.Backend: the bytes of the device's memory that are in use, the most that were, and the
// limit. It is the driver's own account; a Vulkan driver may take more for itself.
func (b *Backend) Memory() (used, peak, limit int64) { return b.devices.now().Memory() }

var _ backend.ExternalMemory = (*Backend)(nil)

// ImportExternal implements backend.ExternalMemory.
func (b *Backend) ImportExternal(x backend.External) (backend.Memory, error) {
	return b.memory(func(d *vulkan.Device) (*vulkan.Memory, error) { return d.ImportExternal(x) })
}

// AllocateExportable implements backend.ExternalMemory.
func (b *Backend) AllocateExportable(t nn.OperandType, dims nn.Dims, budget int64) (backend.Exportable, error) {
	form, err := b.form(t, dims)
	if err != nil {
		return nil, err
	}
	return b.memory(func(d *vulkan.Device) (*vulkan.Memory, error) { return d.AllocateExportable(form, budget) })
}

// CompileImage implements backend.Backend. Errors are those of Compile.
func (b *Backend) CompileImage(ctx context.Context, d nn.ImageLayout, o *nn.Operand, opts backend.Options) (backend.Executable, error) {
	if err := cmp.Or(nn.NotNil("context", ctx), nn.NotNil("tensor", o)); err != nil {
		return nil, err
	}
	facts := b.current()
	p, err := compile.Image(&facts, d, o)
	if err != nil {
		return nil, err
	}
	x, err := b.newLongLived(ctx, p, bytes.NewReader(nil), executableOptions(opts))
	if err != nil {
		return nil, err
	}
	return x, nil
}
