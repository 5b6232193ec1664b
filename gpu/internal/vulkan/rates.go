package vulkan

import "github.com/nngpu/nngpu/gpu/internal/plan"

// SetRates notes what was measured, for the estimates of executables that are made later. Precondition: nobody else
// uses d yet.
func (d *Device) SetRates(r plan.Rates) { d.info.Facts.Measured = r }
