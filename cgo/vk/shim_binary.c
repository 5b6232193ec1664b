#include <string.h>

#include "internal.h"

// No software implementation has VK_KHR_pipeline_binary: this file follows the specification and has not met a driver.

static VkResult missing(const nngpu_device *dev) {
    return dev->CreatePipelineBinaries != NULL && dev->DestroyPipelineBinary != NULL && dev->GetPipelineKey != NULL &&
                   dev->GetPipelineBinaryData != NULL && dev->ReleaseCapturedData != NULL
               ? VK_SUCCESS
               : VK_ERROR_EXTENSION_NOT_PRESENT;
}

static void copy_key(nngpu_binary *out, const NngpuPipelineBinaryKey *key) {
    out->key_bytes = key->keySize <= sizeof out->key ? key->keySize : 0;
    memcpy(out->key, key->key, out->key_bytes);
}

nngpu_binary nngpu_binary_global_key(nngpu_device *dev) {
    nngpu_binary out = {.result = missing(dev)};
    NngpuPipelineBinaryKey key = {.sType = (VkStructureType)NNGPU_STYPE_PIPELINE_BINARY_KEY};
    if (out.result == VK_SUCCESS) {
        out.result = dev->GetPipelineKey(dev->handle, NULL, &key);
        copy_key(&out, &key);
    }
    return out;
}

nngpu_value nngpu_pipeline_binary(nngpu_device *dev, const uint32_t *code, uint64_t code_bytes, uint64_t layout,
                                  const uint32_t *local, const uint64_t *binaries, uint32_t count) {
    nngpu_value out = {.result = missing(dev)};
    if (out.result != VK_SUCCESS) {
        return out;
    }
    NngpuPipelineCreateFlags2 flags = {
        .sType = (VkStructureType)NNGPU_STYPE_PIPELINE_CREATE_FLAGS_2,
        .flags = NNGPU_PIPELINE_CREATE_2_DISPATCH_BASE,
    };
    NngpuPipelineBinaryInfo info = {
        .sType = (VkStructureType)NNGPU_STYPE_PIPELINE_BINARY_INFO,
        .binaryCount = count,
        .pPipelineBinaries = (const NngpuPipelineBinary *)binaries, // handles are 64 bits wide, see internal.h
    };
    if (count > 0) {
        flags.pNext = &info;
    } else {
        flags.flags |= NNGPU_PIPELINE_CREATE_2_CAPTURE_DATA;
    }
    return nngpu_pipeline_chain(dev, code, code_bytes, layout, local, 0, &flags); // no cache: it is forbidden here
}

nngpu_value nngpu_binary_capture(nngpu_device *dev, uint64_t pipeline, uint64_t *binaries, uint32_t max) {
    nngpu_value out = {.result = missing(dev)};
    if (out.result != VK_SUCCESS) {
        return out;
    }
    NngpuPipelineBinaryCreateInfo info = {
        .sType = (VkStructureType)NNGPU_STYPE_PIPELINE_BINARY_CREATE_INFO,
        .pipeline = NNGPU_HANDLE(VkPipeline, pipeline),
    };
    NngpuPipelineBinaryHandlesInfo handles = {.sType = (VkStructureType)NNGPU_STYPE_PIPELINE_BINARY_HANDLES_INFO};
    out.result = dev->CreatePipelineBinaries(dev->handle, &info, NULL, &handles); // counts
    if (out.result != VK_SUCCESS || handles.pipelineBinaryCount > max) {
        out.result = out.result != VK_SUCCESS ? out.result : VK_ERROR_TOO_MANY_OBJECTS;
        return out;
    }
    memset(binaries, 0, max * sizeof *binaries);
    handles.pPipelineBinaries = (NngpuPipelineBinary *)binaries;
    out.result = dev->CreatePipelineBinaries(dev->handle, &info, NULL, &handles);
    out.value = handles.pipelineBinaryCount;
    return out;
}

int32_t nngpu_binary_release(nngpu_device *dev, uint64_t pipeline) {
    NngpuReleaseCapturedPipelineData info = {
        .sType = (VkStructureType)NNGPU_STYPE_RELEASE_CAPTURED_PIPELINE_DATA,
        .pipeline = NNGPU_HANDLE(VkPipeline, pipeline),
    };
    VkResult r = missing(dev);
    return r == VK_SUCCESS ? dev->ReleaseCapturedData(dev->handle, &info, NULL) : r;
}

nngpu_binary nngpu_binary_data(nngpu_device *dev, uint64_t binary, uint8_t *data, uint64_t bytes) {
    nngpu_binary out = {.result = missing(dev)};
    if (out.result != VK_SUCCESS) {
        return out;
    }
    NngpuPipelineBinaryDataInfo info = {
        .sType = (VkStructureType)NNGPU_STYPE_PIPELINE_BINARY_DATA_INFO,
        .pipelineBinary = NNGPU_HANDLE(NngpuPipelineBinary, binary),
    };
    NngpuPipelineBinaryKey key = {.sType = (VkStructureType)NNGPU_STYPE_PIPELINE_BINARY_KEY};
    size_t size = bytes;
    out.result = dev->GetPipelineBinaryData(dev->handle, &info, &key, &size, bytes > 0 ? data : NULL);
    out.bytes = size;
    copy_key(&out, &key);
    return out;
}

nngpu_value nngpu_binary_create(nngpu_device *dev, const uint8_t *key, uint32_t key_bytes, const uint8_t *data,
                                uint64_t bytes) {
    nngpu_value out = {.result = missing(dev)};
    NngpuPipelineBinaryKey k = {.sType = (VkStructureType)NNGPU_STYPE_PIPELINE_BINARY_KEY, .keySize = key_bytes};
    if (out.result != VK_SUCCESS || key_bytes > sizeof k.key) {
        out.result = out.result != VK_SUCCESS ? out.result : VK_ERROR_UNKNOWN;
        return out;
    }
    memcpy(k.key, key, key_bytes);
    NngpuPipelineBinaryData d = {.dataSize = bytes, .pData = (void *)data};
    NngpuPipelineBinaryKeysAndData both = {.binaryCount = 1, .pPipelineBinaryKeys = &k, .pPipelineBinaryData = &d};
    NngpuPipelineBinaryCreateInfo info = {
        .sType = (VkStructureType)NNGPU_STYPE_PIPELINE_BINARY_CREATE_INFO, .pKeysAndDataInfo = &both};
    NngpuPipelineBinary binary = VK_NULL_HANDLE;
    NngpuPipelineBinaryHandlesInfo handles = {
        .sType = (VkStructureType)NNGPU_STYPE_PIPELINE_BINARY_HANDLES_INFO,
        .pipelineBinaryCount = 1,
        .pPipelineBinaries = &binary,
    };
    out.result = dev->CreatePipelineBinaries(dev->handle, &info, NULL, &handles);
    out.value = NNGPU_VALUE(binary);
    return out;
}

void nngpu_binary_destroy(nngpu_device *dev, uint64_t binary) {
    if (binary != 0 && dev->DestroyPipelineBinary != NULL) {
        dev->DestroyPipelineBinary(dev->handle, NNGPU_HANDLE(NngpuPipelineBinary, binary), NULL);
    }
}
