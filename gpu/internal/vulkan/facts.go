package vulkan

import (
	"fmt"
	"os"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
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
		ComputeUnits:        p.ComputeUnits,
		IntegerDot:          p.IntegerDot,
		IntegerDotFast:      p.IntegerDot && p.IntegerDotFast,
		Float16:             p.Float16,
		Int8:                p.Int8,
		StorageTexelRGBA32F: p.StorageTexelRGBA32F,
		Unified:             unified(p),
	}
	if p.Type == vk.TypeCPU {
		f.Class = plan.ClassCPU
	}
	f.TexelStores = f.StorageTexelRGBA32F && slowStores(p)
	if f.Class == plan.ClassCPU && !robust(p) { // no kernel for GPUs has arrays
		f.MaxBlocks = p.MaxArray
	}
	if queue.TimestampBits > 0 {
		f.TimestampPeriod = p.TimestampPeriod
	}
	return f
}

// robust: accesses beyond buffers are to be checked by the device. Arrays cannot be, by all devices.
func robust(p *vk.Properties) bool { return p.Robust && os.Getenv("NNGPU_ROBUST") == "1" }

// matrices are the products of list that kernels can use: those of subgroups that multiply one type into sums of
// another and do not saturate.
func matrices(p *vk.Properties, list []vk.Matrix) (out []family.Matrix) {
	for _, m := range list {
		if p.Matrix && m.Scope == "subgroup" && m.A == m.B && m.C == m.Result && !m.Saturating {
			out = append(out, family.Matrix{M: int(m.M), N: int(m.N), K: int(m.K), In: m.A, Sum: m.C})
		}
	}
	return out
}

// pretend changes f as the environment asks: NNGPU_WITHOUT lists features to be taken away, NNGPU_CLASS names the class
// that the device is to be taken for. So every variant can be tested wherever it can run. A device that is taken for a
// GPU has memory of its own, to and from which inputs and outputs are copied.
func pretend(f *plan.Facts) error {
	switch class := plan.Class(os.Getenv("NNGPU_CLASS")); class {
	case "":
	case plan.ClassCPU:
		f.Class = class
	case plan.ClassGPU:
		f.Class, f.Unified = class, false
	default:
		return fmt.Errorf("NNGPU_CLASS=%q; known are %s and %s", class, plan.ClassCPU, plan.ClassGPU)
	}
	if err := f.Without(os.Getenv("NNGPU_WITHOUT")); err != nil {
		return fmt.Errorf("NNGPU_WITHOUT: %w", err)
	}
	return nil
}

// pretendedBits is the number of timestamp bits of a device that is taken for a GPU: at a nanosecond a tick they wrap
// around every four seconds, as those of some GPUs do every minute.
const pretendedBits = 32

// stampBits is how many bits of timestamps count.
func stampBits(queue vk.QueueFamily) int {
	if plan.Class(os.Getenv("NNGPU_CLASS")) == plan.ClassGPU {
		return min(queue.TimestampBits, pretendedBits)
	}
	return queue.TimestampBits
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

// leastInputHeap is the size in bytes of a heap that inputs may lie in. The window through which the host sees the memory
// of devices without resizable BAR has 256 MiB, for all programs.
const leastInputHeap = 1 << 30

// inputMemory is a type of the device's memory that the host writes to. -1: there is none worth using, or the device is
// treated as unified, where host memory is as good.
func inputMemory(p *vk.Properties, unified bool, allowed uint32) int {
	if unified {
		return -1
	}
	for i, t := range p.MemoryTypes {
		if p.Heaps[t.Heap] < leastInputHeap {
			allowed &^= 1 << i
		}
	}
	return memoryType(p, allowed, vk.DeviceLocal|hostFlags)
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

// slowStores selects the drivers that plan.Facts.TexelStores is for. lavapipe 25.0.7 takes 690 ms for an 8x16 tile that
// stores to a storage buffer and a third of that with texel stores; 22.3.6 takes 160 ms either way and runs texel
// stores up to 15 % slower. The version between them at which it changed is not known.
func slowStores(p *vk.Properties) bool {
	var major int
	if _, err := fmt.Sscanf(p.DriverInfo, "Mesa %d.", &major); err != nil {
		return false
	}
	return p.DriverID == driverLLVMpipe && major > 22
}

// checkPlan refuses plans that would break a rule of Vulkan on this device. Plans also come from cache
// files, so nothing is taken for granted; what kernels do with their push constants is not checked.
func (d *Device) checkPlan(p *plan.Plan) error {
	if err := p.Verify(); err != nil {
		return err
	}
	for _, n := range []int64{p.ArenaBytes, p.WeightBytes, p.HostBytes} {
		if n > d.props.MaxAllocation {
			return nn.Errorf(nn.StatusResourceExhaustedPersistent, "memory", "%d bytes in one piece exceed the device's limit of %d",
				n, d.props.MaxAllocation)
		}
	}
	for _, key := range p.Pipelines() {
		if err := d.checkPipeline(key); err != nil {
			return err
		}
	}
	for i := range p.Steps {
		if err := d.checkStep(&p.Steps[i]); err != nil {
			return fmt.Errorf("step %d (%s, %s): %w", i, p.Steps[i].Label, p.Steps[i].Kernel, err)
		}
	}
	return nil
}

// checkStep checks what a plan cannot know. Precondition: plan.Plan.Verify accepted s.
func (d *Device) checkStep(s *plan.Step) error {
	if s.Kernel == shaders.Copy {
		return nil
	}
	info := s.Kernel.Info()
	for i := range s.Bindings {
		if err := d.checkBinding(&s.Bindings[i], info, info.Bindings[i]); err != nil {
			return fmt.Errorf("binding %d: %w", i, err)
		}
	}
	for i, n := range s.Groups {
		if n > d.props.MaxGroups[i] || s.Base[i] > d.props.MaxGroups[i]-n {
			return fmt.Errorf("%v workgroups from %v on; the device allows 1 to %v", s.Groups, s.Base, d.props.MaxGroups)
		}
	}
	return nil
}

func (d *Device) checkBinding(b *plan.Binding, k *family.Info, letter byte) error {
	f := &d.info.Facts
	if letter == 's' {
		if b.Size > f.MaxStorageRange {
			return nn.Errorf(nn.StatusResourceExhaustedPersistent, "storage buffer", "%d bytes exceed the device's limit of %d",
				b.Size, f.MaxStorageRange)
		}
		return nil
	}
	if letter == 'a' {
		if n := b.Size / int64(k.Needs.BlockBytes); n > f.MaxBlocks {
			return fmt.Errorf("an array of %d storage buffers; the device allows %d", n, f.MaxBlocks)
		}
		return nil
	}
	if letter == 'i' && b.Format == plan.FormatRGBA32F && !f.StorageTexelRGBA32F {
		return fmt.Errorf("cannot write texels of %s", b.Format)
	}
	if texel := b.Format.TexelBytes(); b.Size/texel > f.MaxTexelElements {
		return fmt.Errorf("%d bytes as texels of %d; the device allows %d texels", b.Size, texel, f.MaxTexelElements)
	}
	return nil
}
