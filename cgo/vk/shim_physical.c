#include <stdlib.h>
#include <string.h>

#include "internal.h"

typedef struct extension_list {
    VkExtensionProperties *items;
    uint32_t count;
    VkResult result;
} extension_list;

static extension_list device_extensions(nngpu_instance *inst, VkPhysicalDevice physical) {
    extension_list out = {0};
    PFN_vkEnumerateDeviceExtensionProperties enumerate = (PFN_vkEnumerateDeviceExtensionProperties)inst->proc(
        inst->handle, "vkEnumerateDeviceExtensionProperties");
    out.result = enumerate(physical, NULL, &out.count, NULL);
    if (out.result != VK_SUCCESS || out.count == 0) {
        out.count = 0;
        return out;
    }
    out.items = calloc(out.count, sizeof *out.items);
    if (out.items == NULL) {
        out.count = 0;
        out.result = VK_ERROR_OUT_OF_HOST_MEMORY;
        return out;
    }
    out.result = enumerate(physical, NULL, &out.count, out.items);
    if (out.result == VK_INCOMPLETE) {
        out.result = VK_SUCCESS;
    }
    return out;
}

static int listed(const extension_list *list, const char *name) {
    for (uint32_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].extensionName, name) == 0) {
            return 1;
        }
    }
    return 0;
}

// A feature is there when the core version has it or the extension is listed.
static int available(const extension_list *list, uint32_t api, uint32_t core, const char *name) {
    return api >= core || listed(list, name);
}

static void query_features(nngpu_instance *inst, VkPhysicalDevice physical, nngpu_physical_info *out, int timeline,
                           int dot, int binary, int float16) {
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline_features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
    VkPhysicalDeviceShaderIntegerDotProductFeatures dot_features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES};
    VkPhysicalDevicePipelineBinaryFeaturesKHR binaries = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_BINARY_FEATURES_KHR};
    VkPhysicalDeviceMaintenance5FeaturesKHR maintenance5 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR, .pNext = &binaries};
    VkPhysicalDeviceShaderFloat16Int8Features float16_features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    void **tail = &features.pNext;
    if (timeline) {
        *tail = &timeline_features;
        tail = &timeline_features.pNext;
    }
    if (dot) {
        *tail = &dot_features;
        tail = &dot_features.pNext;
    }
    if (float16) {
        *tail = &float16_features;
        tail = &float16_features.pNext;
    }
    if (binary) {
        *tail = &maintenance5;
    }
    PFN_vkGetPhysicalDeviceFeatures2 get =
        (PFN_vkGetPhysicalDeviceFeatures2)inst->proc(inst->handle, "vkGetPhysicalDeviceFeatures2");
    get(physical, &features);
    out->timeline = timeline_features.timelineSemaphore;
    out->integer_dot = dot_features.shaderIntegerDotProduct;
    out->pipeline_binary = maintenance5.maintenance5 && binaries.pipelineBinaries;
    out->float16 = float16_features.shaderFloat16;
    out->int8 = float16_features.shaderInt8;
    out->robust = features.features.robustBufferAccess;
}

static void query_properties(nngpu_instance *inst, VkPhysicalDevice physical, nngpu_physical_info *out,
                             const extension_list *list, int driver, int dot, int host) {
    VkPhysicalDeviceMaintenance3Properties maintenance = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
    VkPhysicalDeviceSubgroupProperties subgroup = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, .pNext = &maintenance};
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES, .pNext = &subgroup};
    VkPhysicalDeviceDriverProperties driver_properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceShaderIntegerDotProductProperties dot_properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES};
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host_properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
    VkPhysicalDeviceShaderSMBuiltinsPropertiesNV sm_properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV};
    VkPhysicalDeviceShaderCoreProperties2AMD core2_properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &id};
    void **tail = &maintenance.pNext;
    if (listed(list, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME)) {
        *tail = &sm_properties;
        tail = &sm_properties.pNext;
    }
    if (listed(list, VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME)) {
        *tail = &core2_properties;
        tail = &core2_properties.pNext;
    }
    if (driver) {
        *tail = &driver_properties;
        tail = &driver_properties.pNext;
    }
    if (dot) {
        *tail = &dot_properties;
        tail = &dot_properties.pNext;
    }
    if (host) {
        *tail = &host_properties;
    }
    PFN_vkGetPhysicalDeviceProperties2 get =
        (PFN_vkGetPhysicalDeviceProperties2)inst->proc(inst->handle, "vkGetPhysicalDeviceProperties2");
    get(physical, &properties);
    out->host_align = host_properties.minImportedHostPointerAlignment;
    out->max_allocation = maintenance.maxMemoryAllocationSize;
    out->compute_units =
        sm_properties.shaderSMCount != 0 ? sm_properties.shaderSMCount : core2_properties.activeComputeUnitCount;
    out->subgroup_size = subgroup.subgroupSize;
    out->subgroup_ops = subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT ? subgroup.supportedOperations : 0;
    memcpy(out->device_uuid, id.deviceUUID, sizeof out->device_uuid);
    memcpy(out->driver_uuid, id.driverUUID, sizeof out->driver_uuid);
    out->driver_id = driver_properties.driverID;
    memcpy(out->driver_name, driver_properties.driverName, sizeof out->driver_name);
    memcpy(out->driver_info, driver_properties.driverInfo, sizeof out->driver_info);
    out->driver_name[sizeof out->driver_name - 1] = 0;
    out->driver_info[sizeof out->driver_info - 1] = 0;
    out->dot_fast = dot_properties.integerDotProduct4x8BitPackedSignedAccelerated &&
                    dot_properties.integerDotProduct4x8BitPackedUnsignedAccelerated &&
                    dot_properties.integerDotProduct4x8BitPackedMixedSignednessAccelerated;
}

