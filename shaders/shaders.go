// Package shaders holds the compute kernels: GLSL by operation family, the SPIR-V made of it, and a
// typed registry.
//
// A kernel is one entry of the manifest (gen/manifest.go): a source file, the macros that freeze its variant and, where
// it is one of a family, its key. `make generate` compiles the manifest to spv/, and writes registry_gen.go with what
// each kernel asks of a device; both are committed, so that building the project needs no shader compiler.
package shaders

import (
	"embed"
	"fmt"

	"github.com/nngpu/nngpu/shaders/family"
)

//go:embed spv/*.spv
var spvFiles embed.FS

// Kernel names a kernel; the constants are generated.
type Kernel uint16

// Copy is no shader but vkCmdCopyBuffer.
const Copy Kernel = 0

var byKey = func() map[family.Key]Kernel {
	m := make(map[family.Key]Kernel)
	for k, key := range keys {
		if key != nil {
			m[key] = Kernel(k)
		}
	}
	return m
}()

// Variants lists the keys of a family in the order of the registry.
func Variants[K family.Key]() []K {
	var list []K
	for _, key := range keys {
		if k, ok := key.(K); ok {
			list = append(list, k)
		}
	}
	return list
}

// Of returns the kernel of a family's variant. Precondition: there is one, see Find.
func Of(key family.Key) Kernel {
	k, ok := Find(key)
	if !ok {
		panic("shaders: no kernel " + key.Name())
	}
	return k
}

// Find returns the kernel of a family's variant, and whether there is one.
func Find(key family.Key) (Kernel, bool) {
	k, ok := byKey[key]
	return k, ok
}

// Set is a set of kernels; it can be compared. The zero value is empty.
type Set [(len(infos) + 63) / 64]uint64

// Add adds k, which is valid.
func (s *Set) Add(k Kernel) { s[k/64] |= 1 << (k % 64) }

// Has reports whether k, which is valid, was added.
func (s *Set) Has(k Kernel) bool { return s[k/64]>>(k%64)&1 != 0 }

// Valid reports whether k is a generated constant or Copy.
func (k Kernel) Valid() bool { return int(k) < len(infos) }

// Key returns the key of k; nil where it goes by its name alone. Precondition: k is valid.
func (k Kernel) Key() family.Key { return keys[k] }

// Info returns the description of k. Precondition: k is valid.
func (k Kernel) Info() *family.Info { return &infos[k] }

func (k Kernel) String() string {
	if k.Valid() {
		return infos[k].Name
	}
	return fmt.Sprintf("Kernel(%d)", uint16(k))
}

// ByName returns the kernel of the given name: for what is read from files.
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
