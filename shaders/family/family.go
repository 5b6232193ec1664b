// Package family says what kernels there are and what each asks of a device, without their code.
//
// A family is a kernel in variants: its key is a comparable struct of typed parameters (element type, tile, how
// tensors are reached), in this package; its variants are listed in shaders/gen, which writes their descriptions beside
// the SPIR-V. Lowering asks package shaders for a key. Knows neither Vulkan nor the generator.
package family

import "fmt"

// Key asks for one variant of a family.
type Key interface {
	// Name is that of the variant, in snake case: of its file, in plans, caches and profiles.
	Name() string
}

// Varied is a key of a family that has several variants for the same work. Those of the floor ask least of devices and
// their compilers; each of the others computes the same as one of them.
type Varied interface {
	Key
	Floor() bool
}

// Elem is the element type of a tensor as kernels know it.
type Elem string

// Element types; Q8 stands for 8 bits of either sign, with scale and zero point.
const (
	F32 Elem = "f32"
	F16 Elem = "f16"
	I32 Elem = "i32"
	Q8  Elem = "q8"
)

// Access is how a kernel reaches the tensors that it computes on.
type Access uint8

// Ways to reach tensors. Those that write texels read them, too; they are there for drivers that compile them faster.
const (
	Buffers Access = iota // storage buffers
	Texels                // reads through a texel buffer
	TexelStores
)

// suffix is what names have for a.
func (a Access) suffix() string { return [...]string{"", "_texel", "_texel_store"}[a] }

// on is s where set, else nothing.
func on(set bool, s string) string {
	if set {
		return s
	}
	return ""
}

// Cost is the class of a kernel that says what its time goes by; plan.Rates has a rate for each.
type Cost uint8

// Cost classes.
const (
	CostTraffic   Cost = iota // of memory
	CostMatrix                // multiplications that share their operands: matrix products, convolutions
	CostNarrow                // of those, what computes a single row: nothing that it loads is used twice
	CostDepthwise             // multiplications that share few, with a window that the code knows
	CostAnyWindow             // the same with any window
)

// Info describes a kernel: its interface and what it asks of a device.
type Info struct {
	Name string
	// Bindings has one letter a binding, from binding 0 of set 0 on: 's' storage buffer, 't' uniform
	// texel buffer, 'i' storage texel buffer; then, at binding 0 of set 1, 'a' an array of blocks.
	Bindings string
	// PushWords is the size of the push constants in 32-bit words.
	PushWords int
	Cost      Cost
	// Workgroup is the shape of a workgroup; 0 where the dispatch chooses it, by the specialisation constant of that
	// dimension's number.
	Workgroup [3]uint32
	// Subgroups is how many full subgroups, in a row, a workgroup has; 0 where they are not counted.
	Subgroups uint32
	Needs     Needs
}

// Needs is what a kernel asks of a device beyond Vulkan 1.1. The generator reads it from the SPIR-V, but for
// SubgroupSize, which that does not say.
type Needs struct {
	IntegerDot bool // VK_KHR_shader_integer_dot_product
	Float16    bool // shaderFloat16: arithmetic, not storage
	Int8       bool // shaderInt8: arithmetic
	Storage8   bool // storageBuffer8BitAccess
	Storage16  bool // storageBuffer16BitAccess
	// BlockBytes is the size of the storage buffers of an array: runtimeDescriptorArray, and an index into it that is the same
	// in a workgroup. 0: there is none.
	BlockBytes   uint32
	Matrix       Matrix // VK_KHR_cooperative_matrix; the zero value: none
	SharedBytes  uint32
	Subgroup     SubgroupOps
	SubgroupSize uint32 // 0: any
	LeastLanes   uint32 // of a subgroup
}

// Matrix is a product of matrices that a subgroup computes as one: [M, K] times [K, N], both of type In, added to [M, N] of
// type Sum. Types have the names f16, f32, s8, s32, u8, u32.
type Matrix struct {
	M, N, K int
	In, Sum string
}

func (m Matrix) String() string {
	return fmt.Sprintf("%dx%dx%d %s to %s", m.M, m.N, m.K, m.In, m.Sum)
}

// SubgroupOps is a set of VkSubgroupFeatureFlagBits.
type SubgroupOps uint32

// Operations within subgroups, beyond those that every device has.
const (
	SubgroupVote       SubgroupOps = 1 << 1
	SubgroupArithmetic SubgroupOps = 1 << 2
	SubgroupBallot     SubgroupOps = 1 << 3
	SubgroupShuffle    SubgroupOps = 1 << 4
	SubgroupRelative   SubgroupOps = 1 << 5
	SubgroupClustered  SubgroupOps = 1 << 6
	SubgroupQuad       SubgroupOps = 1 << 7
)
