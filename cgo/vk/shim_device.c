#include <stdlib.h>
#include <time.h>

#include "internal.h"

// load finds the device functions; 0 when one is missing.
static int load(nngpu_instance *inst, nngpu_device *dev) {
    PFN_vkGetDeviceProcAddr get =
        (PFN_vkGetDeviceProcAddr)inst->proc(inst->handle, "vkGetDeviceProcAddr");
    int ok = 1;
#define X(name) \
    dev->name = (PFN_vk##name)get(dev->handle, "vk" #name); \
    ok &= dev->name != NULL;
    NNGPU_DEVICE_FUNCTIONS(X)
#undef X
#define X(name) dev->name = (PFN_vk##name)get(dev->handle, "vk" #name);
    NNGPU_EXTENSION_FUNCTIONS(X)
#undef X
    dev->WaitSemaphores = (PFN_vkWaitSemaphores)get(dev->handle, "vkWaitSemaphores");
    if (dev->WaitSemaphores == NULL) {
        dev->WaitSemaphores = (PFN_vkWaitSemaphores)get(dev->handle, "vkWaitSemaphoresKHR");
    }
    dev->GetSemaphoreCounterValue = (PFN_vkGetSemaphoreCounterValue)get(dev->handle, "vkGetSemaphoreCounterValue");
    if (dev->GetSemaphoreCounterValue == NULL) {
        dev->GetSemaphoreCounterValue =
            (PFN_vkGetSemaphoreCounterValue)get(dev->handle, "vkGetSemaphoreCounterValueKHR");
    }
    return ok && dev->WaitSemaphores != NULL && dev->GetSemaphoreCounterValue != NULL;
}

static VkResult create(nngpu_instance *inst, nngpu_device *dev, VkPhysicalDevice physical, uint32_t api,
                       nngpu_queues queues, uint32_t features) {
    const char *extensions[15];
    const float priorities[NNGPU_MAX_QUEUES] = {1, 0.25f};
    VkDeviceQueueGlobalPriorityCreateInfoKHR global = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_GLOBAL_PRIORITY_CREATE_INFO_KHR,
        .globalPriority = (VkQueueGlobalPriorityKHR)queues.priority,
    };
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .pNext = queues.priority != 0 ? &global : NULL,
        .queueFamilyIndex = queues.family,
        .queueCount = queues.shared ? 1 : queues.count,
        .pQueuePriorities = priorities,
    };
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, .timelineSemaphore = VK_TRUE};
    VkPhysicalDeviceShaderIntegerDotProductFeatures dot = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES,
        .shaderIntegerDotProduct = VK_TRUE};
    VkPhysicalDeviceShaderFloat16Int8Features float16 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
        .shaderFloat16 = (features & NNGPU_FEATURE_FLOAT16) != 0,
        .shaderInt8 = (features & NNGPU_FEATURE_INT8) != 0};
    VkPhysicalDevicePipelineBinaryFeaturesKHR binaries = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_BINARY_FEATURES_KHR, .pipelineBinaries = VK_TRUE};
    VkPhysicalDeviceMaintenance5FeaturesKHR maintenance5 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR, .pNext = &binaries, .maintenance5 = VK_TRUE};
    VkPhysicalDeviceVulkanMemoryModelFeatures memory_model = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES, .vulkanMemoryModel = VK_TRUE};
    VkPhysicalDeviceSubgroupSizeControlFeatures subgroups = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES,
        .pNext = &memory_model,
        .subgroupSizeControl = VK_TRUE,
        .computeFullSubgroups = VK_TRUE};
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
        .pNext = &subgroups,
        .cooperativeMatrix = VK_TRUE};
    VkPhysicalDeviceDescriptorIndexingFeatures indexing = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_INDEXING_FEATURES,
        .runtimeDescriptorArray = VK_TRUE,
        .descriptorBindingVariableDescriptorCount = VK_TRUE,
        .descriptorBindingStorageBufferUpdateAfterBind = VK_TRUE};
    VkPhysicalDeviceFeatures core = {
        .robustBufferAccess = (features & NNGPU_FEATURE_ROBUST) != 0,
        .shaderStorageBufferArrayDynamicIndexing = (features & NNGPU_FEATURE_ARRAYS) != 0};
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = &timeline,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
        .ppEnabledExtensionNames = extensions,
        .pEnabledFeatures = &core,
    };
    if (api < VK_API_VERSION_1_2) {
        extensions[info.enabledExtensionCount++] = VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME;
    }
    if ((features & NNGPU_FEATURE_INTEGER_DOT) != 0) {
        timeline.pNext = &dot;
        if (api < VK_API_VERSION_1_3) {
            extensions[info.enabledExtensionCount++] = VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME;
        }
    }
    if (queues.priority != 0) {
        extensions[info.enabledExtensionCount++] = queues.priority_extension == NNGPU_PRIORITY_KHR
                                                       ? VK_KHR_GLOBAL_PRIORITY_EXTENSION_NAME
                                                       : VK_EXT_GLOBAL_PRIORITY_EXTENSION_NAME;
    }
    if ((features & NNGPU_FEATURE_HOST_MEMORY) != 0) {
        extensions[info.enabledExtensionCount++] = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
    }
    if ((features & (NNGPU_FEATURE_MEMORY_FD | NNGPU_FEATURE_DMA_BUF)) != 0) {
        extensions[info.enabledExtensionCount++] = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
    }
    if ((features & NNGPU_FEATURE_DMA_BUF) != 0) {
        extensions[info.enabledExtensionCount++] = VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME;
    }
    if ((features & NNGPU_FEATURE_SEMAPHORE_FD) != 0) {
        extensions[info.enabledExtensionCount++] = VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME;
    }
    if ((features & (NNGPU_FEATURE_FLOAT16 | NNGPU_FEATURE_INT8)) != 0) {
        float16.pNext = (void *)info.pNext;
        info.pNext = &float16;
        if (api < VK_API_VERSION_1_2) {
            extensions[info.enabledExtensionCount++] = VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME;
        }
    }
    if ((features & NNGPU_FEATURE_ARRAYS) != 0) { // on 1.2, which has it
        indexing.pNext = (void *)info.pNext;
        info.pNext = &indexing;
    }
    if ((features & NNGPU_FEATURE_CALIBRATED) != 0) {
        extensions[info.enabledExtensionCount++] = VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;
    }
    if ((features & NNGPU_FEATURE_SWAPCHAIN) != 0) {
        extensions[info.enabledExtensionCount++] = VK_KHR_SWAPCHAIN_EXTENSION_NAME;
    }
    if ((features & NNGPU_FEATURE_MATRIX) != 0) { // on 1.3, which has the other two
        memory_model.pNext = (void *)info.pNext;
        info.pNext = &matrix;
        extensions[info.enabledExtensionCount++] = VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME;
    }
    if ((features & NNGPU_FEATURE_PIPELINE_BINARY) != 0) {
        binaries.pNext = (void *)info.pNext;
        info.pNext = &maintenance5;
        extensions[info.enabledExtensionCount++] = VK_KHR_PIPELINE_BINARY_EXTENSION_NAME;
        extensions[info.enabledExtensionCount++] = VK_KHR_MAINTENANCE_5_EXTENSION_NAME;
    }
    PFN_vkCreateDevice create_device = (PFN_vkCreateDevice)inst->proc(inst->handle, "vkCreateDevice");
    VkResult r = create_device(physical, &info, NULL, &dev->handle);
    if (r != VK_SUCCESS) {
        dev->handle = NULL;
        return r;
    }
    if (!load(inst, dev)) {
        return VK_ERROR_INCOMPATIBLE_DRIVER;
    }
    VkSemaphoreTypeCreateInfo type = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    for (uint32_t i = 0; i < queues.count && r == VK_SUCCESS; i++) {
        dev->GetDeviceQueue(dev->handle, dev->family, queues.shared ? 0 : i, &dev->queue[i]);
        r = dev->CreateSemaphore(dev->handle, &semaphore, NULL, &dev->timeline[i]);
    }
    return r;
}

