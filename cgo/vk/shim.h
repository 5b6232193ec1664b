// The C side of package vk. No Vulkan header is needed here: handles travel as uint64_t, enumerations
// and flags as uint32_t with their Vulkan values, VkResult as int32_t.
#ifndef NNGPU_SHIM_H
#define NNGPU_SHIM_H

#include <stdint.h>

typedef struct nngpu_instance nngpu_instance;
typedef struct nngpu_device nngpu_device;

// ---- shim_loader.c ----

typedef struct nngpu_library {
    void *proc;  // vkGetInstanceProcAddr, NULL on failure
    char *error; // malloc'ed text on failure, else NULL
} nngpu_library;

// nngpu_load opens a Vulkan library and finds its entry point; `icd` is 1 for an implementation that is
// used without a loader (symbol vk_icdGetInstanceProcAddr).
//
// Ownership: the library is never closed; the caller frees `error` with nngpu_free.
// Threads:   any.
// Blocking:  runs the library's constructors.    Go memory: none; path is C memory.
nngpu_library nngpu_load(const char *path, int icd);

// nngpu_free is free().
//
// Ownership: takes p.    Threads: any.    Blocking: no.    Go memory: none.
void nngpu_free(char *p);

// nngpu_setenv sets (or, with value NULL, removes) a variable of the C environment and returns a
// malloc'ed copy of its former value, NULL when there was none.
//
// Ownership: borrows both strings; the caller frees the result with nngpu_free.
// Threads:   callers hold one process-wide lock; other C code must not read the environment meanwhile.
// Blocking:  no.    Go memory: none; strings are C memory.
char *nngpu_setenv(const char *name, const char *value);

// ---- shim_instance.c, shim_physical.c ----

enum { NNGPU_VALIDATE_CORE = 1, NNGPU_VALIDATE_SYNC = 2 };

typedef struct nngpu_instance_result {
    int32_t result;
    uint64_t handle;          // VkInstance
    nngpu_instance *instance; // NULL on failure
} nngpu_instance_result;

// nngpu_instance_create makes a VkInstance for the newest API version that the loader knows; `proc` is
// vkGetInstanceProcAddr, `validate` a set of NNGPU_VALIDATE bits; with `windows` it can make surfaces of X11 windows.
//
// Ownership: the result belongs to the caller: nngpu_instance_destroy.
// Threads:   any, but the environment must not change meanwhile.
// Blocking:  loads drivers.    Go memory: none.
nngpu_instance_result nngpu_instance_create(void *proc, uint32_t validate, int windows);

// nngpu_instance_destroy destroys the instance and its messenger.
//
// Ownership: takes inst; its devices must be gone.    Threads: no other use of inst at the same time.
// Blocking:  no.    Go memory: none.
void nngpu_instance_destroy(nngpu_instance *inst);

// nngpu_instance_message takes the oldest validation message out of the ring; NULL when it is empty.
//
// Ownership: the caller frees the result with nngpu_free.    Threads: any.
// Blocking:  a mutex, briefly.    Go memory: none.
char *nngpu_instance_message(nngpu_instance *inst);

enum { NNGPU_PRIORITY_KHR = 1, NNGPU_PRIORITY_EXT = 2 }; // VK_KHR_global_priority and its older name

