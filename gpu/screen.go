package gpu

import "github.com/nngpu/nngpu/gpu/internal/vulkan"

// Screen shows tensors of the device as pictures in a window. It is for one goroutine at a time, and useless once its device
// is lost. Its owner closes it, before the window.
type Screen = vulkan.Screen

// OpenScreen makes a screen of a window of the X server that display, a Display of Xlib, is connected to. Both are borrowed
// until the screen is closed, which keeps the device open. Xlib must know of threads (XInitThreads).
//
// Errors: vk.ErrNotSupported where the device was opened without Options.Windows, or shows nothing in that window;
// DEVICE_UNAVAILABLE; nn.ErrClosed.
func (b *Backend) OpenScreen(display uintptr, window uint32) (*Screen, error) {
	d, err := b.devices.use()
	if err != nil {
		return nil, err
	}
	defer d.Release()
	return d.OpenScreen(display, window)
}