nngpu_device_result nngpu_device_create(nngpu_instance *inst, uint64_t physical, uint32_t api, nngpu_queues queues,
                                        uint32_t features) {
    nngpu_device_result out = {0};
    if (queues.count == 0 || queues.count > NNGPU_MAX_QUEUES) {
        out.result = VK_ERROR_UNKNOWN;
        return out;
    }
    nngpu_device *dev = calloc(1, sizeof *dev);
    if (dev == NULL) {
        out.result = VK_ERROR_OUT_OF_HOST_MEMORY;
        return out;
    }
    dev->family = queues.family;
    out.result = create(inst, dev, NNGPU_HANDLE(VkPhysicalDevice, physical), api, queues, features);
    if (out.result != VK_SUCCESS) {
        nngpu_device_destroy(dev);
        return out;
    }
    out.handle = NNGPU_VALUE(dev->handle);
    out.device = dev;
    return out;
}

void nngpu_device_destroy(nngpu_device *dev) {
    if (dev->handle != NULL && dev->DestroyDevice != NULL) {
        for (uint32_t i = 0; i < NNGPU_MAX_QUEUES; i++) {
            if (dev->timeline[i] != VK_NULL_HANDLE) {
                dev->DestroySemaphore(dev->handle, dev->timeline[i], NULL);
            }
        }
        dev->DestroyDevice(dev->handle, NULL);
    }
    free(dev);
}

