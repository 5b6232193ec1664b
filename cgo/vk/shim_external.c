#include "internal.h"

uint32_t nngpu_physical_external(nngpu_instance *inst, uint64_t physical, uint32_t usage, uint32_t type) {
    VkPhysicalDeviceExternalBufferInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
        .usage = usage,
        .handleType = (VkExternalMemoryHandleTypeFlagBits)type,
    };
    VkExternalBufferProperties properties = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    PFN_vkGetPhysicalDeviceExternalBufferProperties get = (PFN_vkGetPhysicalDeviceExternalBufferProperties)inst->proc(
        inst->handle, "vkGetPhysicalDeviceExternalBufferProperties");
    get(NNGPU_HANDLE(VkPhysicalDevice, physical), &info, &properties);
    return properties.externalMemoryProperties.externalMemoryFeatures;
}

nngpu_value nngpu_external_buffer(nngpu_device *dev, uint64_t bytes, uint32_t usage, uint32_t type) {
    nngpu_value out = {0};
    VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, .handleTypes = type};
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .pNext = &external, .size = bytes, .usage = usage};
    VkBuffer buffer = VK_NULL_HANDLE;
    out.result = dev->CreateBuffer(dev->handle, &info, NULL, &buffer);
    out.value = NNGPU_VALUE(buffer);
    return out;
}

nngpu_requirements nngpu_buffer_requirements(nngpu_device *dev, uint64_t buffer) {
    VkBufferMemoryRequirementsInfo2 info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2, .buffer = NNGPU_HANDLE(VkBuffer, buffer)};
    VkMemoryDedicatedRequirements dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
    VkMemoryRequirements2 need = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2, .pNext = &dedicated};
    dev->GetBufferMemoryRequirements2(dev->handle, &info, &need);
    nngpu_requirements out = {
        .size = need.memoryRequirements.size,
        .align = need.memoryRequirements.alignment,
        .types = need.memoryRequirements.memoryTypeBits,
        .dedicated = dedicated.requiresDedicatedAllocation,
    };
    return out;
}

nngpu_value nngpu_allocate(nngpu_device *dev, nngpu_allocation a) {
    nngpu_value out = {0};
    VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .buffer = NNGPU_HANDLE(VkBuffer, a.dedicated)};
    VkImportMemoryHostPointerInfoEXT host = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
        .pHostPointer = (void *)(uintptr_t)a.host,
    };
    VkImportMemoryFdInfoKHR fd = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
        .handleType = (VkExternalMemoryHandleTypeFlagBits)a.import_type,
        .fd = a.fd,
    };
    VkExportMemoryAllocateInfo export = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, .handleTypes = a.export_type};
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = a.bytes,
        .memoryTypeIndex = a.memory_type,
    };
    const void **tail = &info.pNext;
    if (a.dedicated != 0) {
        *tail = &dedicated;
        tail = &dedicated.pNext;
    }
    if (a.host != 0) {
        *tail = &host;
        tail = &host.pNext;
    }
    if (a.import_type != 0) {
        *tail = &fd;
        tail = &fd.pNext;
    }
    if (a.export_type != 0) {
        *tail = &export;
    }
    VkDeviceMemory memory = VK_NULL_HANDLE;
    out.result = dev->AllocateMemory(dev->handle, &info, NULL, &memory);
    out.value = NNGPU_VALUE(memory);
    return out;
}

nngpu_value nngpu_host_types(nngpu_device *dev, uint64_t host) {
    nngpu_value out = {.result = VK_ERROR_EXTENSION_NOT_PRESENT};
    VkMemoryHostPointerPropertiesEXT properties = {.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    if (dev->GetMemoryHostPointerPropertiesEXT != NULL) {
        out.result = dev->GetMemoryHostPointerPropertiesEXT(
            dev->handle, VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, (void *)(uintptr_t)host, &properties);
        out.value = properties.memoryTypeBits;
    }
    return out;
}

nngpu_value nngpu_fd_types(nngpu_device *dev, uint32_t type, int32_t fd) {
    nngpu_value out = {.result = VK_ERROR_EXTENSION_NOT_PRESENT};
    VkMemoryFdPropertiesKHR properties = {.sType = VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR};
    if (dev->GetMemoryFdPropertiesKHR != NULL) {
        out.result =
            dev->GetMemoryFdPropertiesKHR(dev->handle, (VkExternalMemoryHandleTypeFlagBits)type, fd, &properties);
        out.value = properties.memoryTypeBits;
    }
    return out;
}

nngpu_fd nngpu_export_fd(nngpu_device *dev, uint64_t memory, uint32_t type) {
    nngpu_fd out = {.result = VK_ERROR_EXTENSION_NOT_PRESENT, .fd = -1};
    VkMemoryGetFdInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
        .memory = NNGPU_HANDLE(VkDeviceMemory, memory),
        .handleType = (VkExternalMemoryHandleTypeFlagBits)type,
    };
    if (dev->GetMemoryFdKHR != NULL) {
        out.result = dev->GetMemoryFdKHR(dev->handle, &info, &out.fd);
    }
    return out;
}