typedef struct nngpu_physical_info {
    int32_t result;
    uint32_t timeline;      // timeline semaphores: feature present
    uint32_t integer_dot;   // shaderIntegerDotProduct: feature present
    uint32_t dot_fast;      // 4x8-bit packed signed, unsigned and mixed are all reported as accelerated
    uint32_t robust;        // robustBufferAccess: feature present
    uint32_t compute_units; // VK_NV_shader_sm_builtins or VK_AMD_shader_core_properties2; 0 when unknown
    uint32_t subgroup_size;
    uint32_t subgroup_ops;  // VkSubgroupFeatureFlags, 0 where compute shaders have none
    uint32_t driver_id;     // VkDriverId, 0 when unknown
    uint32_t texel_rgba32f; // storage texel buffers of R32G32B32A32_SFLOAT
    uint32_t budget;        // VK_EXT_memory_budget
    uint32_t host_memory;   // VK_EXT_external_memory_host
    uint32_t memory_fd;     // VK_KHR_external_memory_fd
    uint32_t dma_buf;       // VK_EXT_external_memory_dma_buf, with VK_KHR_external_memory_fd
    uint32_t priority;      // NNGPU_PRIORITY_KHR or NNGPU_PRIORITY_EXT, 0 without either
    uint32_t semaphore_fd;    // VK_KHR_external_semaphore_fd
    uint32_t pipeline_binary; // VK_KHR_pipeline_binary, with VK_KHR_maintenance5, on 1.3: features present
    uint32_t float16;         // shaderFloat16: feature present
    uint32_t int8;            // shaderInt8: feature present
    uint32_t matrix;          // NNGPU_FEATURE_MATRIX can be asked for
    uint32_t swapchain;       // VK_KHR_swapchain
    uint32_t calibrated;      // VK_EXT_calibrated_timestamps, for the device's clock and CLOCK_MONOTONIC
    uint32_t max_array;       // storage buffers of one nngpu_array; 0: NNGPU_FEATURE_ARRAYS cannot be asked for
    uint32_t max_arrays;      // storage buffers of all arrays that there are at once
    uint64_t host_align;    // minImportedHostPointerAlignment, bytes
    uint64_t max_allocation;
    char driver_name[256];
    char driver_info[256];
    uint8_t device_uuid[16];
    uint8_t driver_uuid[16];
} nngpu_physical_info;

// nngpu_physical_query reads the properties and features that the binding does not know. Structures are
// chained only where the device's version or extensions define them.
//
// Ownership: result by value.    Threads: any.    Blocking: no.    Go memory: none.
nngpu_physical_info nngpu_physical_query(nngpu_instance *inst, uint64_t physical, uint32_t api);

enum { NNGPU_MAX_HEAPS = 16 }; // VK_MAX_MEMORY_HEAPS

typedef struct nngpu_budget {
    uint64_t budget[NNGPU_MAX_HEAPS]; // by heap, bytes; 0 when unknown
    uint64_t usage[NNGPU_MAX_HEAPS];  // bytes
} nngpu_budget;

// nngpu_physical_budget reads VK_EXT_memory_budget. Precondition: the device has it.
//
// Ownership: result by value.    Threads: any.    Blocking: no.    Go memory: none.
nngpu_budget nngpu_physical_budget(nngpu_instance *inst, uint64_t physical);

typedef struct nngpu_families {
    uint32_t count; // at most 16
    uint32_t flags[16];
    uint32_t queues[16];
    uint32_t timestamp_bits[16];
} nngpu_families;

// nngpu_physical_families reads the queue families. (The binding's call frees the array that the driver
// writes, when the garbage collector runs.)
//
// Ownership: result by value.    Threads: any.    Blocking: no.    Go memory: none.
nngpu_families nngpu_physical_families(nngpu_instance *inst, uint64_t physical);

enum { NNGPU_MAX_MATRICES = 128 };

typedef struct nngpu_matrices {
    uint32_t count;
    uint32_t size[NNGPU_MAX_MATRICES][3]; // M, N, K
    uint32_t type[NNGPU_MAX_MATRICES][4]; // VkComponentTypeKHR of A, B, C and the result
    uint32_t scope[NNGPU_MAX_MATRICES];   // VkScopeKHR
    uint32_t saturating[NNGPU_MAX_MATRICES];
} nngpu_matrices;

// nngpu_physical_matrices reads the products of VK_KHR_cooperative_matrix; none where the device lacks it.
//
// Ownership: result by value.    Threads: any.    Blocking: no.    Go memory: none.
nngpu_matrices nngpu_physical_matrices(nngpu_instance *inst, uint64_t physical);

// ---- shim_device.c ----

