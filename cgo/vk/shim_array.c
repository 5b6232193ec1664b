#include <stdlib.h>

#include "internal.h"
#include "shim_pipeline.h"

nngpu_value nngpu_array_layout(nngpu_device *dev, uint32_t most) {
    nngpu_value out = {0};
    VkDescriptorSetLayoutBinding binding = {
        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
        .descriptorCount = most,
        .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
    };
    // Only bindings that may be updated late have limits beyond a few dozen.
    VkDescriptorBindingFlags flags =
        VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT | VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT;
    VkDescriptorSetLayoutBindingFlagsCreateInfo binding_flags = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
        .bindingCount = 1,
        .pBindingFlags = &flags,
    };
    VkDescriptorSetLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .pNext = &binding_flags,
        .flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT,
        .bindingCount = 1,
        .pBindings = &binding,
    };
    VkDescriptorSetLayout layout = VK_NULL_HANDLE;
    out.result = dev->CreateDescriptorSetLayout(dev->handle, &info, NULL, &layout);
    out.value = NNGPU_VALUE(layout);
    return out;
}

static VkResult write_array(nngpu_device *dev, VkDescriptorSet set, VkBuffer buffer, uint64_t offset, uint64_t bytes,
                            uint32_t count) {
    VkDescriptorBufferInfo *list = malloc(count * sizeof *list);
    if (list == NULL) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        list[i] = (VkDescriptorBufferInfo){buffer, offset + i * bytes, bytes};
    }
    VkWriteDescriptorSet write = {
        .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
        .dstSet = set,
        .descriptorCount = count,
        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
        .pBufferInfo = list,
    };
    dev->UpdateDescriptorSets(dev->handle, 1, &write, 0, NULL);
    free(list);
    return VK_SUCCESS;
}

nngpu_array nngpu_array_create(nngpu_device *dev, uint64_t layout, uint64_t buffer, uint64_t offset, uint64_t bytes,
                               uint32_t count) {
    nngpu_array out = {0};
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, count};
    VkDescriptorPoolCreateInfo pool_info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .flags = VK_DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT,
        .maxSets = 1,
        .poolSizeCount = 1,
        .pPoolSizes = &size,
    };
    VkDescriptorPool pool = VK_NULL_HANDLE;
    out.result = dev->CreateDescriptorPool(dev->handle, &pool_info, NULL, &pool);
    if (out.result != VK_SUCCESS) {
        return out;
    }
    VkDescriptorSetLayout set_layout = NNGPU_HANDLE(VkDescriptorSetLayout, layout);
    VkDescriptorSetVariableDescriptorCountAllocateInfo counts = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO,
        .descriptorSetCount = 1,
        .pDescriptorCounts = &count,
    };
    VkDescriptorSetAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .pNext = &counts,
        .descriptorPool = pool,
        .descriptorSetCount = 1,
        .pSetLayouts = &set_layout,
    };
    VkDescriptorSet set = VK_NULL_HANDLE;
    out.result = dev->AllocateDescriptorSets(dev->handle, &info, &set);
    if (out.result == VK_SUCCESS) {
        out.result = write_array(dev, set, NNGPU_HANDLE(VkBuffer, buffer), offset, bytes, count);
    }
    if (out.result != VK_SUCCESS) {
        dev->DestroyDescriptorPool(dev->handle, pool, NULL);
        return out;
    }
    out.pool = NNGPU_VALUE(pool);
    out.set = NNGPU_VALUE(set);
    return out;
}
