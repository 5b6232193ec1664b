// What the shim needs of VK_KHR_pipeline_binary (revision 1) and of VK_KHR_maintenance5, which it builds on: both are
// newer than the headers in include/. Values and layouts are those of the Vulkan specification 1.4,
// https://registry.khronos.org/vulkan/specs/latest/html/vkspec.html#VK_KHR_pipeline_binary; names have the prefix
// Nngpu, so that newer headers do not clash.
#ifndef NNGPU_PIPELINE_BINARY_H
#define NNGPU_PIPELINE_BINARY_H

#include <vulkan/vulkan.h>

#define NNGPU_PIPELINE_BINARY_EXTENSION "VK_KHR_pipeline_binary"
#define NNGPU_MAINTENANCE_5_EXTENSION "VK_KHR_maintenance5"

enum {
    NNGPU_STYPE_MAINTENANCE_5_FEATURES = 1000470000,
    NNGPU_STYPE_PIPELINE_CREATE_FLAGS_2 = 1000470005,
    NNGPU_STYPE_PIPELINE_BINARY_FEATURES = 1000483000,
    NNGPU_STYPE_PIPELINE_BINARY_CREATE_INFO = 1000483001,
    NNGPU_STYPE_PIPELINE_BINARY_INFO = 1000483002,
    NNGPU_STYPE_PIPELINE_BINARY_KEY = 1000483003,
    NNGPU_STYPE_RELEASE_CAPTURED_PIPELINE_DATA = 1000483005,
    NNGPU_STYPE_PIPELINE_BINARY_DATA_INFO = 1000483006,
    NNGPU_STYPE_PIPELINE_BINARY_HANDLES_INFO = 1000483009,
};

#define NNGPU_PIPELINE_CREATE_2_DISPATCH_BASE 0x10ULL
#define NNGPU_PIPELINE_CREATE_2_CAPTURE_DATA 0x80000000ULL

VK_DEFINE_NON_DISPATCHABLE_HANDLE(NngpuPipelineBinary)

typedef struct NngpuOneFeature { // VkPhysicalDevice{Maintenance5,PipelineBinary}FeaturesKHR: one VkBool32 each
    VkStructureType sType;
    void *pNext;
    VkBool32 feature;
} NngpuOneFeature;

typedef struct NngpuPipelineCreateFlags2 {
    VkStructureType sType;
    const void *pNext;
    uint64_t flags;
} NngpuPipelineCreateFlags2;

typedef struct NngpuPipelineBinaryKey {
    VkStructureType sType;
    void *pNext;
    uint32_t keySize;
    uint8_t key[32];
} NngpuPipelineBinaryKey;

typedef struct NngpuPipelineBinaryData {
    size_t dataSize;
    void *pData;
} NngpuPipelineBinaryData;

typedef struct NngpuPipelineBinaryKeysAndData {
    uint32_t binaryCount;
    const NngpuPipelineBinaryKey *pPipelineBinaryKeys;
    const NngpuPipelineBinaryData *pPipelineBinaryData;
} NngpuPipelineBinaryKeysAndData;

typedef struct NngpuPipelineBinaryCreateInfo {
    VkStructureType sType;
    const void *pNext;
    const NngpuPipelineBinaryKeysAndData *pKeysAndDataInfo;
    VkPipeline pipeline;
    const void *pPipelineCreateInfo;
} NngpuPipelineBinaryCreateInfo;

typedef struct NngpuPipelineBinaryInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t binaryCount;
    const NngpuPipelineBinary *pPipelineBinaries;
} NngpuPipelineBinaryInfo;

typedef struct NngpuReleaseCapturedPipelineData {
    VkStructureType sType;
    void *pNext;
    VkPipeline pipeline;
} NngpuReleaseCapturedPipelineData;

typedef struct NngpuPipelineBinaryDataInfo {
    VkStructureType sType;
    void *pNext;
    NngpuPipelineBinary pipelineBinary;
} NngpuPipelineBinaryDataInfo;

typedef struct NngpuPipelineBinaryHandlesInfo {
    VkStructureType sType;
    const void *pNext;
    uint32_t pipelineBinaryCount;
    NngpuPipelineBinary *pPipelineBinaries;
} NngpuPipelineBinaryHandlesInfo;

typedef VkResult(VKAPI_PTR *NngpuCreatePipelineBinaries)(VkDevice, const NngpuPipelineBinaryCreateInfo *,
                                                         const VkAllocationCallbacks *,
                                                         NngpuPipelineBinaryHandlesInfo *);
typedef void(VKAPI_PTR *NngpuDestroyPipelineBinary)(VkDevice, NngpuPipelineBinary, const VkAllocationCallbacks *);
typedef VkResult(VKAPI_PTR *NngpuGetPipelineKey)(VkDevice, const void *, NngpuPipelineBinaryKey *);
typedef VkResult(VKAPI_PTR *NngpuGetPipelineBinaryData)(VkDevice, const NngpuPipelineBinaryDataInfo *,
                                                        NngpuPipelineBinaryKey *, size_t *, void *);
typedef VkResult(VKAPI_PTR *NngpuReleaseCapturedData)(VkDevice, const NngpuReleaseCapturedPipelineData *,
                                                      const VkAllocationCallbacks *);

#endif
