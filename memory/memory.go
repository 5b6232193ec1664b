// Package memory holds the pools that models and requests refer to by handle.
//
// A Handle says what a client hands over: a kind by the HAL's name, sizes and file descriptors. Open verifies it and
// returns a pool, whose abilities type assertions find:
//
//	*Mapped  nn.Pinned, Sealed   a memfd that cannot shrink: mapped, and a device may use it in place
//	*File    nn.File, nn.Shared  any other file: never mapped, because its owner may shorten it; pread and pwrite
//	*DMABuf  nn.Shared, External a dma-buf: mapped, its caches in step between Acquire and release
//	*Opaque  External            memory of a Vulkan device, which only a device can open
//	*Image                       texels over one of the above, which Image.Backing returns; requests only, and whole
//
// The first three are nn.Located.
//
// Contents are shared with whoever holds another descriptor of the same file, and may change while they are read,
// unless the file is sealed (nn.Sealed): copy what is to be checked before checking it. Pools are safe for concurrent
// use; who writes which bytes is for their users to agree on. Linux only.
package memory

import (
	"github.com/nngpu/nngpu/driver/nn"

	_ "github.com/nngpu/nngpu/internal/needlinux" // one line where this cannot be built
)

// Kind names a kind of pool; values are the HAL's names.
type Kind string

// Pool kinds of the HAL.
const (
	Ashmem             Kind = "ashmem"               // a memfd
	MmapFD             Kind = "mmap_fd"              // a file descriptor with protection and offset
	HardwareBufferBlob Kind = "hardware_buffer_blob" // linear memory, of the host or a device
	HardwareBuffer     Kind = "hardware_buffer"      // an image
)

// where names a pool of the kind for errors.
func (k Kind) where() string { return "pool " + string(k) }

// Pool is memory that was opened from a handle.
type Pool interface {
	nn.Memory
	// Kind is that of the handle.
	Kind() Kind
	// Handle returns a handle of the same memory, to pass on. Its descriptors are duplicates: the caller closes
	// them with Handle.Close.
	Handle() (Handle, error)
	// Close lets the memory go as soon as nobody has acquired it any longer. Idempotent. A pool that is not
	// closed is never unmapped. What is begun afterwards is INVALID_ARGUMENT with nn.ErrClosed.
	Close() error
}

// Refused is a pool that stands for a handle that Open refused with Err, so that the model or request that names it
// fails when it is used, and nothing before.
type Refused struct {
	Err  error // never nil
	Want int64 // the size that the handle gave
}

// Size implements nn.Memory.
func (r Refused) Size() int64 { return max(r.Want, 0) }

// Bytes implements nn.Memory: it fails as Open did.
func (r Refused) Bytes() ([]byte, error) { return nil, r.Err }
