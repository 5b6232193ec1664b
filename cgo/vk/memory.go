//go:build linux && cgo

package vk

/*
#include "shim.h"
*/
import "C"

import (
	binding "github.com/vulkan-go/vulkan"
)

// Handles of buffers and their memory.
type (
	Buffer     uint64
	Memory     uint64
	BufferView uint64
)

// Uses of a buffer, VkBufferUsageFlags.
const (
	UsageTransferSrc  uint32 = 0x1
	UsageTransferDst  uint32 = 0x2
	UsageUniformTexel uint32 = 0x4
	UsageStorageTexel uint32 = 0x8
	UsageStorage      uint32 = 0x20
)

// Format is a VkFormat.
type Format uint32

// Texel formats.
const (
	FormatR32Uint            Format = 98
	FormatR32G32Uint         Format = 101
	FormatR32G32B32A32Uint   Format = 107
	FormatR32G32B32A32Sfloat Format = 109
)

// Requirements is what a buffer wants of its memory.
type Requirements struct {
	Size  int64
	Align int64
	Types uint32 // bit i: memory type i will do
	// Dedicated: the memory must be made for this buffer alone; only for buffers by NewExternalBuffer.
	Dedicated bool
}

// NewBuffer makes a buffer without memory; bytes > 0.
func (d *Device) NewBuffer(bytes int64, usage uint32) (Buffer, error) {
	if err := d.fault(CallNewBuffer, "vkCreateBuffer"); err != nil {
		return 0, err
	}
	info := binding.BufferCreateInfo{
		SType: binding.StructureTypeBufferCreateInfo, Size: binding.DeviceSize(bytes),
		Usage: binding.BufferUsageFlags(usage),
	}
	defer info.Free()
	var b binding.Buffer
	if err := check("vkCreateBuffer", binding.CreateBuffer(toDevice(d.handle), &info, nil, &b)); err != nil {
		return 0, err
	}
	return fromBuffer(b), nil
}

// Requirements of b.
func (d *Device) Requirements(b Buffer) Requirements {
	r := C.nngpu_buffer_requirements(d.c, C.uint64_t(b))
	return Requirements{
		Size: clampSize(uint64(r.size)), Align: int64(r.align), Types: uint32(r.types), Dedicated: r.dedicated != 0,
	}
}

// Allocate takes memory of a type. Its content is undefined: clear it before anyone can read it.
func (d *Device) Allocate(bytes int64, memoryType int) (Memory, error) {
	if err := d.fault(CallAllocate, "vkAllocateMemory"); err != nil {
		return 0, err
	}
	info := binding.MemoryAllocateInfo{
		SType: binding.StructureTypeMemoryAllocateInfo, AllocationSize: binding.DeviceSize(bytes),
		MemoryTypeIndex: uint32(memoryType),
	}
	defer info.Free()
	var m binding.DeviceMemory
	if err := check("vkAllocateMemory", binding.AllocateMemory(toDevice(d.handle), &info, nil, &m)); err != nil {
		return 0, err
	}
	return fromMemory(m), nil
}

// Bind gives b its memory, from the start of m.
func (d *Device) Bind(b Buffer, m Memory) error {
	return check("vkBindBufferMemory", binding.BindBufferMemory(toDevice(d.handle), toBuffer(b), toMemory(m), 0))
}

// Map maps host-visible memory of the given size. The bytes are valid until m is freed, shared with the
// device, and not seen by the race detector.
func (d *Device) Map(m Memory, bytes int64) ([]byte, error) { return mapMemory(d.handle, m, bytes) }

// Free gives memory back, mapped or not. Precondition: no pending work uses it.
func (d *Device) Free(m Memory) {
	if m != 0 {
		binding.FreeMemory(toDevice(d.handle), toMemory(m), nil)
	}
}

// DestroyBuffer destroys b. Precondition: no pending work uses it.
func (d *Device) DestroyBuffer(b Buffer) {
	if b != 0 {
		binding.DestroyBuffer(toDevice(d.handle), toBuffer(b), nil)
	}
}

// NewBufferView makes a texel view of a range of b.
func (d *Device) NewBufferView(b Buffer, f Format, offset, bytes int64) (BufferView, error) {
	info := binding.BufferViewCreateInfo{
		SType: binding.StructureTypeBufferViewCreateInfo, Buffer: toBuffer(b), Format: binding.Format(f),
		Offset: binding.DeviceSize(offset), Range: binding.DeviceSize(bytes),
	}
	defer info.Free()
	var v binding.BufferView
	if err := check("vkCreateBufferView", binding.CreateBufferView(toDevice(d.handle), &info, nil, &v)); err != nil {
		return 0, err
	}
	return fromBufferView(v), nil
}

// DestroyBufferView destroys v. Precondition: no pending work uses it.
func (d *Device) DestroyBufferView(v BufferView) {
	if v != 0 {
		binding.DestroyBufferView(toDevice(d.handle), toBufferView(v), nil)
	}
}
