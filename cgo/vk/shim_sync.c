#include "internal.h"

uint32_t nngpu_physical_semaphore(nngpu_instance *inst, uint64_t physical, uint32_t type) {
    VkPhysicalDeviceExternalSemaphoreInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
        .handleType = (VkExternalSemaphoreHandleTypeFlagBits)type,
    };
    VkExternalSemaphoreProperties properties = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
    PFN_vkGetPhysicalDeviceExternalSemaphoreProperties get =
        (PFN_vkGetPhysicalDeviceExternalSemaphoreProperties)inst->proc(inst->handle,
                                                                       "vkGetPhysicalDeviceExternalSemaphoreProperties");
    get(NNGPU_HANDLE(VkPhysicalDevice, physical), &info, &properties);
    return properties.externalSemaphoreFeatures;
}

nngpu_value nngpu_semaphore(nngpu_device *dev, uint32_t type) {
    nngpu_value out = {0};
    VkExportSemaphoreCreateInfo export = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO, .handleTypes = type};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &export};
    VkSemaphore semaphore = VK_NULL_HANDLE;
    out.result = dev->CreateSemaphore(dev->handle, &info, NULL, &semaphore);
    out.value = NNGPU_VALUE(semaphore);
    return out;
}

void nngpu_semaphore_destroy(nngpu_device *dev, uint64_t semaphore) {
    dev->DestroySemaphore(dev->handle, NNGPU_HANDLE(VkSemaphore, semaphore), NULL);
}

nngpu_fd nngpu_semaphore_export(nngpu_device *dev, uint32_t queue, uint64_t handle, uint32_t type) {
    nngpu_fd out = {.result = VK_ERROR_EXTENSION_NOT_PRESENT, .fd = -1};
    if (dev->GetSemaphoreFdKHR == NULL) {
        return out;
    }
    VkSemaphore semaphore = NNGPU_HANDLE(VkSemaphore, handle);
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .signalSemaphoreCount = 1, .pSignalSemaphores = &semaphore};
    out.result = dev->QueueSubmit(dev->queue[queue], 1, &submit, VK_NULL_HANDLE);
    if (out.result == VK_SUCCESS) {
        VkSemaphoreGetFdInfoKHR info = {
            .sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
            .semaphore = semaphore,
            .handleType = (VkExternalSemaphoreHandleTypeFlagBits)type,
        };
        out.result = dev->GetSemaphoreFdKHR(dev->handle, &info, &out.fd);
    }
    return out;
}
