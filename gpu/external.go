package gpu

import (
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
)

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