enum {
    NNGPU_FEATURE_INTEGER_DOT = 1,
    NNGPU_FEATURE_ROBUST = 2,
    NNGPU_FEATURE_HOST_MEMORY = 4, // VK_EXT_external_memory_host
    NNGPU_FEATURE_MEMORY_FD = 8,   // VK_KHR_external_memory_fd
    NNGPU_FEATURE_DMA_BUF = 16,    // VK_EXT_external_memory_dma_buf and VK_KHR_external_memory_fd
    NNGPU_FEATURE_PIPELINE_BINARY = 32, // VK_KHR_pipeline_binary and VK_KHR_maintenance5
    NNGPU_FEATURE_SEMAPHORE_FD = 64,    // VK_KHR_external_semaphore_fd
    NNGPU_FEATURE_FLOAT16 = 128,        // shaderFloat16
    NNGPU_FEATURE_CALIBRATED = 256,     // VK_EXT_calibrated_timestamps
    NNGPU_FEATURE_INT8 = 512,           // shaderInt8
    NNGPU_FEATURE_MATRIX = 1024,        // VK_KHR_cooperative_matrix, the Vulkan memory model, control of subgroups
    NNGPU_FEATURE_SWAPCHAIN = 2048,     // VK_KHR_swapchain; the instance was made with windows
    NNGPU_FEATURE_ARRAYS = 4096,        // descriptor indexing: nngpu_array
};

enum { NNGPU_MAX_QUEUES = 2 };

typedef struct nngpu_queues {
    uint32_t family;
    uint32_t count;    // 1 to NNGPU_MAX_QUEUES and what the family has
    uint32_t priority; // VkQueueGlobalPriorityKHR of all of them, 0 for the driver's own choice
    uint32_t priority_extension; // NNGPU_PRIORITY_KHR or NNGPU_PRIORITY_EXT, if priority is not 0
    uint32_t shared; // 1: one queue of the driver stands for all
} nngpu_queues;

typedef struct nngpu_device_result {
    int32_t result;
    uint64_t handle;      // VkDevice
    nngpu_device *device; // NULL on failure
} nngpu_device_result;

// nngpu_device_create makes a device with `features` and queues, each with a timeline semaphore (value 0). Among each
// other, later queues have a lower priority than the first.
//
// Ownership: the result belongs to the caller: nngpu_device_destroy. inst must outlive it.
// Threads:   any.    Blocking: may start the driver's threads.    Go memory: none.
nngpu_device_result nngpu_device_create(nngpu_instance *inst, uint64_t physical, uint32_t api,
                                        nngpu_queues queues, uint32_t features);

// nngpu_device_destroy destroys device and semaphores.
//
// Ownership: takes dev; everything made from it must be gone and its queues idle.
// Threads:   no other use of dev at the same time.    Blocking: no.    Go memory: none.
void nngpu_device_destroy(nngpu_device *dev);

// nngpu_device_idle waits until the queues have nothing left to do.
//
// Ownership: borrows dev.    Threads: caller holds the locks of all queues.
// Blocking:  until the device is idle.    Go memory: none.
int32_t nngpu_device_idle(nngpu_device *dev);

// nngpu_submit submits command buffers to a queue, in order; its timeline reaches `value` when all are done.
//
// Ownership: borrows every handle; the caller keeps the command buffers and what they name until then.
// Threads:   caller holds the queue's lock (queues are externally synchronized).
// Blocking:  does not wait for the device.    Go memory: cmds is read during the call only.
int32_t nngpu_submit(nngpu_device *dev, uint32_t queue, const uint64_t *cmds, uint32_t count, uint64_t value);

// nngpu_wait waits, at most timeout_ns, for the timeline of a queue to reach `value`; VK_TIMEOUT (2) if it did not.
//
// Ownership: borrows dev.    Threads: any.    Blocking: up to timeout_ns.    Go memory: none.
int32_t nngpu_wait(nngpu_device *dev, uint32_t queue, uint64_t value, uint64_t timeout_ns);

// nngpu_spin is nngpu_wait without sleep: it reads the timeline again and again.
//
// Ownership: borrows dev.    Threads: any.    Blocking: up to spin_ns, on a core.    Go memory: none.
int32_t nngpu_spin(nngpu_device *dev, uint32_t queue, uint64_t value, uint64_t spin_ns);

typedef struct nngpu_value {
    int32_t result;
    uint64_t value;
} nngpu_value;

// nngpu_reached reads the timeline of a queue.
//
// Ownership: borrows dev.    Threads: any.    Blocking: no.    Go memory: none.
nngpu_value nngpu_reached(nngpu_device *dev, uint32_t queue);

typedef struct nngpu_moment {
    int32_t result;
    uint64_t ticks;        // of the device's timestamps
    uint64_t host_ns;      // of CLOCK_MONOTONIC
    uint64_t deviation_ns; // by how much the two may be apart
} nngpu_moment;

