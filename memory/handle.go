//go:build linux

package memory

import (
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/nngpu/nngpu/driver/nn"
	"golang.org/x/sys/unix"
)

// Prot is what a client permits to do with an mmap_fd pool; values are those of mmap(2).
type Prot uint32

// Protections; a pool has one or both.
const (
	ProtRead  Prot = unix.PROT_READ
	ProtWrite Prot = unix.PROT_WRITE
)

func (p Prot) String() string {
	switch p {
	case ProtRead:
		return "r"
	case ProtWrite:
		return "w"
	case ProtRead | ProtWrite:
		return "rw"
	}
	return fmt.Sprintf("Prot(%#x)", uint32(p))
}

// Handle is a pool as it travels: its plain values by MarshalBinary, its descriptors beside them, over a socket as
// SCM_RIGHTS. Nothing in it is verified before Open.
type Handle struct {
	Kind Kind
	// Size is the pool's size in bytes; the width for hardware_buffer_blob, 0 for hardware_buffer.
	Size int64
	// Prot and Offset (in bytes, any alignment) are of mmap_fd; 0 for other kinds.
	Prot   Prot
	Offset int64
	// Buffer describes the hardware buffer kinds; the zero value for others.
	Buffer Descriptor
	// Files are the descriptors: one for each kind. They are the caller's; Open duplicates them.
	Files []*os.File
}

// Close closes the handle's descriptors.
func (h *Handle) Close() error {
	var errs []error
	for _, f := range h.Files {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	h.Files = nil
	return errors.Join(errs...)
}

// check looks at the values alone. Errors as of Open.
func (h *Handle) check() error {
	where := h.Kind.where()
	switch h.Kind {
	case Ashmem, MmapFD, HardwareBufferBlob, HardwareBuffer:
	default:
		return nn.Errorf(nn.StatusGeneralFailure, "pool", "unknown kind %q", h.Kind)
	}
	if len(h.Files) != 1 {
		return nn.Errorf(nn.StatusGeneralFailure, where, "%d file descriptors instead of 1", len(h.Files))
	}
	if err := nn.NotNil(where, h.Files[0]); err != nil {
		return err
	}
	if h.Kind != HardwareBuffer && h.Size <= 0 {
		return nn.Invalid(where, "size %d", h.Size)
	}
	if h.Kind == MmapFD {
		if h.Prot == 0 || h.Prot&^(ProtRead|ProtWrite) != 0 {
			return nn.Invalid(where, "protection %#x", uint32(h.Prot))
		}
		if h.Offset < 0 || h.Offset > math.MaxInt64-h.Size {
			return nn.Invalid(where, "offset %d, size %d", h.Offset, h.Size)
		}
	} else if h.Prot != 0 || h.Offset != 0 {
		return nn.Invalid(where, "has protection %v and offset %d", h.Prot, h.Offset)
	}
	switch {
	case h.Kind != HardwareBufferBlob && h.Kind != HardwareBuffer:
		if h.Buffer != (Descriptor{}) {
			return nn.Invalid(where, "has the description of a hardware buffer")
		}
		return nil
	case h.Kind == HardwareBufferBlob && h.Size != int64(h.Buffer.Width):
		return nn.Invalid(where, "size %d, width %d", h.Size, h.Buffer.Width)
	case h.Kind == HardwareBuffer && h.Size != 0:
		return nn.Invalid(where, "size %d of an image, not 0", h.Size)
	case (h.Kind == HardwareBufferBlob) != (h.Buffer.Format == FormatBlob):
		return nn.Invalid(where, "format %v", h.Buffer.Format)
	}
	if err := h.Buffer.Check(); err != nil {
		return nn.Invalid(where, "%w", err)
	}
	return nil
}

// control calls f with the descriptor, which stays open meanwhile. A closed file is os.ErrClosed.
func control(file *os.File, f func(fd uintptr) error) error {
	c, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := c.Control(func(fd uintptr) { inner = f(fd) }); err != nil {
		return os.ErrClosed // package os keeps its own error of this case to itself
	}
	return inner
}

// dupFD returns a duplicate of file's descriptor, closed on exec.
func dupFD(file *os.File) (dup int, err error) {
	err = control(file, func(fd uintptr) (err error) {
		dup, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return -1, fmt.Errorf("duplicate of %s: %w", file.Name(), err)
	}
	return dup, nil
}

func dup(file *os.File) (*os.File, error) {
	fd, err := dupFD(file)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), file.Name()), nil
}

// dupError is the error of a pool whose descriptor cannot be duplicated.
func dupError(kind Kind, err error) error {
	where := kind.where()
	if errors.Is(err, os.ErrClosed) {
		return errClosed(where)
	}
	return exhausted(where, err)
}
