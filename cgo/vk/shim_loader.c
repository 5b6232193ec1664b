#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

nngpu_library nngpu_load(const char *path, int icd) {
    nngpu_library out = {0};
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (lib == NULL) {
        const char *why = dlerror();
        out.error = strdup(why != NULL ? why : "dlopen failed");
        return out;
    }
    out.proc = dlsym(lib, icd ? "vk_icdGetInstanceProcAddr" : "vkGetInstanceProcAddr");
    if (out.proc == NULL) {
        out.error = strdup("not a Vulkan library: no entry point");
        dlclose(lib);
        return out;
    }
    if (icd) {
        // Tell the implementation which loader interface it is used with; from version 5 on it leaves
        // checking the API version to the implementation itself.
        // https://github.com/KhronosGroup/Vulkan-Loader/blob/main/docs/LoaderDriverInterface.md
        int32_t (*negotiate)(uint32_t *) = (int32_t(*)(uint32_t *))dlsym(lib, "vk_icdNegotiateLoaderICDInterfaceVersion");
        uint32_t version = 5;
        if (negotiate != NULL) {
            negotiate(&version);
        }
    }
    return out;
}

void nngpu_free(char *p) { free(p); }

char *nngpu_setenv(const char *name, const char *value) {
    const char *old = getenv(name);
    char *copy = old != NULL ? strdup(old) : NULL;
    if (value != NULL) {
        setenv(name, value, 1);
    } else {
        unsetenv(name);
    }
    return copy;
}
