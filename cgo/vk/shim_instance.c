#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) {
    nngpu_instance *inst = user;
    (void)severity;
    (void)types;
    // The loader reports drivers of absent hardware through the messenger too; they are no fault of ours.
    if (data->pMessageIdName != NULL && strcmp(data->pMessageIdName, "Loader Message") == 0) {
        return VK_FALSE;
    }
    const char *text = data->pMessage != NULL ? data->pMessage : "(no text)";
    pthread_mutex_lock(&inst->mu);
    char *copy = inst->count < NNGPU_RING ? strdup(text) : NULL;
    if (copy != NULL) {
        inst->ring[(inst->first + inst->count) % NNGPU_RING] = copy;
        inst->count++;
    } else {
        inst->lost++;
    }
    pthread_mutex_unlock(&inst->mu);
    return VK_FALSE;
}

char *nngpu_instance_message(nngpu_instance *inst) {
    char *out = NULL;
    pthread_mutex_lock(&inst->mu);
    if (inst->count > 0) {
        out = inst->ring[inst->first];
        inst->first = (inst->first + 1) % NNGPU_RING;
        inst->count--;
    } else if (inst->lost > 0) {
        out = malloc(64);
        if (out != NULL) {
            snprintf(out, 64, "and %llu more messages", (unsigned long long)inst->lost);
        }
        inst->lost = 0;
    }
    pthread_mutex_unlock(&inst->mu);
    return out;
}

// has_extension asks the layer, or with NULL the loader and the drivers.
static int has_extension(PFN_vkEnumerateInstanceExtensionProperties enumerate, const char *layer, const char *name) {
    uint32_t count = 0;
    if (enumerate == NULL || enumerate(layer, &count, NULL) != VK_SUCCESS || count == 0) {
        return 0;
    }
    VkExtensionProperties *list = calloc(count, sizeof *list);
    int found = 0;
    if (list != NULL && enumerate(layer, &count, list) >= VK_SUCCESS) {
        for (uint32_t i = 0; i < count; i++) {
            found |= strcmp(list[i].extensionName, name) == 0;
        }
    }
    free(list);
    return found;
}

static const char *const validation_layer = "VK_LAYER_KHRONOS_validation";

static VkResult create(nngpu_instance *inst, uint32_t validate, int windows) {
    PFN_vkGetInstanceProcAddr proc = inst->proc;
    PFN_vkCreateInstance create_instance = (PFN_vkCreateInstance)proc(NULL, "vkCreateInstance");
    PFN_vkEnumerateInstanceExtensionProperties enumerate =
        (PFN_vkEnumerateInstanceExtensionProperties)proc(NULL, "vkEnumerateInstanceExtensionProperties");
    PFN_vkEnumerateInstanceVersion get_version =
        (PFN_vkEnumerateInstanceVersion)proc(NULL, "vkEnumerateInstanceVersion");
    uint32_t version = VK_API_VERSION_1_0;
    if (create_instance == NULL) {
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    if (get_version == NULL || get_version(&version) != VK_SUCCESS || version < VK_API_VERSION_1_1) {
        return VK_ERROR_INCOMPATIBLE_DRIVER;
    }
    VkApplicationInfo app = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pApplicationName = "nngpu",
        .pEngineName = "nngpu",
        .apiVersion = version < VK_API_VERSION_1_3 ? version : VK_API_VERSION_1_3,
    };
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
    const char *extensions[4];
    info.ppEnabledExtensionNames = extensions;
    VkDebugUtilsMessengerCreateInfoEXT messenger = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity =
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = inst,
    };
    VkValidationFeatureEnableEXT enabled = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    VkValidationFeaturesEXT features = {
        .sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
        .enabledValidationFeatureCount = 1,
        .pEnabledValidationFeatures = &enabled,
    };
    if (windows) {
        extensions[info.enabledExtensionCount++] = VK_KHR_SURFACE_EXTENSION_NAME;
        extensions[info.enabledExtensionCount++] = "VK_KHR_xcb_surface";
    }
    if (validate != 0) {
        info.enabledLayerCount = 1;
        info.ppEnabledLayerNames = &validation_layer;
        if (!has_extension(enumerate, NULL, VK_EXT_DEBUG_UTILS_EXTENSION_NAME) &&
            !has_extension(enumerate, validation_layer, VK_EXT_DEBUG_UTILS_EXTENSION_NAME)) {
            return VK_ERROR_LAYER_NOT_PRESENT;
        }
        extensions[info.enabledExtensionCount++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
        if ((validate & NNGPU_VALIDATE_SYNC) != 0 &&
            has_extension(enumerate, validation_layer, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME)) {
            extensions[info.enabledExtensionCount++] = VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME;
            info.pNext = &features;
        }
    }
    VkResult r = create_instance(&info, NULL, &inst->handle);
    if (r != VK_SUCCESS) {
        return r;
    }
    inst->destroy = (PFN_vkDestroyInstance)proc(inst->handle, "vkDestroyInstance");
    if (validate != 0) {
        PFN_vkCreateDebugUtilsMessengerEXT create_messenger =
            (PFN_vkCreateDebugUtilsMessengerEXT)proc(inst->handle, "vkCreateDebugUtilsMessengerEXT");
        inst->destroy_messenger =
            (PFN_vkDestroyDebugUtilsMessengerEXT)proc(inst->handle, "vkDestroyDebugUtilsMessengerEXT");
        if (create_messenger == NULL || inst->destroy_messenger == NULL) {
            return VK_ERROR_EXTENSION_NOT_PRESENT;
        }
        r = create_messenger(inst->handle, &messenger, NULL, &inst->messenger);
    }
    return r;
}

nngpu_instance_result nngpu_instance_create(void *proc, uint32_t validate, int windows) {
    nngpu_instance_result out = {0};
    nngpu_instance *inst = calloc(1, sizeof *inst);
    if (inst == NULL) {
        out.result = VK_ERROR_OUT_OF_HOST_MEMORY;
        return out;
    }
    inst->proc = (PFN_vkGetInstanceProcAddr)proc;
    pthread_mutex_init(&inst->mu, NULL);
    out.result = create(inst, validate, windows);
    if (out.result != VK_SUCCESS) {
        nngpu_instance_destroy(inst);
        return out;
    }
    out.handle = NNGPU_VALUE(inst->handle);
    out.instance = inst;
    return out;
}

void nngpu_instance_destroy(nngpu_instance *inst) {
    if (inst->messenger != VK_NULL_HANDLE) {
        inst->destroy_messenger(inst->handle, inst->messenger, NULL);
    }
    if (inst->handle != NULL && inst->destroy != NULL) {
        inst->destroy(inst->handle, NULL);
    }
    while (inst->count > 0) {
        free(inst->ring[inst->first]);
        inst->first = (inst->first + 1) % NNGPU_RING;
        inst->count--;
    }
    pthread_mutex_destroy(&inst->mu);
    free(inst);
}
