package vulkan

import (
	"fmt"
	"os"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders/family"
)

// facts is what the compiler may know of a device.
func facts(p *vk.Properties, queue vk.QueueFamily) plan.Facts {
	f := plan.Facts{
		Class:               plan.ClassGPU,
		MaxStorageRange:     p.MaxStorageRange,
		MaxTexelElements:    p.MaxTexelElements,
		StorageAlign:        p.StorageAlign,
		TexelAlign:          p.TexelAlign,
		MaxLocal:            p.MaxLocal,
		MaxInvocations:      p.MaxInvocations,
		MaxGroups:           p.MaxGroups,
		SharedBytes:         p.MaxShared,
		SubgroupSize:        p.SubgroupSize,
		SubgroupOps:         family.SubgroupOps(p.SubgroupOps),
		IntegerDot:          p.IntegerDot,
		IntegerDotFast:      p.IntegerDot && p.IntegerDotFast,
		Float16:             p.Float16,
		StorageTexelRGBA32F: p.StorageTexelRGBA32F,
		Unified:             unified(p),
	}
	if p.Type == vk.TypeCPU {
		f.Class = plan.ClassCPU
	}
	f.TexelStores = f.StorageTexelRGBA32F && slowStores(p)
	if queue.TimestampBits > 0 {
		f.TimestampPeriod = p.TimestampPeriod
	}
	return f
}

// pretend makes of f what the environment asks for: NNGPU_WITHOUT lists features to be taken away, NNGPU_CLASS names the
// class of device that it is to be taken for. So every variant can be tested wherever it can run.
func pretend(f *plan.Facts) error {
	switch class := plan.Class(os.Getenv("NNGPU_CLASS")); class {
	case "":
	case plan.ClassCPU, plan.ClassGPU:
		f.Class = class
	default:
		return fmt.Errorf("NNGPU_CLASS=%q; known are %s and %s", class, plan.ClassCPU, plan.ClassGPU)
	}
	if err := f.Without(os.Getenv("NNGPU_WITHOUT")); err != nil {
		return fmt.Errorf("NNGPU_WITHOUT: %w", err)
	}
	return nil
}

const hostFlags = vk.HostVisible | vk.HostCoherent

// unified: the memory type that deviceMemory prefers can be mapped.
func unified(p *vk.Properties) bool {
	t := deviceMemory(p, ^uint32(0))
	return t >= 0 && p.MemoryTypes[t].Flags&hostFlags == hostFlags
}

// deviceMemory is the first device-local type among those allowed; -1 if there is none. Vulkan lists types
// with fewer properties first, so on a discrete device this one is not host-visible.
func deviceMemory(p *vk.Properties, allowed uint32) int {
	return memoryType(p, allowed, vk.DeviceLocal)
}

// hostMemory is a coherent type, cached if possible, because outputs are read from it.
func hostMemory(p *vk.Properties, allowed uint32) int {
	if t := memoryType(p, allowed, hostFlags|vk.HostCached); t >= 0 {
		return t
	}
	return memoryType(p, allowed, hostFlags)
}

func memoryType(p *vk.Properties, allowed uint32, want vk.MemoryFlags) int {
	for i, t := range p.MemoryTypes {
		if allowed>>i&1 != 0 && t.Flags&want == want && t.Flags&(vk.Protected|vk.LazilyAllocated) == 0 {
			return i
		}
	}
	return -1
}

func backendType(t vk.DeviceType) backend.DeviceType {
	switch t {
	case vk.TypeCPU:
		return backend.TypeCPU
	case vk.TypeDiscrete, vk.TypeIntegrated, vk.TypeVirtual:
		return backend.TypeGPU
	}
	return backend.TypeOther
}

// From VkDriverId: VK_DRIVER_ID_MESA_LLVMPIPE.
const driverLLVMpipe = 13

// slowStores names the drivers of plan.Facts.TexelStores. lavapipe 25.0.7 takes 690 ms for an 8x16 tile that
// stores to a storage buffer and a third of it with texel stores; 22.3.6 takes 160 ms either way and runs
// texel stores up to 15 % slower. The version between them at which it changed is not known.
func slowStores(p *vk.Properties) bool {
	var major int
	if _, err := fmt.Sscanf(p.DriverInfo, "Mesa %d.", &major); err != nil {
		return false
	}
	return p.DriverID == driverLLVMpipe && major > 22
}