int32_t nngpu_device_idle(nngpu_device *dev) { return dev->DeviceWaitIdle(dev->handle); }

int32_t nngpu_submit(nngpu_device *dev, uint32_t queue, const uint64_t *cmds, uint32_t count, uint64_t value) {
    VkTimelineSemaphoreSubmitInfo timeline = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .signalSemaphoreValueCount = 1,
        .pSignalSemaphoreValues = &value,
    };
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
        .pNext = &timeline,
        .commandBufferCount = count,
        .pCommandBuffers = (const VkCommandBuffer *)cmds, // handles are 64 bits wide, see internal.h
        .signalSemaphoreCount = 1,
        .pSignalSemaphores = &dev->timeline[queue],
    };
    return dev->QueueSubmit(dev->queue[queue], 1, &info, VK_NULL_HANDLE);
}

int32_t nngpu_wait(nngpu_device *dev, uint32_t queue, uint64_t value, uint64_t timeout_ns) {
    VkSemaphoreWaitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
        .semaphoreCount = 1,
        .pSemaphores = &dev->timeline[queue],
        .pValues = &value,
    };
    return dev->WaitSemaphores(dev->handle, &info, timeout_ns);
}

// relax tells the processor that a loop waits.
static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

static uint64_t monotonic_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int32_t nngpu_spin(nngpu_device *dev, uint32_t queue, uint64_t value, uint64_t spin_ns) {
    const uint64_t begin = monotonic_ns();
    do {
        uint64_t reached = 0;
        VkResult r = dev->GetSemaphoreCounterValue(dev->handle, dev->timeline[queue], &reached);
        if (r != VK_SUCCESS || reached >= value) {
            return r;
        }
        relax();
    } while (monotonic_ns() - begin < spin_ns);
    return VK_TIMEOUT;
}

nngpu_value nngpu_reached(nngpu_device *dev, uint32_t queue) {
    nngpu_value out = {0};
    out.result = dev->GetSemaphoreCounterValue(dev->handle, dev->timeline[queue], &out.value);
    return out;
}

nngpu_value nngpu_query_pool(nngpu_device *dev, uint32_t count) {
    nngpu_value out = {0};
    VkQueryPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = VK_QUERY_TYPE_TIMESTAMP,
        .queryCount = count,
    };
    VkQueryPool pool = VK_NULL_HANDLE;
    out.result = dev->CreateQueryPool(dev->handle, &info, NULL, &pool);
    out.value = NNGPU_VALUE(pool);
    return out;
}

void nngpu_query_pool_destroy(nngpu_device *dev, uint64_t pool) {
    dev->DestroyQueryPool(dev->handle, NNGPU_HANDLE(VkQueryPool, pool), NULL);
}

int32_t nngpu_timestamps(nngpu_device *dev, uint64_t pool, uint32_t first, uint32_t count, uint64_t *out) {
    return dev->GetQueryPoolResults(dev->handle, NNGPU_HANDLE(VkQueryPool, pool), first, count,
                                    count * sizeof *out, out, sizeof *out, VK_QUERY_RESULT_64_BIT);
}

nngpu_moment nngpu_calibrate(nngpu_device *dev) {
    nngpu_moment out = {.result = VK_ERROR_EXTENSION_NOT_PRESENT};
    if (dev->GetCalibratedTimestampsEXT == NULL) {
        return out;
    }
    const VkCalibratedTimestampInfoEXT clocks[2] = {
        {.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, .timeDomain = VK_TIME_DOMAIN_DEVICE_EXT},
        {.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, .timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT},
    };
    uint64_t now[2] = {0};
    out.result = dev->GetCalibratedTimestampsEXT(dev->handle, 2, clocks, now, &out.deviation_ns);
    out.ticks = now[0];
    out.host_ns = now[1];
    return out;
}
