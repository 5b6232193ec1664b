package vulkan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

// Screen shows tensors as pictures in an X11 window: a copy on the device takes them from the memory of a tensor to an
// image of the window. It keeps its device open, and is lost with it. For one goroutine at a time.
//
// Nothing that waits for the window enters a queue of the device, and no lock is held during such waits.
type Screen struct {
	dev     *Device
	surface vk.Surface
	format  vk.SurfaceFormat
	fence   vk.Fence // of the image that is acquired; 0 before the first
	closed  bool

	chain    vk.Swapchain // 0: there is none that fits
	images   []vk.Image
	width    int // of the images
	height   int
	acquired int  // index of the image that the next picture goes to, -1: none
	ready    bool // the window has let go of it
	outdated bool // another swapchain would fit better
}

// formats are those that are taken, best first. Copies leave bytes as they are, so that it does not matter whether a format
// calls them sRGB.
var formats = []vk.Format{vk.FormatB8G8R8A8Unorm, vk.FormatR8G8B8A8Unorm, vk.FormatB8G8R8A8Srgb, vk.FormatR8G8B8A8Srgb}

// OpenScreen makes a screen for a window of the X server that display, an Xlib Display, is connected to. Both are
// borrowed until Close.
//
// Errors: DEVICE_UNAVAILABLE where the device is lost; vk.ErrNotSupported where it was opened without Options.Windows, or shows
// nothing there.
func (d *Device) OpenScreen(display uintptr, window uint32) (*Screen, error) {
	if err := d.failure("screen", nil); err != nil {
		return nil, err
	}
	if !d.options.Windows {
		return nil, fmt.Errorf("screen: %w: the device was not opened for windows", vk.ErrNotSupported)
	}
	d.Hold()
	s := &Screen{dev: d, acquired: -1}
	if err := s.open(display, window); err != nil {
		s.Close()
		return nil, d.failure("screen", err)
	}
	return s, nil
}

func (s *Screen) open(display uintptr, window uint32) (err error) {
	if s.surface, err = s.dev.inst.NewXlibSurface(display, window); err != nil {
		return err
	}
	info, err := s.dev.physical.Surface(s.dev.family, s.surface)
	if err != nil {
		return err
	}
	for _, f := range formats {
		if i := slices.IndexFunc(info.Formats, func(o vk.SurfaceFormat) bool { return o.Format == f }); i >= 0 {
			s.format = info.Formats[i]
			return nil
		}
	}
	return fmt.Errorf("%w: no format of eight bits a colour", vk.ErrNotSupported)
}

// BGR says whether the pixels of pictures are blue, green, red and an unused byte; else they begin with red.
func (s *Screen) BGR() bool {
	return s.format.Format == vk.FormatB8G8R8A8Unorm || s.format.Format == vk.FormatB8G8R8A8Srgb
}

// Size is that of the window, in pixels; 0 where nothing of it is visible.
//
// Errors: vk.ErrSurfaceLost; DEVICE_UNAVAILABLE; nn.ErrClosed.
func (s *Screen) Size() (width, height int, err error) {
	info, err := s.query()
	return max(info.Width, 0), max(info.Height, 0), err
}

func (s *Screen) query() (vk.SurfaceInfo, error) {
	if s.closed {
		return vk.SurfaceInfo{}, fmt.Errorf("screen: %w", nn.ErrClosed)
	}
	if err := s.dev.failure("screen", nil); err != nil {
		return vk.SurfaceInfo{}, err
	}
	info, err := s.dev.physical.Surface(s.dev.family, s.surface)
	return info, s.dev.failure("screen", err)
}

const (
	// acquireSlice bounds how long a wait for an image stays inside Vulkan before it looks at its context again.
	acquireSlice = 10 * time.Millisecond
	// acquireLimit is how long a window may take to let go of an image. One that nobody sees may take for ever.
	acquireLimit = 250 * time.Millisecond
)

// Acquire waits until the window takes another picture; false where it takes none for a quarter of a second, or has no
// size.
//
// Errors: those of Size; that of ctx.
func (s *Screen) Acquire(ctx context.Context) (bool, error) {
	if err := nn.NotNil("context", ctx); err != nil {
		return false, err
	}
	for end := time.Now().Add(acquireLimit); time.Now().Before(end); {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if ok, err := s.prepare(); !ok || err != nil {
			return false, err
		}
		switch err := s.acquire(); {
		case errors.Is(err, vk.ErrOutOfDate):
			s.outdated = true
		case err != nil:
			return false, s.dev.failure("screen", err)
		case s.ready:
			return true, nil
		}
	}
	return false, nil
}

// acquire waits for a moment.
func (s *Screen) acquire() (err error) {
	d := s.dev.dev
	if s.fence == 0 {
		if s.fence, err = d.NewFence(); err != nil {
			return err
		}
	}
	if s.acquired < 0 {
		fits := false
		if s.acquired, fits, err = d.Acquire(s.chain, s.fence, acquireSlice); err != nil || s.acquired < 0 {
			return err
		}
		s.outdated = !fits
	}
	if !s.ready {
		s.ready, err = d.WaitFence(s.fence, acquireSlice)
	}
	return err
}

