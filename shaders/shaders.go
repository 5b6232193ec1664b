// Package shaders holds the compute kernels: GLSL by operation family, the SPIR-V made of it, and a
// typed registry.
//
// A kernel is one entry of the manifest (gen/manifest.go): a source file and the macros that freeze its
// variant. `make generate` compiles the manifest to spv/ and registry_gen.go; both are committed, so that
// building the project needs no shader compiler.
package shaders

import (
	"embed"
	"fmt"
)

//go:embed spv/*.spv
var spvFiles embed.FS

// Kernel names a kernel; the constants are generated.
type Kernel uint16

// Copy is no shader but vkCmdCopyBuffer.
const Copy Kernel = 0

// Info describes the interface of a kernel.
type Info struct {
	Name string
	// Bindings has one letter a binding, from binding 0 of set 0 on: 's' storage buffer, 't' uniform
	// texel buffer, 'i' storage texel buffer.
	Bindings string
	// PushWords is the size of the push constants in 32-bit words.
	PushWords int
	// IntegerDot: needs VK_KHR_shader_integer_dot_product.
	IntegerDot bool
	// Float16: needs arithmetic with floats of 16 bits, a feature of VK_KHR_shader_float16_int8.
	Float16 bool
}

// Info returns the interface of k.
func (k Kernel) Info() *Info { return &infos[k] }

func (k Kernel) String() string {
	if int(k) < len(infos) {
		return infos[k].Name
	}
	return fmt.Sprintf("Kernel(%d)", uint16(k))
}

// ByName returns the kernel of the given name.
func ByName(name string) (Kernel, bool) {
	for i := range infos {
		if infos[i].Name == name {
			return Kernel(i), true
		}
	}
	return 0, false
}

// SPIRV returns the code of k. Precondition: k is a generated constant other than Copy.
func (k Kernel) SPIRV() []byte {
	b, err := spvFiles.ReadFile("spv/" + infos[k].Name + ".spv")
	if err != nil {
		panic(err) // generated together with the registry
	}
	return b
}
