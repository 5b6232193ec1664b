package driver

import "github.com/nngpu/nngpu/driver/backend"

// isLost reports whether what m held went with its device.
func isLost(m backend.Memory) bool {
	return m != nil && m.Lost()
}

// initialised reports whether the buffer holds what was last written. Precondition: the turn is held.
func (b *Buffer) initialised() bool { return b.written && !isLost(b.memory) }

// usable is m unless it was lost; then the pool is imported again.
func usable(m backend.Memory) backend.Memory {
	if isLost(m) {
		return nil
	}
	return m
}
