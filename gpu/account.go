package gpu

// Memory implements backend.Backend: it says how many bytes of the device's memory are in use, how many were at most, and what the limit is. It is
// the driver's own account; a Vulkan driver may take more for itself.
func (b *Backend) Memory() (used, peak, limit int64) { return b.devices.now().Memory() }
