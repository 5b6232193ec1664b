//go:build linux

package memory

import (
	"errors"
	"fmt"
	"os"

	"github.com/nngpu/nngpu/driver/nn"
	"golang.org/x/sys/unix"
)

// NewAshmem makes a pool of size zero bytes in a new memfd, to be filled and handed on by Handle. name is for
// debugging (/proc/PID/maps) and at most 249 bytes.
//
// The size is sealed both ways: against shrinking, so that devices can use the memory in place, and against growing,
// which nobody needs and which would let a receiver use up memory in the maker's name. More seals may be added.
func NewAshmem(name string, size int64) (*Mapped, error) {
	p, err := create(Handle{Kind: Ashmem, Size: size}, name, size)
	if err != nil {
		return nil, err
	}
	return p.(*Mapped), nil
}

// NewHardwareBuffer makes a hardware buffer as d describes it in a new memfd, as NewAshmem does: a *Mapped for a BLOB,
// else an *Image. d.Source is SourceFile.
func NewHardwareBuffer(name string, d Descriptor) (Pool, error) {
	h := Handle{Kind: HardwareBuffer, Buffer: d}
	if d.Format == FormatBlob {
		h.Kind, h.Size = HardwareBufferBlob, int64(d.Width)
	}
	if d.Source != SourceFile {
		return nil, nn.Invalid(h.Kind.where(), "a %v cannot be made from host memory", d.Source)
	}
	size, err := d.Bytes()
	if err != nil {
		return nil, nn.Invalid(h.Kind.where(), "%w", err)
	}
	return create(h, name, size)
}

// FromFile opens size bytes at offset of a file as an mmap_fd pool: a *File, or a *Mapped if f is a memfd. f stays
// the caller's.
func FromFile(f *os.File, prot Prot, offset, size int64) (Pool, error) {
	return Open(Handle{Kind: MmapFD, Size: size, Prot: prot, Offset: offset, Files: []*os.File{f}})
}

func create(h Handle, name string, size int64) (Pool, error) {
	where := h.Kind.where()
	if size <= 0 {
		return nil, nn.Invalid(where, "size %d", size)
	}
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3, which has no MFD_NOEXEC_SEAL
		fd, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return nil, exhausted(where, fmt.Errorf("memfd_create: %w", err))
	}
	f := os.NewFile(uintptr(fd), "memfd:"+name)
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return nil, nn.Errorf(nn.StatusGeneralFailure, where, "%d bytes: %w", size, err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW); err != nil {
		return nil, nn.Errorf(nn.StatusGeneralFailure, where, "seal: %w", err)
	}
	h.Files = []*os.File{f}
	return Open(h)
}

// exhausted is the error of a call that may have failed for want of descriptors.
func exhausted(where string, err error) error {
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return nn.Errorf(nn.StatusResourceExhaustedTransient, where, "%w", err)
	}
	return nn.Errorf(nn.StatusGeneralFailure, where, "%w", err)
}
