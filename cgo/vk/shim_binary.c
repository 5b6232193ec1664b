#include <string.h>

#include "internal.h"
#include "shim_pipeline.h"

// No software implementation has VK_KHR_pipeline_binary: this file follows the specification and has not met a driver.

static VkResult missing(const nngpu_device *dev) {
    return dev->CreatePipelineBinariesKHR != NULL && dev->DestroyPipelineBinaryKHR != NULL && dev->GetPipelineKeyKHR != NULL &&
                   dev->GetPipelineBinaryDataKHR != NULL && dev->ReleaseCapturedPipelineDataKHR != NULL
               ? VK_SUCCESS
               : VK_ERROR_EXTENSION_NOT_PRESENT;
}

static void copy_key(nngpu_binary *out, const VkPipelineBinaryKeyKHR *key) {
    out->key_bytes = key->keySize <= sizeof out->key ? key->keySize : 0;
    memcpy(out->key, key->key, out->key_bytes);
}

nngpu_binary nngpu_binary_global_key(nngpu_device *dev) {
    nngpu_binary out = {.result = missing(dev)};
    VkPipelineBinaryKeyKHR key = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR};
    if (out.result == VK_SUCCESS) {
        out.result = dev->GetPipelineKeyKHR(dev->handle, NULL, &key);
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
    VkPipelineCreateFlags2CreateInfoKHR flags = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR,
        .flags = VK_PIPELINE_CREATE_2_DISPATCH_BASE_BIT_KHR,
    };
    VkPipelineBinaryInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR,
        .binaryCount = count,
        .pPipelineBinaries = (const VkPipelineBinaryKHR *)binaries, // handles are 64 bits wide, see internal.h
    };
    if (count > 0) {
        flags.pNext = &info;
    } else {
        flags.flags |= VK_PIPELINE_CREATE_2_CAPTURE_DATA_BIT_KHR;
    }
    return nngpu_pipeline_chain(dev, code, code_bytes, layout, local, 0, &flags); // no cache: it is forbidden here
}

nngpu_value nngpu_binary_capture(nngpu_device *dev, uint64_t pipeline, uint64_t *binaries, uint32_t max) {
    nngpu_value out = {.result = missing(dev)};
    if (out.result != VK_SUCCESS) {
        return out;
    }
    VkPipelineBinaryCreateInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_CREATE_INFO_KHR,
        .pipeline = NNGPU_HANDLE(VkPipeline, pipeline),
    };
    VkPipelineBinaryHandlesInfoKHR handles = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_HANDLES_INFO_KHR};
    out.result = dev->CreatePipelineBinariesKHR(dev->handle, &info, NULL, &handles); // counts
    if (out.result != VK_SUCCESS || handles.pipelineBinaryCount > max) {
        out.result = out.result != VK_SUCCESS ? out.result : VK_ERROR_TOO_MANY_OBJECTS;
        return out;
    }
    memset(binaries, 0, max * sizeof *binaries);
    handles.pPipelineBinaries = (VkPipelineBinaryKHR *)binaries;
    out.result = dev->CreatePipelineBinariesKHR(dev->handle, &info, NULL, &handles);
    out.value = handles.pipelineBinaryCount;
    return out;
}

int32_t nngpu_binary_release(nngpu_device *dev, uint64_t pipeline) {
    VkReleaseCapturedPipelineDataInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_RELEASE_CAPTURED_PIPELINE_DATA_INFO_KHR,
        .pipeline = NNGPU_HANDLE(VkPipeline, pipeline),
    };
    VkResult r = missing(dev);
    return r == VK_SUCCESS ? dev->ReleaseCapturedPipelineDataKHR(dev->handle, &info, NULL) : r;
}

nngpu_binary nngpu_binary_data(nngpu_device *dev, uint64_t binary, uint8_t *data, uint64_t bytes) {
    nngpu_binary out = {.result = missing(dev)};
    if (out.result != VK_SUCCESS) {
        return out;
    }
    VkPipelineBinaryDataInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_DATA_INFO_KHR,
        .pipelineBinary = NNGPU_HANDLE(VkPipelineBinaryKHR, binary),
    };
    VkPipelineBinaryKeyKHR key = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR};
    size_t size = bytes;
    out.result = dev->GetPipelineBinaryDataKHR(dev->handle, &info, &key, &size, bytes > 0 ? data : NULL);
    out.bytes = size;
    copy_key(&out, &key);
    return out;
}

nngpu_value nngpu_binary_create(nngpu_device *dev, const uint8_t *key, uint32_t key_bytes, const uint8_t *data,
                                uint64_t bytes) {
    nngpu_value out = {.result = missing(dev)};
    VkPipelineBinaryKeyKHR k = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR, .keySize = key_bytes};
    if (out.result != VK_SUCCESS || key_bytes > sizeof k.key) {
        out.result = out.result != VK_SUCCESS ? out.result : VK_ERROR_UNKNOWN;
        return out;
    }
    memcpy(k.key, key, key_bytes);
    VkPipelineBinaryDataKHR d = {.dataSize = bytes, .pData = (void *)data};
    VkPipelineBinaryKeysAndDataKHR both = {.binaryCount = 1, .pPipelineBinaryKeys = &k, .pPipelineBinaryData = &d};
    VkPipelineBinaryCreateInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_CREATE_INFO_KHR, .pKeysAndDataInfo = &both};
    VkPipelineBinaryKHR binary = VK_NULL_HANDLE;
    VkPipelineBinaryHandlesInfoKHR handles = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_HANDLES_INFO_KHR,
        .pipelineBinaryCount = 1,
        .pPipelineBinaries = &binary,
    };
    out.result = dev->CreatePipelineBinariesKHR(dev->handle, &info, NULL, &handles);
    out.value = NNGPU_VALUE(binary);
    return out;
}

void nngpu_binary_destroy(nngpu_device *dev, uint64_t binary) {
    if (binary != 0 && dev->DestroyPipelineBinaryKHR != NULL) {
        dev->DestroyPipelineBinaryKHR(dev->handle, NNGPU_HANDLE(VkPipelineBinaryKHR, binary), NULL);
    }
}
