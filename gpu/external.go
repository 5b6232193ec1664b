package gpu

import (
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

var (
	_ backend.ExternalImporter = (*Backend)(nil)
	_ backend.Exporter         = (*Backend)(nil)
)

// ImportExternal implements backend.ExternalImporter.
func (b *Backend) ImportExternal(x backend.External) (backend.Memory, error) {
	d, err := b.devices.use()
	if err != nil {
		return nil, err
	}
	defer d.Release()
	m, err := d.ImportExternal(x)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// AllocateExportable implements backend.Exporter.
func (b *Backend) AllocateExportable(t nn.OperandType, dims nn.Dims, budget int64) (backend.Exportable, error) {
	form, err := b.form(t, dims)
	if err != nil {
		return nil, err
	}
	d, err := b.devices.use()
	if err != nil {
		return nil, err
	}
	defer d.Release()
	m, err := d.AllocateExportable(form, budget)
	if err != nil {
		return nil, err
	}
	return m, nil
}
