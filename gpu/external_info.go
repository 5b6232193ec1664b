package gpu

import (
	"fmt"

	"github.com/nngpu/nngpu/gpu/internal/vulkan"
)

// PoolUse says what becomes of the memory of a pool.
type PoolUse string

// What becomes of it.
const (
	Imported PoolUse = "imported" // used where it is
	Copied   PoolUse = "copied"
	Refused  PoolUse = "refused" // a request that names it fails
)

// PoolKind is a kind of pool and what a device does with it.
type PoolKind struct {
	Kind   string  `json:"kind"`             // by the HAL's name
	Source string  `json:"source,omitempty"` // of a blob: where its memory comes from
	Use    PoolUse `json:"use"`
	// Why says what Use depends on.
	Why string `json:"why"`
}

// External says which memory from outside a device uses where it is, and whether its own can leave it.
type External struct {
	HostImport bool  `json:"host_import"`    // memory of the host
	HostAlign  int64 `json:"host_alignment"` // of its address, bytes; 0 without import
	OpaqueFD   bool  `json:"opaque_fd"`      // memory of the same driver on the same device
	DmaBuf     bool  `json:"dma_buf"`
	// Export: buffers can leave the device, as opaque fds.
	Export bool `json:"export"`
	// SyncFD: the end of an execution can leave it as a sync_file.
	SyncFD bool       `json:"sync_fd"`
	Pools  []PoolKind `json:"pools"`
}

func externalOf(x vulkan.External) External {
	return External{
		HostImport: x.HostImport, HostAlign: x.HostAlign, OpaqueFD: x.OpaqueFD, DmaBuf: x.DmaBuf, Export: x.Export, SyncFD: x.SyncFD,
		Pools: poolKinds(x),
	}
}

// poolKinds lists what the driver does with each kind of pool.
func poolKinds(x vulkan.External) []PoolKind {
	const noHost = "the device imports no memory of the host"
	ashmem := PoolKind{Kind: "ashmem", Use: Copied, Why: noHost}
	mmap := PoolKind{Kind: "mmap_fd", Use: Copied, Why: noHost}
	image := PoolKind{Kind: "hardware_buffer", Use: Copied, Why: "texels, which the device converts; in a dma-buf or behind an opaque fd as a blob"}
	if x.HostImport {
		ashmem.Use, ashmem.Why = Imported, "copied where somebody could shrink it"
		mmap.Use = Imported
		mmap.Why = fmt.Sprintf("a memfd that nobody can shrink, at an offset that %d divides; any other file is copied", x.HostAlign)
		image.Use = Imported
	}
	dmaBuf := PoolKind{Kind: "hardware_buffer_blob", Source: "dma-buf", Use: Copied, Why: "the device imports none; where the host can map it, else refused"}
	if x.DmaBuf {
		dmaBuf.Use, dmaBuf.Why = Imported, "copied where the device refuses it and the host can map it"
	}
	opaque := PoolKind{Kind: "hardware_buffer_blob", Source: "opaque fd", Use: Refused, Why: "the device imports none, and the host cannot map it"}
	if x.OpaqueFD {
		opaque.Use, opaque.Why = Imported, "of the same driver on the same device; any other is refused"
		if x.PlainFiles {
			opaque.Why = "of the same driver, exported by the process itself or by who is trusted; any other is refused"
		}
	}
	return []PoolKind{ashmem, mmap, dmaBuf, opaque, image}
}
