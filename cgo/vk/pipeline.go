package vk

/*
#include "shim_pipeline.h"
*/
import "C"

// Handles of what pipelines and descriptors need.
type (
	SetLayout      uint64
	PipelineLayout uint64
	Pipeline       uint64
	PipelineCache  uint64
	DescriptorPool uint64
	DescriptorSet  uint64
)

// DescriptorType is a VkDescriptorType.
type DescriptorType uint32

// Descriptor types that kernels use.
const (
	UniformTexelBuffer DescriptorType = 4
	StorageTexelBuffer DescriptorType = 5
	StorageBuffer      DescriptorType = 7
)

// NewSetLayout makes the layout of a set whose binding i has types[i]; at most 32.
func (d *Device) NewSetLayout(types []DescriptorType) (SetLayout, error) {
	list := make([]uint32, len(types))
	for i, t := range types {
		list[i] = uint32(t)
	}
	v := C.nngpu_set_layout(d.c, firstWord32(list), C.uint32_t(len(list)))
	return SetLayout(v.value), check("vkCreateDescriptorSetLayout", v.result)
}

// NewPipelineLayout makes the layout of pipelines with a set, an array as set 1 unless that is 0, and pushBytes of push constants.
func (d *Device) NewPipelineLayout(set, array SetLayout, pushBytes int) (PipelineLayout, error) {
	v := C.nngpu_pipeline_layout(d.c, C.uint64_t(set), C.uint64_t(array), C.uint32_t(pushBytes))
	return PipelineLayout(v.value), check("vkCreatePipelineLayout", v.result)
}

// Workgroup is the shape of the workgroups of a pipeline. Subgroup, if not 0, is the size of its subgroups, which are
// then all full: Local[0] is a multiple of it, and the device has FeatureMatrix. 0 leaves both to the driver.
type Workgroup struct {
	Local    [3]uint32
	Subgroup uint32
}

func (w *Workgroup) words() []uint32 { return append(w.Local[:], w.Subgroup) }

// NewPipeline compiles SPIR-V words to a compute pipeline with specialisation constants 0 to 2 = w.Local, as far as the
// code has them. cache may be 0. Safe for concurrent use, also with the same cache.
func (d *Device) NewPipeline(code []uint32, layout PipelineLayout, w Workgroup, cache PipelineCache) (Pipeline, error) {
	if err := d.fault(CallNewPipeline, "vkCreateComputePipelines"); err != nil {
		return 0, err
	}
	v := C.nngpu_pipeline(d.c, firstWord32(code), C.uint64_t(len(code)*4), C.uint64_t(layout), firstWord32(w.words()),
		C.uint64_t(cache))
	return Pipeline(v.value), check("vkCreateComputePipelines", v.result)
}

// NewPipelineCache makes a cache from what PipelineCacheData gave, or empty. The driver rejects data of
// other drivers, but trusts the rest: pass verified data only.
func (d *Device) NewPipelineCache(data []byte) (PipelineCache, error) {
	v := C.nngpu_pipeline_cache(d.c, firstByte(data), C.uint64_t(len(data)))
	return PipelineCache(v.value), check("vkCreatePipelineCache", v.result)
}

// PipelineCacheData is the content of c.
func (d *Device) PipelineCacheData(c PipelineCache) ([]byte, error) {
	for {
		v := C.nngpu_pipeline_cache_data(d.c, C.uint64_t(c), nil, 0)
		if err := check("vkGetPipelineCacheData", v.result); err != nil || v.value == 0 {
			return nil, err
		}
		data := make([]byte, int(v.value))
		v = C.nngpu_pipeline_cache_data(d.c, C.uint64_t(c), firstByte(data), C.uint64_t(len(data)))
		if Result(v.result) == incomplete { // grew since
			continue
		}
		return data[:min(int(v.value), len(data))], check("vkGetPipelineCacheData", v.result)
	}
}

// MergePipelineCache adds what from holds to into, which no other call may use meanwhile.
func (d *Device) MergePipelineCache(into, from PipelineCache) error {
	return check("vkMergePipelineCaches", C.nngpu_pipeline_cache_merge(d.c, C.uint64_t(into), C.uint64_t(from)))
}

// Object is what Destroy takes.
type Object interface {
	SetLayout | PipelineLayout | Pipeline | PipelineCache | DescriptorPool | CommandPool
}

// Destroy destroys an object of d; 0 is ignored. Precondition: no pending work uses it.
func Destroy[T Object](d *Device, object T) {
	if object == 0 {
		return
	}
	var kind C.uint32_t
	switch any(object).(type) {
	case SetLayout:
		kind = C.NNGPU_SET_LAYOUT
	case PipelineLayout:
		kind = C.NNGPU_PIPELINE_LAYOUT
	case Pipeline:
		kind = C.NNGPU_PIPELINE
	case PipelineCache:
		kind = C.NNGPU_PIPELINE_CACHE
	case DescriptorPool:
		kind = C.NNGPU_DESCRIPTOR_POOL
	case CommandPool:
		kind = C.NNGPU_COMMAND_POOL
	}
	C.nngpu_destroy(d.c, kind, C.uint64_t(object))
}

// NewDescriptorPool makes a pool for so many sets and descriptors of each type. sets > 0.
func (d *Device) NewDescriptorPool(sets, storage, uniformTexel, storageTexel int) (DescriptorPool, error) {
	v := C.nngpu_descriptor_pool(d.c, C.uint32_t(sets), C.uint32_t(storage), C.uint32_t(uniformTexel), C.uint32_t(storageTexel))
	return DescriptorPool(v.value), check("vkCreateDescriptorPool", v.result)
}

// NewDescriptorSets takes one set for each layout out of pool.
func (d *Device) NewDescriptorSets(pool DescriptorPool, layouts []SetLayout) ([]DescriptorSet, error) {
	if len(layouts) == 0 {
		return nil, nil
	}
	sets := make([]DescriptorSet, len(layouts))
	r := C.nngpu_descriptor_sets(d.c, C.uint64_t(pool), first(layouts), C.uint32_t(len(layouts)), first(sets))
	return sets, check("vkAllocateDescriptorSets", r)
}

// Writes collects descriptor writes. The zero value is empty.
type Writes struct {
	list []C.nngpu_write
}

// Buffer lets a binding of set see a range of a storage buffer.
func (w *Writes) Buffer(set DescriptorSet, binding int, b Buffer, offset, bytes int64) {
	w.list = append(w.list, C.nngpu_write{
		set: C.uint64_t(set), buffer: C.uint64_t(b), offset: C.uint64_t(offset), _range: C.uint64_t(bytes),
		binding: C.uint32_t(binding), _type: C.uint32_t(StorageBuffer),
	})
}

// View lets a binding of set see a texel view. t is one of the texel buffer types.
func (w *Writes) View(set DescriptorSet, binding int, v BufferView, t DescriptorType) {
	w.list = append(w.list, C.nngpu_write{
		set: C.uint64_t(set), buffer: C.uint64_t(v), binding: C.uint32_t(binding), _type: C.uint32_t(t),
	})
}

// WriteDescriptors does all the writes in one call.
func (d *Device) WriteDescriptors(w *Writes) error {
	if len(w.list) == 0 {
		return nil
	}
	return check("vkUpdateDescriptorSets", C.nngpu_descriptor_write(d.c, &w.list[0], C.uint32_t(len(w.list))))
}
