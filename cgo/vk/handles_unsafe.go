//go:build linux && cgo

package vk

import (
	"unsafe"

	binding "github.com/vulkan-go/vulkan"
)

// The binding's handles are pointers to incomplete C structures, which Go neither follows nor moves; on
// 64-bit machines they and uint64 have the same 8 bytes. These lines do not compile elsewhere.
var (
	_ [8]byte = [unsafe.Sizeof(binding.NullBuffer)]byte{}
	_ [8]byte = [unsafe.Sizeof(binding.Instance(nil))]byte{}
)

func toInstance(h uint64) binding.Instance { return *(*binding.Instance)(unsafe.Pointer(&h)) }
func toPhysical(h uint64) binding.PhysicalDevice {
	return *(*binding.PhysicalDevice)(unsafe.Pointer(&h))
}
func fromPhysical(h binding.PhysicalDevice) uint64   { return *(*uint64)(unsafe.Pointer(&h)) }
func toDevice(h uint64) binding.Device               { return *(*binding.Device)(unsafe.Pointer(&h)) }
func toBuffer(h Buffer) binding.Buffer               { return *(*binding.Buffer)(unsafe.Pointer(&h)) }
func fromBuffer(h binding.Buffer) Buffer             { return *(*Buffer)(unsafe.Pointer(&h)) }
func toMemory(h Memory) binding.DeviceMemory         { return *(*binding.DeviceMemory)(unsafe.Pointer(&h)) }
func fromMemory(h binding.DeviceMemory) Memory       { return *(*Memory)(unsafe.Pointer(&h)) }
func toBufferView(h BufferView) binding.BufferView   { return *(*binding.BufferView)(unsafe.Pointer(&h)) }
func fromBufferView(h binding.BufferView) BufferView { return *(*BufferView)(unsafe.Pointer(&h)) }

// mapMemory maps all of m. The bytes are C memory, valid until m is freed.
func mapMemory(device uint64, m Memory, size int64) ([]byte, error) {
	var p unsafe.Pointer
	r := binding.MapMemory(toDevice(device), toMemory(m), 0, binding.DeviceSize(size), 0, &p)
	if err := check("vkMapMemory", r); err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(p), size), nil
}
