package vk

/*
#include "shim_window.h"
*/
import "C"

import (
	"fmt"
	"time"
)

// Handles for showing pictures in a window.
type (
	Surface   uint64
	Swapchain uint64
	Image     uint64
)

// NewXlibSurface makes a surface for a window of the X server that display, an Xlib Display, is connected to. Both are
// borrowed until DestroySurface. Precondition: XInitThreads was called before the display was opened.
//
// It is an XCB surface nevertheless: drivers with Xlib surfaces have XCB ones as well, and SwiftShader has only these.
//
// Errors: ErrNotSupported where the instance knows no windows, or libX11-xcb cannot be opened.
func (i *Instance) NewXlibSurface(display uintptr, window uint32) (Surface, error) {
	v := C.nngpu_surface(i.c, C.uint64_t(display), C.uint32_t(window))
	return Surface(v.value), check("vkCreateXcbSurfaceKHR", v.result)
}

// DestroySurface destroys s; 0 is ignored. Precondition: it has no swapchain.
func (i *Instance) DestroySurface(s Surface) { C.nngpu_surface_destroy(i.c, C.uint64_t(s)) }

// SurfaceFormat is a way in which a surface stores pixels.
type SurfaceFormat struct {
	Format     Format
	ColorSpace uint32 // VkColorSpaceKHR
}

// Formats of surfaces, of four bytes a pixel.
const (
	FormatR8G8B8A8Unorm Format = 37
	FormatR8G8B8A8Srgb  Format = 43
	FormatB8G8R8A8Unorm Format = 44
	FormatB8G8R8A8Srgb  Format = 50
)

// SurfaceInfo is what a device can do with a surface at present.
type SurfaceInfo struct {
	Width, Height int // of the window, in pixels; -1 where the swapchain decides
	Formats       []SurfaceFormat
	minImages     uint32
	maxImages     uint32 // 0: no limit
	transform     uint32
	alpha         uint32 // VkCompositeAlphaFlagBitsKHR
	mailbox       bool
}

// From VkImageUsageFlagBits and VkCompositeAlphaFlagBitsKHR.
const (
	imageTransferDst = 0x2
	alphaOpaque      = 0x1
)

// Surface asks what a queue family of the device can do with s.
//
// Errors: ErrNotSupported where it cannot show pictures, or not by copies; ErrSurfaceLost.
func (p Physical) Surface(family int, s Surface) (SurfaceInfo, error) {
	c := C.nngpu_surface_query(p.inst.c, C.uint64_t(p.handle), C.uint32_t(family), C.uint64_t(s))
	if err := check("vkGetPhysicalDeviceSurfaceCapabilitiesKHR", c.result); err != nil {
		return SurfaceInfo{}, err
	}
	if c.supported == 0 || c.usage&imageTransferDst == 0 {
		return SurfaceInfo{}, fmt.Errorf("%w: its queue shows no pictures in this window", ErrNotSupported)
	}
	info := SurfaceInfo{
		Width: int(int32(c.width)), Height: int(int32(c.height)), minImages: uint32(c.min_images), maxImages: uint32(c.max_images),
		transform: uint32(c.transform), alpha: alphaOpaque, mailbox: c.mailbox != 0,
	}
	if alphas := uint32(c.alphas); alphas&alphaOpaque == 0 {
		info.alpha = alphas & -alphas // the lowest of those that there are
	}
	for i := range int(c.formats) {
		info.Formats = append(info.Formats, SurfaceFormat{Format: Format(c.format[i][0]), ColorSpace: uint32(c.format[i][1])})
	}
	return info, nil
}

// NewSwapchain makes a swapchain of images of the given format and size, which is that of info where info has one, and
// returns its images. Pictures that come faster than the screen shows them replace each other where the driver can do that,
// else they wait. Preconditions: FeatureSwapchain; info is new; the surface has no other swapchain.
//
// Errors: ErrSurfaceLost, ErrOutOfMemory.
func (d *Device) NewSwapchain(s Surface, info *SurfaceInfo, f SurfaceFormat, width, height int) (Swapchain, []Image, error) {
	images := info.minImages + 1 // one to write while the window may keep all others
	if info.maxImages > 0 {
		images = min(images, info.maxImages)
	}
	c := C.nngpu_swapchain_info{
		surface: C.uint64_t(s), format: C.uint32_t(f.Format), colour_space: C.uint32_t(f.ColorSpace),
		width: C.uint32_t(width), height: C.uint32_t(height), images: C.uint32_t(images),
		transform: C.uint32_t(info.transform), alpha: C.uint32_t(info.alpha),
	}
	if info.mailbox {
		c.mailbox = 1
	}
	v := C.nngpu_swapchain(d.c, c)
	if err := check("vkCreateSwapchainKHR", v.result); err != nil {
		return 0, nil, err
	}
	list := make([]Image, 16)
	n := C.nngpu_swapchain_images(d.c, v.value, first(list), C.uint32_t(len(list)))
	if err := check("vkGetSwapchainImagesKHR", n.result); err != nil {
		C.nngpu_swapchain_destroy(d.c, v.value)
		return 0, nil, err
	}
	return Swapchain(v.value), list[:n.value], nil
}

