//go:build linux

package memory

import (
	"errors"
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"golang.org/x/sys/unix"
)

// External is memory that a Vulkan device can import by file descriptor. Its bytes are linear, from offset 0 of the
// device memory.
type External interface {
	nn.Memory
	// Descriptor says how to import it: Source, MemoryType, DeviceUUID, DriverUUID. Whether the device is the right
	// one is for the importer to check.
	Descriptor() Descriptor
	// Allocation is the size in bytes of the whole memory, at least Size: Descriptor.Allocation of an opaque fd,
	// and for a dma-buf what the kernel says.
	Allocation() int64
	// DupFD returns a new descriptor, which the caller owns; a Vulkan import takes over the one it is given. It
	// fails when the memory is closed.
	DupFD() (int, error)
	// Hold keeps the memory open until release is called, once. It fails when the memory is closed. Unlike
	// nn.Shared's Acquire it is no access by the host.
	Hold() (release func(), err error)
	// OnRelease calls f once, when the memory is closed and no longer held; at once if that has happened. Importers
	// drop there what they imported; they call it while they hold the memory.
	OnRelease(f func())
	// Fixed reports whether nobody can shrink the memory. An implementation that backs its memory with a file (the
	// software ones do) faults, fatally, on an import that its owner shrinks.
	Fixed() bool
	// Regular reports whether the memory lies in a regular file, whose size was checked. That is all that an
	// implementation which maps the descriptor unseen (SwiftShader does) must be given.
	Regular() bool
}

// external is what DMABuf and Opaque share.
type external struct {
	base
	allocation int64
	fixed      bool
	regular    bool
}

// Descriptor implements External.
func (e *external) Descriptor() Descriptor { return e.h.Buffer }

// Allocation implements External.
func (e *external) Allocation() int64 { return e.allocation }

// Fixed implements External.
func (e *external) Fixed() bool { return e.fixed }

// Regular implements External.
func (e *external) Regular() bool { return e.regular }

// OnRelease implements External.
func (e *external) OnRelease(f func()) { e.life.onClose(f) }

// Hold implements External.
func (e *external) Hold() (release func(), err error) { return e.acquire() }

// DupFD implements External.
func (e *external) DupFD() (int, error) {
	fd, err := dupFD(e.file)
	if err != nil {
		return -1, dupError(e.h.Kind, err)
	}
	return fd, nil
}

// Opaque is a hardware buffer in memory of a Vulkan device, exported as an opaque fd. Only that device, or another
// one with the same UUIDs, can open it. Whether two of them are the same memory cannot be told, so it is not
// nn.Located.
type Opaque struct{ external }

func openOpaque(b base) (*Opaque, error) {
	s, err := inspect(b.file)
	if err != nil {
		return nil, err
	}
	sort := s.mode & unix.S_IFMT
	switch sort {
	case unix.S_IFREG: // memory of a software implementation, in a memfd: with its own head, perhaps
		if s.size < b.h.Buffer.Allocation {
			return nil, fmt.Errorf("an allocation of %d bytes in a file of %d", b.h.Buffer.Allocation, s.size)
		}
	case unix.S_IFCHR, 0: // a device node, or a file of the kernel's without a type; its size tells nothing
		s.fixed = true
	default:
		return nil, fmt.Errorf("not memory of a device (mode %#o)", s.mode)
	}
	if s.dmabuf {
		return nil, errors.New("a dma-buf, no opaque fd")
	}
	return &Opaque{external{base: b, allocation: b.h.Buffer.Allocation, fixed: s.fixed, regular: sort == unix.S_IFREG}}, nil
}

// Bytes implements nn.Memory: it fails.
func (o *Opaque) Bytes() ([]byte, error) {
	return nil, o.unmappable(fmt.Sprintf("it is memory of the Vulkan device %x", o.h.Buffer.DeviceUUID))
}

var (
	_ Pool     = (*Opaque)(nil)
	_ External = (*Opaque)(nil)
)