// prepare makes a swapchain where there is none that fits the window; false where that has no size. An image that is acquired
// is used first.
func (s *Screen) prepare() (bool, error) {
	info, err := s.query()
	if err != nil {
		return false, err
	}
	width, height := info.Width, info.Height
	if width <= 0 || height <= 0 {
		return false, nil
	}
	if s.chain != 0 && (s.acquired >= 0 || !s.outdated && s.width == width && s.height == height) {
		return true, nil
	}
	s.drop()
	if s.chain, s.images, err = s.dev.dev.NewSwapchain(s.surface, &info, s.format, width, height); err != nil {
		return false, s.dev.failure("screen", err)
	}
	s.width, s.height, s.outdated = width, height, false
	return true, nil
}

// Show copies a picture to the middle of the window, which is black around it; what does not fit is left out. m is
// memory of the device for a tensor of 8-bit elements [1, height, width, 4], in the order of BGR, that nobody writes
// meanwhile. The result is false where the window has changed in between, so that nothing, or not all of it, is
// visible. Precondition: Acquire returned true, and Show was not called since.
//
// Errors: those of Size.
func (s *Screen) Show(m backend.Memory, width, height int) (bool, error) {
	d := s.dev
	own, ok := m.(*Memory)
	switch err := nn.NotNil("memory", m); {
	case err != nil:
		return false, err
	case s.closed:
		return false, fmt.Errorf("screen: %w", nn.ErrClosed)
	case !ok || own.dev != d || own.imported:
		return false, fmt.Errorf("screen: the picture is not in memory of the device")
	case own.form.Unpad != nil || own.form.DenseBytes != int64(width)*int64(height)*4:
		return false, fmt.Errorf("screen: %d bytes are no picture of %dx%d pixels", own.form.DenseBytes, width, height)
	case s.acquired < 0 || !s.ready:
		return false, fmt.Errorf("screen: no image was acquired")
	}
	own.mu.RLock()
	defer own.mu.RUnlock()
	if own.closed.Load() {
		return false, errClosedMemory
	}
	if err := s.copy(own.block.buffer, width, height); err != nil {
		return false, d.failure("screen", err)
	}
	fits, err := s.present()
	s.acquired, s.ready = -1, false
	s.outdated = s.outdated || !fits
	if errors.Is(err, vk.ErrOutOfDate) {
		return false, nil
	}
	return !s.outdated, d.failure("screen", err)
}

// copy brings the picture to the image, and waits for that.
func (s *Screen) copy(b vk.Buffer, width, height int) error {
	d := s.dev
	left, across, x := middle(width, s.width)
	top, down, y := middle(height, s.height)
	p := vk.Picture{Buffer: b, Offset: int64(top*width+left) * 4, Row: width, X: x, Y: y, Width: across, Height: down}
	return d.runBy(0, func(cmd vk.CommandBuffer) error { return d.dev.RecordPicture(cmd, s.images[s.acquired], p) })
}

// middle centres size pixels in room: the first that is seen, how many are, and where they begin.
func middle(size, room int) (first, seen, at int) {
	if size <= room {
		return 0, size, (room - size) / 2
	}
	return (size - room) / 2, room, 0
}

func (s *Screen) present() (fits bool, err error) {
	d := s.dev
	d.queueMu.Lock() // what is in the queue is done soon, and nothing there waits for the window
	defer d.queueMu.Unlock()
	if err := d.failure("screen", nil); err != nil {
		return false, err
	}
	return d.dev.Present(d.normal().index, s.chain, s.acquired)
}

// drop destroys the swapchain. What was shown of it may yet be copied to the window, by work in the queues.
func (s *Screen) drop() {
	d := s.dev
	if s.chain == 0 || d.abandoned() {
		return
	}
	if d.failed.Load() != nil {
		d.drain()
	} else {
		d.queueMu.Lock()
		_ = d.dev.WaitIdle() // a lost device is idle; its next user will hear of the loss
		d.queueMu.Unlock()
	}
	if d.abandoned() {
		return
	}
	if s.acquired >= 0 && !s.ready {
		if ok, err := d.dev.WaitFence(s.fence, acquireLimit); !ok || err != nil {
			s.fence = 0 // it may yet be signalled
		}
	}
	d.dev.DestroySwapchain(s.chain)
	s.chain, s.images, s.acquired, s.ready = 0, nil, -1, false
}

// Close frees what the screen has, nothing where the device is abandoned. Idempotent.
func (s *Screen) Close() {
	if s.closed {
		return
	}
	s.drop()
	if d := s.dev; !d.abandoned() {
		d.dev.DestroyFence(s.fence)
		d.inst.DestroySurface(s.surface)
	}
	s.closed = true
	s.dev.Release()
}
