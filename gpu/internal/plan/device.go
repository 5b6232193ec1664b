package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/shaders"
	"github.com/nngpu/nngpu/shaders/family"
)

// Class groups devices by how kernels run fast on them.
type Class string

// Device classes. See docs/architecture.md for what is chosen by class.
const (
	ClassCPU Class = "cpu" // software implementations: big register tiles, no shared memory
	ClassGPU Class = "gpu"
)

// Facts is what the compiler knows of a device. Plans made for equal facts are equal.
type Facts struct {
	Class            Class
	MaxStorageRange  int64     // bytes of one storage buffer binding
	MaxTexelElements int64     // texels of one texel buffer binding
	StorageAlign     int64     // bytes
	TexelAlign       int64     // bytes
	MaxLocal         [3]uint32 // shape of one workgroup
	MaxInvocations   uint32    // of one workgroup
	MaxGroups        [3]uint32 // workgroups of one dispatch
	SharedBytes      uint32    // shared memory of one workgroup
	SubgroupSize     uint32
	ComputeUnits     uint32 // streaming multiprocessors, compute units, cores; 0 where the device does not say
	SubgroupOps      family.SubgroupOps
	// IntegerDot: packed 4x8-bit dot products are a feature of the device and enabled.
	IntegerDot bool
	// IntegerDotFast: the device reports them as accelerated, also those of mixed signedness.
	IntegerDotFast bool
	// Float16: arithmetic with floats of 16 bits is a feature of the device and enabled.
	Float16 bool
	// Int8: arithmetic with integers of 8 bits is a feature of the device and enabled.
	Int8 bool
	// Matrices are the products that subgroups compute as one: VK_KHR_cooperative_matrix.
	Matrices []family.Matrix `json:",omitempty"`
	// MaxBlocks is the number of storage buffers in one array of them (FormatBlocks); 0 where there are no arrays.
	MaxBlocks int64 `json:",omitempty"`
	// StorageTexelRGBA32F: storage texel buffers of this format can be written.
	StorageTexelRGBA32F bool
	// BuffersOnly: tensors are bound only as storage buffers. Packed weights and tables may still be texels, of which
	// every device has some.
	BuffersOnly bool
	// TexelStores: the driver compiles kernels that store to storage buffers several times slower than those
	// that store to texel buffers.
	TexelStores bool
	// Avoid are kernels, of families with several variants, that are not to be chosen: those that compute wrong results
	// here, or are not known to compute right ones.
	Avoid shaders.Set `json:"-"`
	// Quick: kernels that compile fast are better than kernels that run fast.
	Quick bool
	// Choices answer some choices among kernels in place of scores; nil: none.
	Choices *Choices `json:"-"`
	// Unified: device-local memory is host-visible, so that Host memory is as good as the arena.
	Unified bool
	// Measured are the rates that were measured on the device; zero where they were not. They decide how steps are
	// cut into segments, not what is computed.
	Measured Rates `json:"-"`
	// TimestampPeriod is nanoseconds a tick; 0 where the queue has no timestamps.
	TimestampPeriod float64
}

// Lacks reports what a kernel of description k, in workgroups of the given shape, needs and the device does not have;
// nil where it can run.
func (f *Facts) Lacks(k *family.Info, local [3]uint32) error {
	invocations := uint64(1)
	for i, n := range local {
		if invocations *= uint64(n); n == 0 || n > f.MaxLocal[i] || invocations > uint64(f.MaxInvocations) {
			return fmt.Errorf("a workgroup of %v; the device allows 1 to %v, %d in all", local, f.MaxLocal, f.MaxInvocations)
		}
	}
	n := &k.Needs
	switch {
	case n.SharedBytes > f.SharedBytes:
		return fmt.Errorf("%d bytes of shared memory; the device has %d", n.SharedBytes, f.SharedBytes)
	case n.IntegerDot && !f.IntegerDot:
		return errors.New("integer dot products, which the device lacks")
	case n.Float16 && !f.Float16:
		return errors.New("arithmetic with 16-bit floats, which the device lacks")
	case n.Subgroup&^f.SubgroupOps != 0:
		return fmt.Errorf("subgroup operations %#x; the device has %#x", n.Subgroup, f.SubgroupOps)
	case n.SubgroupSize != 0 && n.SubgroupSize != f.SubgroupSize:
		return fmt.Errorf("subgroups of %d; the device has %d", n.SubgroupSize, f.SubgroupSize)
	case n.LeastLanes > f.SubgroupSize:
		return fmt.Errorf("subgroups of %d or more; the device has %d", n.LeastLanes, f.SubgroupSize)
	case n.Int8 && !f.Int8:
		return errors.New("arithmetic with 8-bit integers, which the device lacks")
	case n.Matrix != (family.Matrix{}) && !slices.Contains(f.Matrices, n.Matrix):
		return fmt.Errorf("cooperative matrices %v, which the device lacks", n.Matrix)
	case n.BlockBytes != 0 && f.MaxBlocks == 0:
		return errors.New("arrays of storage buffers, which the device lacks")
	case k.Subgroups != 0 && local != f.Workgroup(k, 0):
		return fmt.Errorf("%d full subgroups of %d; a workgroup of %v", k.Subgroups, f.SubgroupSize, local)
	case n.Storage8 || n.Storage16: // no device is opened with these yet
		return errors.New("8- or 16-bit storage, which is not used of devices")
	}
	return nil
}

// Workgroup is the shape of the workgroups of a kernel of description k: localX in a row where that leaves it open.
func (f *Facts) Workgroup(k *family.Info, localX uint32) [3]uint32 {
	shape := k.Workgroup
	switch {
	case k.Subgroups != 0:
		shape[0] = k.Subgroups * f.SubgroupSize
	case shape[0] == 0:
		shape[0] = localX
	}
	return shape
}
