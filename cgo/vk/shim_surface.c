#include <dlfcn.h>

#include "internal.h"
#include "shim_window.h"

// From vulkan_xcb.h, with the connection as a pointer to something: that header wants xcb's own.
#define NNGPU_XCB_SURFACE_CREATE_INFO 1000005000

typedef struct xcb_surface_info {
    VkStructureType sType;
    const void *pNext;
    VkFlags flags;
    void *connection;
    uint32_t window;
} xcb_surface_info;

typedef VkResult(VKAPI_PTR *create_xcb_surface)(VkInstance, const xcb_surface_info *, const VkAllocationCallbacks *,
                                               VkSurfaceKHR *);

// connection is that of an Xlib display. Whoever has such a display has libX11; the library is never closed.
static void *connection(uint64_t display) {
    void *lib = dlopen("libX11-xcb.so.1", RTLD_NOW | RTLD_LOCAL);
    if (lib == NULL) {
        return NULL;
    }
    void *(*get)(void *) = (void *(*)(void *))dlsym(lib, "XGetXCBConnection");
    return get != NULL ? get((void *)(uintptr_t)display) : NULL;
}

nngpu_value nngpu_surface(nngpu_instance *inst, uint64_t display, uint32_t window) {
    nngpu_value out = {.result = VK_ERROR_EXTENSION_NOT_PRESENT};
    create_xcb_surface create = (create_xcb_surface)inst->proc(inst->handle, "vkCreateXcbSurfaceKHR");
    xcb_surface_info info = {
        .sType = (VkStructureType)NNGPU_XCB_SURFACE_CREATE_INFO, .connection = connection(display), .window = window};
    if (create == NULL || info.connection == NULL) {
        return out;
    }
    VkSurfaceKHR surface = VK_NULL_HANDLE;
    out.result = create(inst->handle, &info, NULL, &surface);
    out.value = NNGPU_VALUE(surface);
    return out;
}

void nngpu_surface_destroy(nngpu_instance *inst, uint64_t surface) {
    PFN_vkDestroySurfaceKHR destroy = (PFN_vkDestroySurfaceKHR)inst->proc(inst->handle, "vkDestroySurfaceKHR");
    if (surface != 0 && destroy != NULL) {
        destroy(inst->handle, NNGPU_HANDLE(VkSurfaceKHR, surface), NULL);
    }
}

static VkResult query_formats(nngpu_instance *inst, VkPhysicalDevice physical, VkSurfaceKHR surface,
                              nngpu_surface_info *out) {
    PFN_vkGetPhysicalDeviceSurfaceFormatsKHR get = (PFN_vkGetPhysicalDeviceSurfaceFormatsKHR)inst->proc(
        inst->handle, "vkGetPhysicalDeviceSurfaceFormatsKHR");
    VkSurfaceFormatKHR list[NNGPU_MAX_FORMATS];
    uint32_t count = NNGPU_MAX_FORMATS;
    VkResult r = get(physical, surface, &count, list);
    if (r != VK_SUCCESS && r != VK_INCOMPLETE) {
        return r;
    }
    for (uint32_t i = 0; i < count; i++) {
        out->format[i][0] = list[i].format;
        out->format[i][1] = list[i].colorSpace;
    }
    out->formats = count;
    return VK_SUCCESS;
}

static VkResult query_modes(nngpu_instance *inst, VkPhysicalDevice physical, VkSurfaceKHR surface,
                            nngpu_surface_info *out) {
    PFN_vkGetPhysicalDeviceSurfacePresentModesKHR get = (PFN_vkGetPhysicalDeviceSurfacePresentModesKHR)inst->proc(
        inst->handle, "vkGetPhysicalDeviceSurfacePresentModesKHR");
    VkPresentModeKHR list[16];
    uint32_t count = 16;
    VkResult r = get(physical, surface, &count, list);
    if (r != VK_SUCCESS && r != VK_INCOMPLETE) {
        return r;
    }
    for (uint32_t i = 0; i < count; i++) {
        out->mailbox |= list[i] == VK_PRESENT_MODE_MAILBOX_KHR;
    }
    return VK_SUCCESS;
}

nngpu_surface_info nngpu_surface_query(nngpu_instance *inst, uint64_t device, uint32_t family, uint64_t handle) {
    nngpu_surface_info out = {0};
    VkPhysicalDevice physical = NNGPU_HANDLE(VkPhysicalDevice, device);
    VkSurfaceKHR surface = NNGPU_HANDLE(VkSurfaceKHR, handle);
    PFN_vkGetPhysicalDeviceSurfaceSupportKHR supports =
        (PFN_vkGetPhysicalDeviceSurfaceSupportKHR)inst->proc(inst->handle, "vkGetPhysicalDeviceSurfaceSupportKHR");
    PFN_vkGetPhysicalDeviceSurfaceCapabilitiesKHR get = (PFN_vkGetPhysicalDeviceSurfaceCapabilitiesKHR)inst->proc(
        inst->handle, "vkGetPhysicalDeviceSurfaceCapabilitiesKHR");
    VkBool32 supported = VK_FALSE;
    out.result = supports(physical, family, surface, &supported);
    if (out.result != VK_SUCCESS || !supported) {
        return out;
    }
    VkSurfaceCapabilitiesKHR caps = {0};
    out.result = get(physical, surface, &caps);
    if (out.result != VK_SUCCESS) {
        return out;
    }
    out.supported = 1;
    out.width = caps.currentExtent.width;
    out.height = caps.currentExtent.height;
    out.min_images = caps.minImageCount;
    out.max_images = caps.maxImageCount;
    out.usage = caps.supportedUsageFlags;
    out.transform = caps.currentTransform;
    out.alphas = caps.supportedCompositeAlpha;
    out.result = query_formats(inst, physical, surface, &out);
    if (out.result == VK_SUCCESS) {
        out.result = query_modes(inst, physical, surface, &out);
    }
    return out;
}
