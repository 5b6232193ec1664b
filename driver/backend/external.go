package backend

import "github.com/nngpu/nngpu/driver/nn"

//go:generate go tool stringer -linecomment -output=names_gen.go -type=ExternalKind

// ExternalKind says how memory is passed between processes and APIs.
type ExternalKind uint8

// Kinds of external memory.
const (
	// OpaqueFD means something only to the driver that made it, on the same device
	// (VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT).
	OpaqueFD ExternalKind = 1 // opaque fd
	// DMABuf is the kernel's dma-buf, laid out without a modifier.
	DMABuf ExternalKind = 2 // dma-buf
)

// External is memory of a device on its way between processes or APIs. Plain data: whose FD is, the functions say.
type External struct {
	FD   int
	Kind ExternalKind
	// Allocation is the size in bytes of the whole memory: of an opaque fd exactly as it was allocated.
	Allocation int64
	// Offset and Size, in bytes, are the part of the allocation that is meant.
	Offset, Size int64
	// MemoryType is the index of the allocation's type, and DeviceUUID and DriverUUID (VkPhysicalDeviceIDProperties)
	// are of the device that it was made on. Of opaque fds only.
	MemoryType uint32
	DeviceUUID [16]byte
	DriverUUID [16]byte
	// ReadOnly: executions may read it as an input, nothing else.
	ReadOnly bool
	// Trusted: whoever holds the descriptor is trusted as this process is. Software implementations pass plain files
	// off as opaque fds; what is written at the beginning of one, or its becoming shorter, ends the process that
	// imported it. Without trust such files are refused. Kernels guard what other devices hand out.
	Trusted bool
}

// ExternalMemory is a Backend that shares memory with other processes and APIs. Safe for concurrent use.
type ExternalMemory interface {
	// ImportExternal lets executions read and write x.Size bytes from x.Offset on, as Backend.Import does with
	// host memory: tensors in it are dense, at the Offset of their Binding. Read and Write of the memory move as
	// many of its first bytes as they are given. x.FD is borrowed until it returns, and the memory stays alive
	// without it.
	//
	// Errors: ErrNotImported where the device cannot, or must not.
	ImportExternal(x External) (Memory, error)
	// AllocateExportable is Allocate, of memory in an allocation of its own, which takes some more of the device.
	//
	// Errors: also GENERAL_FAILURE where the device exports nothing.
	AllocateExportable(t nn.OperandType, dims nn.Dims, budget int64) (Exportable, error)
}

// Exportable is memory that can be handed out. Safe for concurrent use.
type Exportable interface {
	Memory
	// Export describes the memory, with a new descriptor that is the caller's to close. It keeps the memory alive,
	// beyond Close and the device, and who holds it reads and writes the memory whenever he likes.
	Export() (Exported, error)
}

// Exported is memory that leaves a device.
type Exported struct {
	External
	// Dense: the tensor is dense and row-major at Offset. Otherwise it is in the device's own form, which pads the
	// innermost dimension to a multiple of 4 elements, and means nothing to others; Size is that of this form.
	Dense bool
}