// DestroySwapchain destroys s; 0 is ignored. Precondition: no pending work uses its images.
func (d *Device) DestroySwapchain(s Swapchain) {
	if s != 0 {
		C.nngpu_swapchain_destroy(d.c, C.uint64_t(s))
	}
}

// Fence is a VkFence, for Acquire.
type Fence uint64

// NewFence makes a fence, not signalled.
func (d *Device) NewFence() (Fence, error) {
	v := C.nngpu_host_fence(d.c)
	return Fence(v.value), check("vkCreateFence", v.result)
}

// DestroyFence destroys f; 0 is ignored. Precondition: nothing will signal it.
func (d *Device) DestroyFence(f Fence) {
	if f != 0 {
		C.nngpu_host_fence_destroy(d.c, C.uint64_t(f))
	}
}

// WaitFence waits until f is signalled, for at most the given time, and says whether it was; if so, f is reset. No
// other call uses f.
func (d *Device) WaitFence(f Fence, limit time.Duration) (bool, error) {
	r := Result(C.nngpu_host_fence_wait(d.c, C.uint64_t(f), C.uint64_t(max(limit, 0))))
	if r == timeout {
		return false, nil
	}
	return r == success, check("vkWaitForFences", r)
}

// Acquire waits, for at most the given time, for an image that the window is about to release, and returns its index,
// or -1 where none came. The image may be written when f is signalled: the host waits for that, so that nothing in a
// queue waits for a window. fits is false where the image can be shown, but another swapchain would fit the window
// better. No other call uses swapchain or fence, and f is not signalled.
//
// Errors: ErrOutOfDate, ErrSurfaceLost, ErrDeviceLost.
func (d *Device) Acquire(s Swapchain, f Fence, limit time.Duration) (image int, fits bool, err error) {
	if err := d.fault(CallAcquire, "vkAcquireNextImageKHR"); err != nil {
		return -1, false, err
	}
	v := C.nngpu_acquire(d.c, C.uint64_t(s), C.uint64_t(f), C.uint64_t(max(limit, 0)))
	switch r := Result(v.result); r {
	case success, suboptimal:
		return int(v.value), r == success, nil
	case timeout, notReady:
		return -1, true, nil
	}
	return -1, false, check("vkAcquireNextImageKHR", v.result)
}

// Picture is a part of a buffer, of four bytes a pixel, that goes to an image.
type Picture struct {
	Buffer        Buffer
	Offset        int64 // of the part's first pixel, in bytes
	Row           int   // pixels from one row to the next
	X, Y          int   // where it goes
	Width, Height int   // of the part
}

// RecordPicture makes cmd copy a picture to an acquired image, which is black around it. Precondition: cmd is new; the picture
// lies within buffer and image. Handles are borrowed as long as cmd is used.
func (d *Device) RecordPicture(cmd CommandBuffer, image Image, p Picture) error {
	if err := d.fault(CallRecord, "vkEndCommandBuffer"); err != nil {
		return err
	}
	r := C.nngpu_record_picture(d.c, C.uint64_t(cmd), C.nngpu_picture{
		buffer: C.uint64_t(p.Buffer), offset: C.uint64_t(p.Offset), row: C.uint32_t(p.Row), image: C.uint64_t(image),
		x: C.int32_t(p.X), y: C.int32_t(p.Y), width: C.uint32_t(p.Width), height: C.uint32_t(p.Height),
	})
	return check("vkEndCommandBuffer", r)
}

// Present shows an image; some drivers wait for what is in the queue. fits as in Acquire. Preconditions: the host has
// waited for all work on the image; no other call uses the queue or the swapchain.
//
// Errors: ErrOutOfDate, ErrSurfaceLost, ErrDeviceLost.
func (d *Device) Present(queue int, s Swapchain, image int) (fits bool, err error) {
	if err := d.fault(CallPresent, "vkQueuePresentKHR"); err != nil {
		return false, err
	}
	r := Result(C.nngpu_present(d.c, d.queue(queue), C.uint64_t(s), C.uint32_t(image)))
	if r == suboptimal {
		return false, nil
	}
	return r == success, check("vkQueuePresentKHR", r)
}
