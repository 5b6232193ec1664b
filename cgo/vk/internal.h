// What the C files of the shim share; not seen by Go.
#ifndef NNGPU_INTERNAL_H
#define NNGPU_INTERNAL_H

#define VK_NO_PROTOTYPES 1
#include <pthread.h>
#include <vulkan/vulkan.h>

#include "shim.h"

enum { NNGPU_RING = 64 }; // validation messages kept; later ones are counted, not kept

struct nngpu_instance {
    VkInstance handle;
    PFN_vkGetInstanceProcAddr proc;
    PFN_vkDestroyInstance destroy;
    VkDebugUtilsMessengerEXT messenger;
    PFN_vkDestroyDebugUtilsMessengerEXT destroy_messenger;
    pthread_mutex_t mu; // guards ring, first, count, lost
    char *ring[NNGPU_RING];
    uint32_t first, count;
    uint64_t lost;
};

// X lists the device functions that the shim calls. NNGPU_ALIAS names those that an extension may provide
// under another name on a 1.1 device.
#define NNGPU_DEVICE_FUNCTIONS(X) \
    X(DestroyDevice) X(GetDeviceQueue) X(DeviceWaitIdle) X(QueueSubmit) X(CreateSemaphore) X(DestroySemaphore) \
    X(CreateQueryPool) X(DestroyQueryPool) X(GetQueryPoolResults) \
    X(CreateDescriptorSetLayout) X(DestroyDescriptorSetLayout) X(CreatePipelineLayout) X(DestroyPipelineLayout) \
    X(CreateShaderModule) X(DestroyShaderModule) X(CreateComputePipelines) X(DestroyPipeline) \
    X(CreatePipelineCache) X(DestroyPipelineCache) X(GetPipelineCacheData) X(MergePipelineCaches) \
    X(CreateDescriptorPool) X(DestroyDescriptorPool) X(AllocateDescriptorSets) X(UpdateDescriptorSets) \
    X(CreateCommandPool) X(DestroyCommandPool) X(AllocateCommandBuffers) X(BeginCommandBuffer) X(EndCommandBuffer) \
    X(CmdBindPipeline) X(CmdBindDescriptorSets) X(CmdPushConstants) X(CmdDispatch) X(CmdDispatchBase) \
    X(CmdCopyBuffer) X(CmdFillBuffer) X(CmdPipelineBarrier) X(CmdResetQueryPool) X(CmdWriteTimestamp) \
    X(CreateBuffer) X(GetBufferMemoryRequirements2) X(AllocateMemory) X(CmdClearColorImage) X(CmdCopyBufferToImage) \
    X(CreateFence) X(DestroyFence) X(WaitForFences) X(ResetFences)

// Functions of extensions: NULL where the device was made without them.
#define NNGPU_EXTENSION_FUNCTIONS(X) \
    X(GetMemoryHostPointerPropertiesEXT) X(GetMemoryFdKHR) X(GetMemoryFdPropertiesKHR) X(GetSemaphoreFdKHR) \
    X(GetCalibratedTimestampsEXT) X(CreatePipelineBinariesKHR) X(DestroyPipelineBinaryKHR) X(GetPipelineKeyKHR) \
    X(GetPipelineBinaryDataKHR) X(ReleaseCapturedPipelineDataKHR) \
    X(CreateSwapchainKHR) X(DestroySwapchainKHR) X(GetSwapchainImagesKHR) X(AcquireNextImageKHR) X(QueuePresentKHR)

struct nngpu_device {
    VkDevice handle;
    VkQueue queue[NNGPU_MAX_QUEUES];
    VkSemaphore timeline[NNGPU_MAX_QUEUES]; // by queue
    uint32_t family;
#define X(name) PFN_vk##name name;
    NNGPU_DEVICE_FUNCTIONS(X)
    NNGPU_EXTENSION_FUNCTIONS(X)
#undef X
    PFN_vkWaitSemaphores WaitSemaphores;
    PFN_vkGetSemaphoreCounterValue GetSemaphoreCounterValue;
};

// nngpu_pipeline_chain is nngpu_pipeline with a pNext chain of VkComputePipelineCreateInfo, whose flags go before the
// usual ones.
nngpu_value nngpu_pipeline_chain(nngpu_device *dev, const uint32_t *code, uint64_t code_bytes, uint64_t layout,
                                 const uint32_t *local, uint64_t cache, const void *chain);

// Handles are 64 bits wide on the supported machines, dispatchable ones too.
_Static_assert(sizeof(VkBuffer) == 8 && sizeof(VkDevice) == 8, "64-bit machines only");

#define NNGPU_HANDLE(type, value) ((type)(uintptr_t)(value))
#define NNGPU_VALUE(handle) ((uint64_t)(uintptr_t)(handle))

#endif
