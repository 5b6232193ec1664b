package vk

/*
#include "shim.h"
*/
import "C"

import "fmt"

// HandleKind is a VkExternalMemoryHandleTypeFlagBits: how memory is passed between processes and APIs.
type HandleKind uint32

// Kinds of handles.
const (
	// OpaqueFD means something only to the driver that made it, on the same device.
	OpaqueFD HandleKind = 0x1
	// HostMemory is the host's own memory, by address.
	HostMemory HandleKind = 0x80
	// DmaBuf is the kernel's dma-buf.
	DmaBuf HandleKind = 0x200
)

func (k HandleKind) String() string {
	switch k {
	case OpaqueFD:
		return "opaque fd"
	case HostMemory:
		return "host memory"
	case DmaBuf:
		return "dma-buf"
	}
	return fmt.Sprintf("HandleKind(%#x)", uint32(k))
}

// External says what buffers of a device can do with handles of a kind.
type External struct {
	Import, Export bool
	// Dedicated: such memory must be made for one buffer alone; AllocateExport and ImportFD see to it.
	Dedicated bool
}

// externalUsage is the usage that Properties asks about: all that this package knows.
const externalUsage = UsageTransferSrc | UsageTransferDst | UsageUniformTexel | UsageStorageTexel | UsageStorage

// From VkExternalMemoryFeatureFlagBits.
const (
	externalDedicated = 1
	externalExport    = 2
	externalImport    = 4
)

// external asks for k where the device has the extension that defines it.
func (p Physical) external(k HandleKind, has bool) External {
	if !has {
		return External{}
	}
	f := C.nngpu_physical_external(p.inst.c, C.uint64_t(p.handle), C.uint32_t(externalUsage), C.uint32_t(k))
	return External{Import: f&externalImport != 0, Export: f&externalExport != 0, Dedicated: f&externalDedicated != 0}
}

// ExternalFeatures are the features that external memory of p needs, to be passed to NewDevice.
func (p *Properties) ExternalFeatures() Features {
	var f Features
	if p.HostImport {
		f |= FeatureHostMemory
	}
	if p.OpaqueFD != (External{}) {
		f |= FeatureMemoryFD
	}
	if p.DmaBuf != (External{}) {
		f |= FeatureDmaBuf
	}
	if p.SyncFD {
		f |= FeatureSyncFD
	}
	return f
}

// NewExternalBuffer makes a buffer without memory, to be bound to memory that comes from a handle of the kind, or that
// leaves as one. bytes > 0.
func (d *Device) NewExternalBuffer(bytes int64, usage uint32, k HandleKind) (Buffer, error) {
	if err := d.fault(CallNewBuffer, "vkCreateBuffer"); err != nil {
		return 0, err
	}
	v := C.nngpu_external_buffer(d.c, C.uint64_t(bytes), C.uint32_t(usage), C.uint32_t(k))
	return Buffer(v.value), check("vkCreateBuffer", v.result)
}

// ImportHost makes a buffer of the bytes of b, which the device then reads and writes in place. The length and the
// address of b are multiples of Properties.HostAlign.
//
// b is no Go memory: the driver keeps its address. It must stay mapped until the memory is freed, and nobody may
// shrink the file behind it: drivers die of that in threads of their own. Drivers check nothing of this, and a
// mapping without PROT_WRITE must not be written by the device. Freeing the memory leaves b alone.
//
// The host sees what the device wrote without a flush: the memory is coherent.
//
// Errors: ErrNotSupported where the device cannot import it; the caller copies then.
func (d *Device) ImportHost(b []byte, usage uint32) (Buffer, Memory, error) {
	align := d.props.HostAlign
	address := hostAddress(b)
	size := int64(len(b))
	switch {
	case d.features&FeatureHostMemory == 0:
		return 0, 0, fmt.Errorf("%w: the device imports no host memory", ErrNotSupported)
	case align <= 0 || align&(align-1) != 0:
		return 0, 0, fmt.Errorf("%w: host memory aligned to %d", ErrNotSupported, align)
	case size == 0 || address%uint64(align) != 0 || size%align != 0:
		return 0, 0, fmt.Errorf("%w: %d bytes at %#x, which are not aligned to %d", ErrNotSupported, size, address, align)
	case size > d.props.MaxAllocation:
		return 0, 0, fmt.Errorf("%w: %d bytes exceed the limit of %d", ErrNotSupported, size, d.props.MaxAllocation)
	}
	t := C.nngpu_host_types(d.c, C.uint64_t(address))
	if err := check("vkGetMemoryHostPointerPropertiesEXT", t.result); err != nil {
		return 0, 0, err
	}
	buffer, err := d.NewExternalBuffer(size, usage, HostMemory)
	if err != nil {
		return 0, 0, err
	}
	memory, err := d.importHostFor(buffer, address, size, uint32(t.value))
	if err != nil {
		d.DestroyBuffer(buffer)
		return 0, 0, err
	}
	return buffer, memory, nil
}

// importHostFor imports size bytes at address, of one of the types, and binds buffer to them.
func (d *Device) importHostFor(buffer Buffer, address uint64, size int64, types uint32) (Memory, error) {
	need := d.Requirements(buffer)
	if need.Size > size {
		return 0, fmt.Errorf("%w: a buffer of %d bytes wants %d", ErrNotSupported, size, need.Size)
	}
	memoryType := -1
	for i, t := range d.props.MemoryTypes {
		if types&need.Types>>i&1 == 0 || t.Flags&(HostVisible|HostCoherent) != HostVisible|HostCoherent {
			continue
		}
		if memoryType < 0 || t.Flags&HostCached > d.props.MemoryTypes[memoryType].Flags&HostCached {
			memoryType = i
		}
	}
	if memoryType < 0 {
		return 0, fmt.Errorf("%w: no coherent memory type for this address", ErrNotSupported)
	}
	m, err := d.allocate(C.nngpu_allocation{
		bytes: C.uint64_t(size), host: C.uint64_t(address), memory_type: C.uint32_t(memoryType), fd: -1,
	})
	if err != nil {
		return 0, err
	}
	if err := d.Bind(buffer, m); err != nil {
		d.Free(m)
		return 0, err
	}
	return m, nil
}

func (d *Device) allocate(a C.nngpu_allocation) (Memory, error) {
	if err := d.fault(CallAllocate, "vkAllocateMemory"); err != nil {
		return 0, err
	}
	v := C.nngpu_allocate(d.c, a)
	return Memory(v.value), check("vkAllocateMemory", v.result)
}
