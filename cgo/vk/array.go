package vk

/*
#include "shim_pipeline.h"
*/
import "C"

// Array is a set whose binding 0 is an array of storage buffers. It goes with its pool.
type Array struct {
	Pool DescriptorPool
	Set  DescriptorSet
}

// NewArrayLayout makes the layout of arrays of at most so many storage buffers. Preconditions: FeatureArrays; most is at most
// Properties.MaxArray.
func (d *Device) NewArrayLayout(most uint32) (SetLayout, error) {
	v := C.nngpu_array_layout(d.c, C.uint32_t(most))
	return SetLayout(v.value), check("vkCreateDescriptorSetLayout", v.result)
}

// NewArray makes an array of count storage buffers of so many bytes each, one behind the other in b from offset on. b is
// borrowed as long as the array is used. Preconditions: count is at least 1, and at most what layout was made for; offset and
// bytes are multiples of Properties.StorageAlign.
func (d *Device) NewArray(layout SetLayout, b Buffer, offset, bytes int64, count uint32) (Array, error) {
	a := C.nngpu_array_create(d.c, C.uint64_t(layout), C.uint64_t(b), C.uint64_t(offset), C.uint64_t(bytes), C.uint32_t(count))
	return Array{DescriptorPool(a.pool), DescriptorSet(a.set)}, check("vkAllocateDescriptorSets", a.result)
}