static void query_both(nngpu_instance *inst, VkPhysicalDevice physical, VkPhysicalDeviceFeatures2 *features,
                       VkPhysicalDeviceProperties2 *properties) {
    PFN_vkGetPhysicalDeviceFeatures2 get_features =
        (PFN_vkGetPhysicalDeviceFeatures2)inst->proc(inst->handle, "vkGetPhysicalDeviceFeatures2");
    PFN_vkGetPhysicalDeviceProperties2 get_properties =
        (PFN_vkGetPhysicalDeviceProperties2)inst->proc(inst->handle, "vkGetPhysicalDeviceProperties2");
    get_features(physical, features);
    get_properties(physical, properties);
}

// has_matrices tells whether kernels can use cooperative matrices in full subgroups of a size that they state.
// Preconditions: Vulkan 1.3 and VK_KHR_cooperative_matrix.
static int has_matrices(nngpu_instance *inst, VkPhysicalDevice physical) {
    VkPhysicalDeviceVulkanMemoryModelFeatures memory_model = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES};
    VkPhysicalDeviceSubgroupSizeControlFeatures subgroups = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES, .pNext = &memory_model};
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, .pNext = &subgroups};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &matrix};
    VkPhysicalDeviceSubgroupSizeControlProperties sizes = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &sizes};
    query_both(inst, physical, &features, &properties);
    return matrix.cooperativeMatrix && memory_model.vulkanMemoryModel && subgroups.subgroupSizeControl &&
           subgroups.computeFullSubgroups && (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
}

// query_arrays reads how many storage buffers arrays may have. Precondition: Vulkan 1.2.
static void query_arrays(nngpu_instance *inst, VkPhysicalDevice physical, nngpu_physical_info *out) {
    VkPhysicalDeviceDescriptorIndexingFeatures indexing = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_INDEXING_FEATURES};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &indexing};
    VkPhysicalDeviceDescriptorIndexingProperties limits = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_INDEXING_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &limits};
    query_both(inst, physical, &features, &properties);
    if (!indexing.runtimeDescriptorArray || !indexing.descriptorBindingVariableDescriptorCount ||
        !indexing.descriptorBindingStorageBufferUpdateAfterBind ||
        !features.features.shaderStorageBufferArrayDynamicIndexing) {
        return;
    }
    const uint32_t others = 32; // resources of a kernel beside the array
    uint32_t most = limits.maxPerStageDescriptorUpdateAfterBindStorageBuffers;
    if (most > limits.maxDescriptorSetUpdateAfterBindStorageBuffers) {
        most = limits.maxDescriptorSetUpdateAfterBindStorageBuffers;
    }
    if (most > limits.maxPerStageUpdateAfterBindResources) {
        most = limits.maxPerStageUpdateAfterBindResources;
    }
    out->max_array = most > others ? most - others : 0;
    out->max_arrays = limits.maxUpdateAfterBindDescriptorsInAllPools;
}

// calibrates tells whether the device's clock and CLOCK_MONOTONIC can be read at one moment.
static int calibrates(nngpu_instance *inst, VkPhysicalDevice physical) {
    PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT get = (PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT)inst->proc(
        inst->handle, "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT");
    VkTimeDomainEXT domains[8];
    uint32_t count = 8;
    if (get == NULL || get(physical, &count, domains) < 0) {
        return 0;
    }
    int device = 0, monotonic = 0;
    for (uint32_t i = 0; i < count; i++) {
        device |= domains[i] == VK_TIME_DOMAIN_DEVICE_EXT;
        monotonic |= domains[i] == VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
    }
    return device && monotonic;
}