// nngpu_calibrate reads the device's clock and the host's at one moment. VK_ERROR_EXTENSION_NOT_PRESENT where the device
// was made without NNGPU_FEATURE_CALIBRATED.
//
// Ownership: result by value.    Threads: any.    Blocking: no.    Go memory: none.
nngpu_moment nngpu_calibrate(nngpu_device *dev);

// nngpu_query_pool makes a pool of `count` timestamps.
//
// Ownership: the result belongs to the caller.    Threads: any.    Blocking: no.    Go memory: none.
nngpu_value nngpu_query_pool(nngpu_device *dev, uint32_t count);

// nngpu_query_pool_destroy destroys a pool.
//
// Ownership: takes pool; no pending work may use it.    Threads: no other use of pool.
// Blocking:  no.    Go memory: none.
void nngpu_query_pool_destroy(nngpu_device *dev, uint64_t pool);

// nngpu_timestamps reads `count` timestamps from `first` on. Precondition: the timeline has reached the
// value of the submission that wrote them (some drivers block here otherwise).
//
// Ownership: borrows pool.    Threads: pool is not in use elsewhere.
// Blocking:  no, given the precondition.    Go memory: out is written during the call only.
int32_t nngpu_timestamps(nngpu_device *dev, uint64_t pool, uint32_t first, uint32_t count, uint64_t *out);

// ---- shim_external.c ----

// nngpu_physical_external returns the VkExternalMemoryFeatureFlags of buffers of the given usage and handles of a type.
// Precondition: the device has the extension that defines the type.
//
// Ownership: result by value.    Threads: any.    Blocking: no.    Go memory: none.
uint32_t nngpu_physical_external(nngpu_instance *inst, uint64_t physical, uint32_t usage, uint32_t type);

// nngpu_external_buffer makes a buffer without memory, which may be bound to memory of a handle type.
//
// Ownership: the result belongs to the caller.    Threads: any.    Blocking: no.    Go memory: none.
nngpu_value nngpu_external_buffer(nngpu_device *dev, uint64_t bytes, uint32_t usage, uint32_t type);

typedef struct nngpu_requirements {
    uint64_t size, align;
    uint32_t types;     // bit i: memory type i will do
    uint32_t dedicated; // the memory must be made for this buffer alone
} nngpu_requirements;

// nngpu_buffer_requirements asks what memory a buffer wants.
//
// Ownership: borrows buffer.    Threads: any.    Blocking: no.    Go memory: none.
nngpu_requirements nngpu_buffer_requirements(nngpu_device *dev, uint64_t buffer);

typedef struct nngpu_allocation {
    uint64_t bytes;
    uint64_t dedicated;   // VkBuffer that the memory is made for, 0 for none
    uint64_t host;        // address to import, 0 for none
    uint32_t memory_type;
    uint32_t import_type; // VkExternalMemoryHandleTypeFlagBits of fd, 0 for none
    uint32_t export_type; // VkExternalMemoryHandleTypeFlagBits to export as, 0 for none
    int32_t fd;
} nngpu_allocation;

// nngpu_allocate allocates or imports memory. At most one of host and import_type is set.
//
// Ownership: the result belongs to the caller. fd goes to the driver on success, else stays the caller's. The
//            memory at host is borrowed until the result is freed.
// Threads:   any.    Blocking: may map memory.    Go memory: none; host is not Go memory.
nngpu_value nngpu_allocate(nngpu_device *dev, nngpu_allocation a);

// nngpu_host_types returns in value the memory types that the pages at host can be imported as.
//
// Ownership: borrows the pages.    Threads: any.    Blocking: no.    Go memory: none; host is not Go memory.
nngpu_value nngpu_host_types(nngpu_device *dev, uint64_t host);

// nngpu_fd_types returns in value the memory types that fd, of a type other than opaque, can be imported as.
//
// Ownership: borrows fd.    Threads: any.    Blocking: no.    Go memory: none.
nngpu_value nngpu_fd_types(nngpu_device *dev, uint32_t type, int32_t fd);

typedef struct nngpu_fd {
    int32_t result;
    int32_t fd; // -1 on failure
} nngpu_fd;

