package null

import (
	"errors"

	"github.com/nngpu/nngpu/driver/nn"
)

// Lose acts as a device that is lost and comes back at once: executions under way fail, and memories are lost.
func (b *Backend) Lose() { b.losses.Add(1) }

// since is an error if the device was lost after the first n times.
func (b *Backend) since(n int64) error {
	if b.losses.Load() == n {
		return nil
	}
	return &nn.Error{Status: nn.StatusDeviceUnavailable, Where: "null", Err: errLost}
}

var errLost = errors.New("the device was lost")

// Lost implements backend.Memory.
func (m *memory) Lost() bool { return m.b.since(m.losses) != nil }