nngpu_physical_info nngpu_physical_query(nngpu_instance *inst, uint64_t handle, uint32_t api) {
    nngpu_physical_info out = {0};
    VkPhysicalDevice physical = NNGPU_HANDLE(VkPhysicalDevice, handle);
    if (api < VK_API_VERSION_1_1) {
        out.result = VK_ERROR_INCOMPATIBLE_DRIVER;
        return out;
    }
    extension_list list = device_extensions(inst, physical);
    out.result = list.result;
    if (list.result == VK_SUCCESS) {
        out.host_memory = listed(&list, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
        out.memory_fd = listed(&list, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
        out.dma_buf = out.memory_fd && listed(&list, VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME);
        out.semaphore_fd = listed(&list, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME);
        out.priority = listed(&list, VK_KHR_GLOBAL_PRIORITY_EXTENSION_NAME)   ? NNGPU_PRIORITY_KHR
                       : listed(&list, VK_EXT_GLOBAL_PRIORITY_EXTENSION_NAME) ? NNGPU_PRIORITY_EXT
                                                                              : 0;
        out.matrix = api >= VK_API_VERSION_1_3 && listed(&list, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME) &&
                     has_matrices(inst, physical);
        int dot = available(&list, api, VK_API_VERSION_1_3, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
        query_features(inst, physical, &out,
                       available(&list, api, VK_API_VERSION_1_2, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME), dot,
                       api >= VK_API_VERSION_1_3 && listed(&list, VK_KHR_PIPELINE_BINARY_EXTENSION_NAME) &&
                           listed(&list, VK_KHR_MAINTENANCE_5_EXTENSION_NAME),
                       available(&list, api, VK_API_VERSION_1_2, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME));
        if (api >= VK_API_VERSION_1_2) {
            query_arrays(inst, physical, &out);
        }
        out.calibrated =
            listed(&list, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME) && calibrates(inst, physical);
        query_properties(inst, physical, &out, &list,
                         available(&list, api, VK_API_VERSION_1_2, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME), dot,
                         out.host_memory);
        out.swapchain = listed(&list, VK_KHR_SWAPCHAIN_EXTENSION_NAME);
        out.budget = listed(&list, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
        PFN_vkGetPhysicalDeviceFormatProperties get_format = (PFN_vkGetPhysicalDeviceFormatProperties)inst->proc(
            inst->handle, "vkGetPhysicalDeviceFormatProperties");
        VkFormatProperties format = {0};
        get_format(physical, VK_FORMAT_R32G32B32A32_SFLOAT, &format);
        out.texel_rgba32f = (format.bufferFeatures & VK_FORMAT_FEATURE_STORAGE_TEXEL_BUFFER_BIT) != 0;
    }
    free(list.items);
    return out;
}

nngpu_budget nngpu_physical_budget(nngpu_instance *inst, uint64_t handle) {
    nngpu_budget out = {0};
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, .pNext = &budget};
    PFN_vkGetPhysicalDeviceMemoryProperties2 get =
        (PFN_vkGetPhysicalDeviceMemoryProperties2)inst->proc(inst->handle, "vkGetPhysicalDeviceMemoryProperties2");
    get(NNGPU_HANDLE(VkPhysicalDevice, handle), &properties);
    for (int i = 0; i < NNGPU_MAX_HEAPS; i++) {
        out.budget[i] = budget.heapBudget[i];
        out.usage[i] = budget.heapUsage[i];
    }
    return out;
}

nngpu_families nngpu_physical_families(nngpu_instance *inst, uint64_t handle) {
    nngpu_families out = {.count = 16};
    VkQueueFamilyProperties list[16];
    PFN_vkGetPhysicalDeviceQueueFamilyProperties get = (PFN_vkGetPhysicalDeviceQueueFamilyProperties)inst->proc(
        inst->handle, "vkGetPhysicalDeviceQueueFamilyProperties");
    get(NNGPU_HANDLE(VkPhysicalDevice, handle), &out.count, list);
    for (uint32_t i = 0; i < out.count; i++) {
        out.flags[i] = list[i].queueFlags;
        out.queues[i] = list[i].queueCount;
        out.timestamp_bits[i] = list[i].timestampValidBits;
    }
    return out;
}

nngpu_matrices nngpu_physical_matrices(nngpu_instance *inst, uint64_t handle) {
    nngpu_matrices out = {0};
    VkPhysicalDevice physical = NNGPU_HANDLE(VkPhysicalDevice, handle);
    extension_list list = device_extensions(inst, physical);
    int there = list.result == VK_SUCCESS && listed(&list, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
    free(list.items);
    PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR get =
        (PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)inst->proc(
            inst->handle, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    if (!there || get == NULL) {
        return out;
    }
    VkCooperativeMatrixPropertiesKHR found[NNGPU_MAX_MATRICES];
    memset(found, 0, sizeof found);
    for (int i = 0; i < NNGPU_MAX_MATRICES; i++) {
        found[i].sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
    }
    uint32_t count = NNGPU_MAX_MATRICES;
    VkResult result = get(physical, &count, found);
    if ((result != VK_SUCCESS && result != VK_INCOMPLETE) || count > NNGPU_MAX_MATRICES) {
        return out;
    }
    out.count = count;
    for (uint32_t i = 0; i < count; i++) {
        const VkCooperativeMatrixPropertiesKHR *p = &found[i];
        const uint32_t size[3] = {p->MSize, p->NSize, p->KSize};
        const uint32_t type[4] = {p->AType, p->BType, p->CType, p->ResultType};
        memcpy(out.size[i], size, sizeof size);
        memcpy(out.type[i], type, sizeof type);
        out.scope[i] = p->scope;
        out.saturating[i] = p->saturatingAccumulation;
    }
    return out;
}
