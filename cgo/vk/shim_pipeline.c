#include <stdlib.h>

#include "internal.h"
#include "shim_pipeline.h"

enum { MAX_BINDINGS = 32 };

nngpu_value nngpu_set_layout(nngpu_device *dev, const uint32_t *types, uint32_t count) {
    nngpu_value out = {0};
    VkDescriptorSetLayoutBinding bindings[MAX_BINDINGS];
    if (count > MAX_BINDINGS) {
        out.result = VK_ERROR_TOO_MANY_OBJECTS;
        return out;
    }
    for (uint32_t i = 0; i < count; i++) {
        bindings[i] = (VkDescriptorSetLayoutBinding){
            .binding = i,
            .descriptorType = (VkDescriptorType)types[i],
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        };
    }
    VkDescriptorSetLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = count,
        .pBindings = bindings,
    };
    VkDescriptorSetLayout layout = VK_NULL_HANDLE;
    out.result = dev->CreateDescriptorSetLayout(dev->handle, &info, NULL, &layout);
    out.value = NNGPU_VALUE(layout);
    return out;
}

nngpu_value nngpu_pipeline_layout(nngpu_device *dev, uint64_t set_layout, uint64_t array_layout, uint32_t push_bytes) {
    nngpu_value out = {0};
    VkDescriptorSetLayout sets[2] = {NNGPU_HANDLE(VkDescriptorSetLayout, set_layout),
                                     NNGPU_HANDLE(VkDescriptorSetLayout, array_layout)};
    VkPushConstantRange range = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = push_bytes};
    VkPipelineLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = array_layout != 0 ? 2 : 1,
        .pSetLayouts = sets,
        .pushConstantRangeCount = push_bytes > 0,
        .pPushConstantRanges = &range,
    };
    VkPipelineLayout layout = VK_NULL_HANDLE;
    out.result = dev->CreatePipelineLayout(dev->handle, &info, NULL, &layout);
    out.value = NNGPU_VALUE(layout);
    return out;
}

nngpu_value nngpu_pipeline(nngpu_device *dev, const uint32_t *code, uint64_t code_bytes, uint64_t layout,
                           const uint32_t *local, uint64_t cache) {
    return nngpu_pipeline_chain(dev, code, code_bytes, layout, local, cache, NULL);
}

nngpu_value nngpu_pipeline_chain(nngpu_device *dev, const uint32_t *code, uint64_t code_bytes, uint64_t layout,
                                 const uint32_t *local, uint64_t cache, const void *chain) {
    nngpu_value out = {0};
    VkShaderModuleCreateInfo module_info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = code_bytes,
        .pCode = code,
    };
    VkShaderModule module = VK_NULL_HANDLE;
    out.result = dev->CreateShaderModule(dev->handle, &module_info, NULL, &module);
    if (out.result != VK_SUCCESS) {
        return out;
    }
    VkSpecializationMapEntry entries[3]; // those that the module does not have are ignored
    for (uint32_t i = 0; i < 3; i++) {
        entries[i] = (VkSpecializationMapEntry){.constantID = i, .offset = i * sizeof *local, .size = sizeof *local};
    }
    VkSpecializationInfo constants = {
        .mapEntryCount = 3, .pMapEntries = entries, .dataSize = 3 * sizeof *local, .pData = local};
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO, .requiredSubgroupSize = local[3]};
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .pNext = chain,
        .flags = VK_PIPELINE_CREATE_DISPATCH_BASE_BIT,
        .stage = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
            .pNext = local[3] != 0 ? &subgroup : NULL,
            .flags = local[3] != 0 ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT : 0,
            .stage = VK_SHADER_STAGE_COMPUTE_BIT,
            .module = module,
            .pName = "main",
            .pSpecializationInfo = &constants,
        },
        .layout = NNGPU_HANDLE(VkPipelineLayout, layout),
    };
    VkPipeline pipeline = VK_NULL_HANDLE;
    out.result = dev->CreateComputePipelines(dev->handle, NNGPU_HANDLE(VkPipelineCache, cache), 1, &info, NULL, &pipeline);
    dev->DestroyShaderModule(dev->handle, module, NULL);
    out.value = NNGPU_VALUE(pipeline);
    return out;
}

nngpu_value nngpu_pipeline_cache(nngpu_device *dev, const uint8_t *data, uint64_t bytes) {
    nngpu_value out = {0};
    VkPipelineCacheCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
        .initialDataSize = bytes,
        .pInitialData = data,
    };
    VkPipelineCache cache = VK_NULL_HANDLE;
    out.result = dev->CreatePipelineCache(dev->handle, &info, NULL, &cache);
    out.value = NNGPU_VALUE(cache);
    return out;
}