// nngpu_export_fd makes an fd of memory that was allocated with this export_type.
//
// Ownership: borrows memory; the fd belongs to the caller.    Threads: any.    Blocking: no.    Go memory: none.
nngpu_fd nngpu_export_fd(nngpu_device *dev, uint64_t memory, uint32_t type);

// ---- shim_sync.c ----

// nngpu_physical_semaphore returns the VkExternalSemaphoreFeatureFlags of binary semaphores and handles of a type.
// Precondition: the device has VK_KHR_external_semaphore_fd.
//
// Ownership: result by value.    Threads: any.    Blocking: no.    Go memory: none.
uint32_t nngpu_physical_semaphore(nngpu_instance *inst, uint64_t physical, uint32_t type);

// nngpu_semaphore makes a binary semaphore that can be exported as handles of a type.
//
// Ownership: the result belongs to the caller: nngpu_semaphore_destroy.    Threads: any.    Blocking: no.
// Go memory: none.
nngpu_value nngpu_semaphore(nngpu_device *dev, uint32_t type);

// nngpu_semaphore_destroy destroys a semaphore; 0 is ignored.
//
// Ownership: takes semaphore; what signals it is done.    Threads: no other use of semaphore.
// Blocking:  no.    Go memory: none.
void nngpu_semaphore_destroy(nngpu_device *dev, uint64_t semaphore);

// nngpu_semaphore_export makes a queue signal the semaphore when all that was submitted to it before is done, and
// returns an fd for that; -1 without an error stands for an fd that is signalled already.
//
// Ownership: borrows semaphore; the fd belongs to the caller.    Threads: caller holds the queue's lock.
// Blocking:  no.    Go memory: none.
nngpu_fd nngpu_semaphore_export(nngpu_device *dev, uint32_t queue, uint64_t semaphore, uint32_t type);

// ---- shim_record.c ----

// nngpu_command_pool makes a pool for command buffers of the device's queue family.
//
// Ownership: the result belongs to the caller; its buffers die with it.    Threads: any.    Blocking: no.
// Go memory: none.
nngpu_value nngpu_command_pool(nngpu_device *dev);

// nngpu_command_buffers allocates primary command buffers.
//
// Ownership: cmds belong to pool.    Threads: no other use of pool.    Blocking: no.
// Go memory: cmds is written during the call only.
int32_t nngpu_command_buffers(nngpu_device *dev, uint64_t pool, uint32_t count, uint64_t *cmds);

enum { // nngpu_op.kind
    NNGPU_OP_PIPELINE = 1,  // h0 = pipeline
    NNGPU_OP_SET,           // h0 = set, h1 = pipeline layout, n0 = number of the set
    NNGPU_OP_PUSH,          // h1 = pipeline layout; n0 = first word in push, n1 = words
    NNGPU_OP_DISPATCH,      // n0..n2 = groups
    NNGPU_OP_DISPATCH_BASE, // n0..n2 = groups, n3..n5 = first group
    NNGPU_OP_COPY,          // h0 = source, h1 = destination, s0, s1 = their offsets, s2 = bytes
    NNGPU_OP_FILL,          // h0 = destination, s0 = offset, s2 = bytes, n0 = word
    NNGPU_OP_BARRIER,       // n0, n1 = source and destination stages, n2, n3 = source and destination access
    NNGPU_OP_RESET_QUERIES, // h0 = pool, n0 = first, n1 = count
    NNGPU_OP_TIMESTAMP,     // h0 = pool, n0 = query, n1 = stage
};

typedef struct nngpu_op {
    uint64_t h0, h1;
    uint64_t s0, s1, s2;
    uint32_t kind;
    uint32_t n0, n1, n2, n3, n4, n5;
    uint32_t unused;
} nngpu_op;

// nngpu_record records a whole command buffer, for repeated submission. `push` holds the push constants of
// all operations.
//
// Ownership: borrows every handle; they live as long as the command buffer is used.
// Threads:   no other use of cmd or its pool.    Blocking: no.
// Go memory: ops and push are read during the call only.
int32_t nngpu_record(nngpu_device *dev, uint64_t cmd, const nngpu_op *ops, uint64_t count, const uint32_t *push,
                     uint64_t push_words);

#endif
