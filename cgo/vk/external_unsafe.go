package vk

import "unsafe"

// hostAddress is where b begins. The number outlives the call only for memory that Go does not manage, which is
// the contract of ImportHost.
func hostAddress(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }
