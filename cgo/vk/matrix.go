package vk

// #include "shim.h"
import "C"

import "fmt"

// Matrix is a product of matrices that a device computes as one operation: A [M, K] times B [K, N] added to C.
type Matrix struct {
	M, N, K         uint32
	A, B, C, Result string // types of the elements
	Scope           string // whose invocations share the matrices
	Saturating      bool   // of sums of integers
}

// componentTypes are the names of VkComponentTypeKHR.
var componentTypes = []string{"f16", "f32", "f64", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64"}

// scopes are the names of VkScopeKHR.
var scopes = []string{1: "device", 2: "workgroup", 3: "subgroup", 5: "queue family"}

func nameOf(names []string, v C.uint32_t) string {
	if int64(v) < int64(len(names)) && names[v] != "" {
		return names[v]
	}
	return fmt.Sprint(uint32(v))
}

// Matrices lists the products of VK_KHR_cooperative_matrix, at most 128; none where the device lacks it.
func (p Physical) Matrices() []Matrix {
	c := C.nngpu_physical_matrices(p.inst.c, C.uint64_t(p.handle))
	list := make([]Matrix, int(c.count))
	for i := range list {
		size, types := c.size[i], c._type[i]
		list[i] = Matrix{
			M: uint32(size[0]), N: uint32(size[1]), K: uint32(size[2]),
			A: nameOf(componentTypes, types[0]), B: nameOf(componentTypes, types[1]), C: nameOf(componentTypes, types[2]),
			Result: nameOf(componentTypes, types[3]), Scope: nameOf(scopes, c.scope[i]), Saturating: c.saturating[i] != 0,
		}
	}
	return list
}
