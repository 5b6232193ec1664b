package vk

/*
#include "shim.h"
*/
import "C"

import "unsafe"

// A call reads or writes these slices before it returns, and their elements hold no pointers, so that cgo's rules allow
// passing their address. Each pair of types has the same size and layout.

// first is the address of a list of handles, nil when it is empty.
func first[H ~uint64](s []H) *C.uint64_t { return (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(s))) }

func firstWord32(s []uint32) *C.uint32_t { return (*C.uint32_t)(unsafe.Pointer(unsafe.SliceData(s))) }

func firstByte(s []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(s))) }
