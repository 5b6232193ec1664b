// Package vk is the project's way to Vulkan: a C shim for whatever is hot, needs structures newer than
// Vulkan 1.0, or corrupts memory in github.com/vulkan-go/vulkan, and that binding for the rest (the
// loader's function table, enumeration, properties, buffers and memory).
//
// libvulkan is opened with dlopen, so neither building nor starting needs a driver. A command buffer is
// collected in Go as plain data (Commands) and recorded by one C call; drivers never call back into Go.
//
// External memory (ImportHost, ImportFD, ExportFD) is checked here as far as the kernel can tell, because
// implementations check nothing; what is left to the caller stands with each function.
//
// Inject makes calls fail, hang or take long, for the tests of everybody who uses devices.
//
// Handles are uint64 values of their own type and mean nothing to the garbage collector. Nothing here
// locks: the comments say what Vulkan wants to be synchronized by the caller. 64-bit Linux only.
//
// Must not know: plans, kernels, NNAPI.
package vk

import (
	_ "github.com/nngpu/nngpu/internal/needcgo"   // one line where this cannot be built
	_ "github.com/nngpu/nngpu/internal/needlinux" // the same
)
