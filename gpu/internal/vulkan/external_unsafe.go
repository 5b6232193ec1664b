package vulkan

import "unsafe"

// lengthen returns n bytes from the beginning of b on, n >= len(b). Sound for mapped memory whose last page ends no
// sooner, which is the contract of importHost.
func lengthen(b []byte, n int64) []byte { return unsafe.Slice(unsafe.SliceData(b), n) }
