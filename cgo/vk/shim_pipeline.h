// The part of the C side that makes pipelines, and keeps them: caches and binaries.
#ifndef NNGPU_SHIM_PIPELINE_H
#define NNGPU_SHIM_PIPELINE_H

#include "shim.h"

// ---- shim_pipeline.c ----

// nngpu_set_layout makes a descriptor set layout: types[i] is the VkDescriptorType of binding i, for
// compute shaders.
//
// Ownership: the result belongs to the caller.    Threads: any.    Blocking: no.
// Go memory: types is read during the call only.
nngpu_value nngpu_set_layout(nngpu_device *dev, const uint32_t *types, uint32_t count);

// nngpu_pipeline_layout makes a layout of set 0, of set 1 unless array_layout is 0, and of push_bytes of push constants.
//
// Ownership: borrows the layouts of sets; the result belongs to the caller.    Threads: any.    Blocking: no.
// Go memory: none.
nngpu_value nngpu_pipeline_layout(nngpu_device *dev, uint64_t set_layout, uint64_t array_layout, uint32_t push_bytes);

// nngpu_pipeline makes a compute pipeline from SPIR-V with entry point "main" and specialisation
// constants 0 to 2 = local[0] to local[2], as far as the module has them. local[3] is the size of its subgroups, which
// are full then, or 0 for the driver's choice. cache may be 0.
//
// Ownership: borrows code, layout and cache; the result belongs to the caller. The shader module is gone on
//            return.
// Threads:   any; cache is synchronized by the driver.    Blocking: compiles (ms to s).
// Go memory: code and local are read during the call only.
nngpu_value nngpu_pipeline(nngpu_device *dev, const uint32_t *code, uint64_t code_bytes, uint64_t layout,
                           const uint32_t *local, uint64_t cache);

// nngpu_pipeline_cache makes a VkPipelineCache from data (may be empty).
//
// Ownership: the result belongs to the caller.    Threads: any.    Blocking: no.
// Go memory: data is read during the call only.
nngpu_value nngpu_pipeline_cache(nngpu_device *dev, const uint8_t *data, uint64_t bytes);

// nngpu_pipeline_cache_data copies the cache's content to out and returns in value the bytes written; with
// bytes 0, the bytes that are needed.
//
// Ownership: borrows cache.    Threads: any.    Blocking: no.    Go memory: out is written during the call only.
nngpu_value nngpu_pipeline_cache_data(nngpu_device *dev, uint64_t cache, uint8_t *out, uint64_t bytes);

// nngpu_pipeline_cache_merge adds what `from` holds to `into`.
//
// Ownership: borrows both caches.    Threads: no other use of into at the same time.    Blocking: no.
// Go memory: none; all arguments by value.
int32_t nngpu_pipeline_cache_merge(nngpu_device *dev, uint64_t into, uint64_t from);

enum { // what nngpu_destroy takes
    NNGPU_SET_LAYOUT = 1,
    NNGPU_PIPELINE_LAYOUT,
    NNGPU_PIPELINE,
    NNGPU_PIPELINE_CACHE,
    NNGPU_DESCRIPTOR_POOL,
    NNGPU_COMMAND_POOL,
};

// nngpu_destroy destroys one object of the given kind; handle 0 is ignored.
//
// Ownership: takes handle; no pending work may use it.    Threads: no other use of handle.
// Blocking:  no.    Go memory: none.
void nngpu_destroy(nngpu_device *dev, uint32_t kind, uint64_t handle);

// nngpu_descriptor_pool makes a pool for `sets` sets with the given numbers of descriptors.
//
// Ownership: the result belongs to the caller; its sets die with it.    Threads: any.    Blocking: no.
// Go memory: none.
nngpu_value nngpu_descriptor_pool(nngpu_device *dev, uint32_t sets, uint32_t storage, uint32_t uniform_texel,
                                  uint32_t storage_texel);

// nngpu_descriptor_sets allocates one set for each layout.
//
// Ownership: sets belong to pool.    Threads: no other use of pool.    Blocking: no.
// Go memory: layouts is read and sets written during the call only.
int32_t nngpu_descriptor_sets(nngpu_device *dev, uint64_t pool, const uint64_t *layouts, uint32_t count,
                              uint64_t *sets);

typedef struct nngpu_write {
    uint64_t set;
    uint64_t buffer; // storage buffers: VkBuffer; texel buffers: VkBufferView
    uint64_t offset; // bytes, storage buffers only
    uint64_t range;
    uint32_t binding;
    uint32_t type; // VkDescriptorType
} nngpu_write;

