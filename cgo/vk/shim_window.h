// The part of the C side that shows pictures in windows: surfaces, swapchains. It needs no header of X11, as shim.h
// needs none of Vulkan, and nothing of X11 is linked.
#ifndef NNGPU_SHIM_WINDOW_H
#define NNGPU_SHIM_WINDOW_H

#include "shim.h"

// ---- shim_surface.c ----

// nngpu_surface makes a surface of a window, through the XCB connection of an Xlib `display`, which libX11-xcb gives.
// VK_ERROR_EXTENSION_NOT_PRESENT without that library, or where the instance was made without windows.
//
// Ownership: borrows display and window, which outlive the surface; the result belongs to the caller.
// Threads:   any; XInitThreads was called.    Blocking: no.    Go memory: none; display is an address in C memory.
nngpu_value nngpu_surface(nngpu_instance *inst, uint64_t display, uint32_t window);

// nngpu_surface_destroy destroys a surface; 0 is ignored.
//
// Ownership: takes surface; its swapchains are gone.    Threads: no other use of surface.
// Blocking:  no.    Go memory: none.
void nngpu_surface_destroy(nngpu_instance *inst, uint64_t surface);

enum { NNGPU_MAX_FORMATS = 32 };

typedef struct nngpu_surface_info {
    int32_t result;
    uint32_t supported;     // the queue family can present to it; all else is 0 where it cannot
    uint32_t width, height; // of the window; UINT32_MAX where the swapchain decides
    uint32_t min_images, max_images; // max 0: no limit
    uint32_t usage;         // VkImageUsageFlags of images
    uint32_t transform;     // VkSurfaceTransformFlagBitsKHR, the current one
    uint32_t alphas;        // VkCompositeAlphaFlagsKHR
    uint32_t mailbox;       // VK_PRESENT_MODE_MAILBOX_KHR is there
    uint32_t formats;       // how many
    uint32_t format[NNGPU_MAX_FORMATS][2]; // VkFormat, VkColorSpaceKHR
} nngpu_surface_info;

// nngpu_surface_query asks what a device and one of its queue families can do with a surface.
//
// Ownership: result by value.    Threads: any.    Blocking: asks the X server.    Go memory: none.
nngpu_surface_info nngpu_surface_query(nngpu_instance *inst, uint64_t physical, uint32_t family, uint64_t surface);

// ---- shim_swapchain.c: VK_KHR_swapchain. Without NNGPU_FEATURE_SWAPCHAIN nothing here may be called. ----

typedef struct nngpu_swapchain_info {
    uint64_t surface;
    uint32_t format, colour_space;
    uint32_t width, height;
    uint32_t images; // at least
    uint32_t transform, alpha;
    uint32_t mailbox;
} nngpu_swapchain_info;

// nngpu_swapchain makes a swapchain whose images are written by transfers.
//
// Ownership: borrows the surface, which has no other swapchain; the result belongs to the caller.
// Threads:   no other use of the surface.    Blocking: asks the X server.    Go memory: none.
nngpu_value nngpu_swapchain(nngpu_device *dev, nngpu_swapchain_info info);

// nngpu_swapchain_images writes the images of a swapchain, at most `max`, and returns their number in value.
//
// Ownership: the images belong to the swapchain.    Threads: any.    Blocking: no.
// Go memory: images is written during the call only.
nngpu_value nngpu_swapchain_images(nngpu_device *dev, uint64_t swapchain, uint64_t *images, uint32_t max);

// nngpu_swapchain_destroy destroys a swapchain; 0 is ignored.
//
// Ownership: takes swapchain; no pending work uses its images.    Threads: no other use of swapchain or surface.
// Blocking:  no.    Go memory: none.
void nngpu_swapchain_destroy(nngpu_device *dev, uint64_t swapchain);

// nngpu_host_fence makes a fence that the host waits for, not signalled.
//
// Ownership: the result belongs to the caller.    Threads: any.    Blocking: no.    Go memory: none.
nngpu_value nngpu_host_fence(nngpu_device *dev);

// nngpu_host_fence_wait waits, at most timeout_ns, for a fence, and resets it; VK_TIMEOUT (2) if it was not signalled.
//
// Ownership: borrows fence.    Threads: no other use of fence.    Blocking: up to timeout_ns.    Go memory: none.
int32_t nngpu_host_fence_wait(nngpu_device *dev, uint64_t fence, uint64_t timeout_ns);

// nngpu_host_fence_destroy destroys a fence; 0 is ignored.
//
// Ownership: takes fence; nothing will signal it.    Threads: no other use of fence.    Blocking: no.    Go memory: none.
void nngpu_host_fence_destroy(nngpu_device *dev, uint64_t fence);

// nngpu_acquire waits up to timeout_ns for an image that the window will release, and returns its index; `fence` is
// signalled when it is released. VK_SUBOPTIMAL_KHR is a success.
//
// Ownership: borrows both.    Threads: no other use of swapchain or fence.    Blocking: up to timeout_ns.
// Go memory: none.
nngpu_value nngpu_acquire(nngpu_device *dev, uint64_t swapchain, uint64_t fence, uint64_t timeout_ns);

typedef struct nngpu_picture {
    uint64_t buffer, offset; // four bytes a pixel, as the image has them
    uint32_t row;            // pixels from one row of the buffer to the next
    uint64_t image;
    int32_t x, y;            // where it goes on the image
    uint32_t width, height;  // of the part that goes there; 0: all of the image becomes black
} nngpu_picture;

// nngpu_record_picture records a whole command buffer that makes an acquired image black, copies a part of a buffer to
// it, and leaves it ready to be presented. It sees what was submitted before.
//
// Ownership: borrows every handle; they live as long as the command buffer is used.
// Threads:   no other use of cmd or its pool.    Blocking: no.    Go memory: none.
int32_t nngpu_record_picture(nngpu_device *dev, uint64_t cmd, nngpu_picture p);

// nngpu_present hands an image, on which all work is done, to the window.
//
// Ownership: borrows both.    Threads: caller holds the queue's lock; no other use of swapchain.
// Blocking:  some drivers wait for what is in the queue.    Go memory: none.
int32_t nngpu_present(nngpu_device *dev, uint32_t queue, uint64_t swapchain, uint32_t image);

#endif