nngpu_value nngpu_pipeline_cache_data(nngpu_device *dev, uint64_t cache, uint8_t *data, uint64_t bytes) {
    nngpu_value out = {0};
    size_t size = bytes;
    out.result = dev->GetPipelineCacheData(dev->handle, NNGPU_HANDLE(VkPipelineCache, cache), &size,
                                           bytes > 0 ? data : NULL);
    out.value = size;
    return out;
}

int32_t nngpu_pipeline_cache_merge(nngpu_device *dev, uint64_t into, uint64_t from) {
    VkPipelineCache source = NNGPU_HANDLE(VkPipelineCache, from);
    return dev->MergePipelineCaches(dev->handle, NNGPU_HANDLE(VkPipelineCache, into), 1, &source);
}

void nngpu_destroy(nngpu_device *dev, uint32_t kind, uint64_t handle) {
    switch (kind) {
    case NNGPU_SET_LAYOUT:
        dev->DestroyDescriptorSetLayout(dev->handle, NNGPU_HANDLE(VkDescriptorSetLayout, handle), NULL);
        break;
    case NNGPU_PIPELINE_LAYOUT:
        dev->DestroyPipelineLayout(dev->handle, NNGPU_HANDLE(VkPipelineLayout, handle), NULL);
        break;
    case NNGPU_PIPELINE:
        dev->DestroyPipeline(dev->handle, NNGPU_HANDLE(VkPipeline, handle), NULL);
        break;
    case NNGPU_PIPELINE_CACHE:
        dev->DestroyPipelineCache(dev->handle, NNGPU_HANDLE(VkPipelineCache, handle), NULL);
        break;
    case NNGPU_DESCRIPTOR_POOL:
        dev->DestroyDescriptorPool(dev->handle, NNGPU_HANDLE(VkDescriptorPool, handle), NULL);
        break;
    case NNGPU_COMMAND_POOL:
        dev->DestroyCommandPool(dev->handle, NNGPU_HANDLE(VkCommandPool, handle), NULL);
        break;
    }
}

nngpu_value nngpu_descriptor_pool(nngpu_device *dev, uint32_t sets, uint32_t storage, uint32_t uniform_texel,
                                  uint32_t storage_texel) {
    nngpu_value out = {0};
    VkDescriptorPoolSize sizes[3];
    uint32_t count = 0;
    if (storage > 0) {
        sizes[count++] = (VkDescriptorPoolSize){VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, storage};
    }
    if (uniform_texel > 0) {
        sizes[count++] = (VkDescriptorPoolSize){VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, uniform_texel};
    }
    if (storage_texel > 0) {
        sizes[count++] = (VkDescriptorPoolSize){VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, storage_texel};
    }
    VkDescriptorPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = sets,
        .poolSizeCount = count,
        .pPoolSizes = sizes,
    };
    VkDescriptorPool pool = VK_NULL_HANDLE;
    out.result = dev->CreateDescriptorPool(dev->handle, &info, NULL, &pool);
    out.value = NNGPU_VALUE(pool);
    return out;
}

int32_t nngpu_descriptor_sets(nngpu_device *dev, uint64_t pool, const uint64_t *layouts, uint32_t count,
                              uint64_t *sets) {
    VkDescriptorSetAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = NNGPU_HANDLE(VkDescriptorPool, pool),
        .descriptorSetCount = count,
        .pSetLayouts = (const VkDescriptorSetLayout *)layouts,
    };
    return dev->AllocateDescriptorSets(dev->handle, &info, (VkDescriptorSet *)sets);
}

int32_t nngpu_descriptor_write(nngpu_device *dev, const nngpu_write *writes, uint32_t count) {
    VkWriteDescriptorSet *list = calloc(count, sizeof *list);
    VkDescriptorBufferInfo *buffers = calloc(count, sizeof *buffers);
    VkBufferView *views = calloc(count, sizeof *views);
    int32_t result = VK_ERROR_OUT_OF_HOST_MEMORY;
    if (count > 0 && list != NULL && buffers != NULL && views != NULL) {
        for (uint32_t i = 0; i < count; i++) {
            const nngpu_write *w = &writes[i];
            list[i] = (VkWriteDescriptorSet){
                .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                .dstSet = NNGPU_HANDLE(VkDescriptorSet, w->set),
                .dstBinding = w->binding,
                .descriptorCount = 1,
                .descriptorType = (VkDescriptorType)w->type,
            };
            if (w->type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER) {
                buffers[i] = (VkDescriptorBufferInfo){NNGPU_HANDLE(VkBuffer, w->buffer), w->offset, w->range};
                list[i].pBufferInfo = &buffers[i];
            } else {
                views[i] = NNGPU_HANDLE(VkBufferView, w->buffer);
                list[i].pTexelBufferView = &views[i];
            }
        }
        dev->UpdateDescriptorSets(dev->handle, count, list, 0, NULL);
        result = VK_SUCCESS;
    }
    if (count == 0) {
        result = VK_SUCCESS;
    }
    free(list);
    free(buffers);
    free(views);
    return result;
}