// nngpu_descriptor_write writes `count` descriptors.
//
// Ownership: borrows every handle; buffers and views outlive the sets' use.
// Threads:   no other use of the sets.    Blocking: no.    Go memory: writes is read during the call only.
int32_t nngpu_descriptor_write(nngpu_device *dev, const nngpu_write *writes, uint32_t count);

// ---- shim_array.c: arrays of storage buffers, which need NNGPU_FEATURE_ARRAYS. ----

// nngpu_array_layout makes the layout of sets whose binding 0 is an array of at most `most` storage buffers.
//
// Ownership: the result belongs to the caller.    Threads: any.    Blocking: no.    Go memory: none.
nngpu_value nngpu_array_layout(nngpu_device *dev, uint32_t most);

typedef struct nngpu_array {
    int32_t result;
    uint64_t pool;
    uint64_t set;
} nngpu_array;

// nngpu_array_create makes a set of nngpu_array_layout, and a pool for it: `count` storage buffers of `bytes` bytes each,
// one behind the other in buffer from offset on.
//
// Ownership: borrows layout and buffer, which outlives the set's use; the pool belongs to the caller, the set to the pool.
// Threads:   any.    Blocking: no.    Go memory: none; result by value.
nngpu_array nngpu_array_create(nngpu_device *dev, uint64_t layout, uint64_t buffer, uint64_t offset, uint64_t bytes,
                               uint32_t count);

// ---- shim_binary.c: VK_KHR_pipeline_binary. Without the extension all fail with EXTENSION_NOT_PRESENT. ----

typedef struct nngpu_binary {
    int32_t result;
    uint32_t key_bytes; // of key
    uint64_t bytes;     // of data, where asked for
    uint8_t key[32];
} nngpu_binary;

// nngpu_binary_global_key reads the key that changes when stored binaries become invalid.
//
// Ownership: result by value.    Threads: any.    Blocking: no.    Go memory: none.
nngpu_binary nngpu_binary_global_key(nngpu_device *dev);

// nngpu_pipeline_binary is nngpu_pipeline from `count` binaries, without compiling; with count 0 it compiles, and keeps
// what nngpu_binary_capture needs.
//
// Ownership: borrows code, layout and binaries; the result belongs to the caller.
// Threads:   any.    Blocking: may compile.    Go memory: code and binaries are read during the call only.
nngpu_value nngpu_pipeline_binary(nngpu_device *dev, const uint32_t *code, uint64_t code_bytes, uint64_t layout,
                                  const uint32_t *local, const uint64_t *binaries, uint32_t count);

// nngpu_binary_capture makes the binaries of a pipeline, at most `max`, and returns their number in value. On an error,
// those that are not 0 were made nevertheless.
//
// Ownership: borrows pipeline; the binaries belong to the caller.    Threads: no other use of pipeline.
// Blocking:  no.    Go memory: binaries is written during the call only.
nngpu_value nngpu_binary_capture(nngpu_device *dev, uint64_t pipeline, uint64_t *binaries, uint32_t max);

// nngpu_binary_release frees what the driver keeps for nngpu_binary_capture.
//
// Ownership: borrows pipeline.    Threads: no other use of pipeline.    Blocking: no.    Go memory: none.
int32_t nngpu_binary_release(nngpu_device *dev, uint64_t pipeline);

// nngpu_binary_data reads key and content of a binary; with bytes 0 only the content's size.
//
// Ownership: borrows binary.    Threads: any.    Blocking: no.    Go memory: data is written during the call only.
nngpu_binary nngpu_binary_data(nngpu_device *dev, uint64_t binary, uint8_t *data, uint64_t bytes);

// nngpu_binary_create makes a binary of what nngpu_binary_data gave, in this process or another.
//
// Ownership: the result belongs to the caller.    Threads: any.    Blocking: no.
// Go memory: key and data are read during the call only.
nngpu_value nngpu_binary_create(nngpu_device *dev, const uint8_t *key, uint32_t key_bytes, const uint8_t *data,
                                uint64_t bytes);

// nngpu_binary_destroy destroys a binary; 0 is ignored. Pipelines that were made of it stay.
//
// Ownership: takes binary.    Threads: no other use of binary.    Blocking: no.    Go memory: none.
void nngpu_binary_destroy(nngpu_device *dev, uint64_t binary);

#endif
