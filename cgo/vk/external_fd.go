//go:build linux && cgo

package vk

/*
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Handle is memory from elsewhere, to be imported by fd.
type Handle struct {
	FD    int // borrowed
	Kind  HandleKind
	Bytes int64 // size of the allocation; of an opaque fd exactly what the exporter allocated
	// MemoryType is the exporter's for an opaque fd, else one of FDTypes and of what the buffer wants.
	MemoryType int
	// Trusted: all who hold the fd are trusted as this program is. Software implementations pass plain files off as
	// opaque fds. lavapipe believes the offset and size at the beginning of the file, whoever wrote them, and
	// SwiftShader's files can be shortened; both corrupt or kill the importing process. Without trust such files are
	// refused. The kernel guards what GPUs hand out.
	Trusted bool
}

// AllocateExport takes memory for b, a buffer from NewExternalBuffer of the same kind, that ExportFD can hand out.
// Precondition: the type is among those that b wants, bytes is what it wants.
func (d *Device) AllocateExport(b Buffer, bytes int64, memoryType int, k HandleKind) (Memory, error) {
	a := C.nngpu_allocation{
		bytes: C.uint64_t(bytes), memory_type: C.uint32_t(memoryType), export_type: C.uint32_t(k), fd: -1,
	}
	if d.dedicated(b, k) {
		a.dedicated = C.uint64_t(b)
	}
	return d.allocate(a)
}

// dedicated reports whether memory of the kind must be made for b alone.
func (d *Device) dedicated(b Buffer, k HandleKind) bool {
	switch k {
	case OpaqueFD:
		return d.props.OpaqueFD.Dedicated || d.Requirements(b).Dedicated
	case DmaBuf:
		return d.props.DmaBuf.Dedicated || d.Requirements(b).Dedicated
	}
	return false
}

// ExportFD makes an fd of memory from AllocateExport of the same kind. The fd belongs to the caller, is closed on exec
// and keeps the memory alive. Whoever holds it can read and write the memory.
func (d *Device) ExportFD(m Memory, k HandleKind) (int, error) {
	syscall.ForkLock.RLock() // lavapipe's fds survive exec
	defer syscall.ForkLock.RUnlock()
	r := C.nngpu_export_fd(d.c, C.uint64_t(m), C.uint32_t(k))
	if err := check("vkGetMemoryFdKHR", r.result); err != nil {
		return -1, err
	}
	syscall.CloseOnExec(int(r.fd))
	return int(r.fd), nil
}

// FDTypes is the set of memory types, by bits, that a dma-buf can be imported as. Borrows fd. Errors: those of
// ImportFD.
func (d *Device) FDTypes(fd int, k HandleKind) (uint32, error) {
	if err := d.hasKind(k); err != nil {
		return 0, err
	}
	if k == OpaqueFD { // Vulkan does not answer for these: the exporter's type is the only one
		return 0, fmt.Errorf("%w: memory types of an %v", ErrNotSupported, k)
	}
	if _, err := checkFD(Handle{FD: fd, Kind: k}, d.props.Type == TypeCPU); err != nil {
		return 0, err
	}
	v := C.nngpu_fd_types(d.c, C.uint32_t(k), C.int32_t(fd))
	return uint32(v.value), check("vkGetMemoryFdPropertiesKHR", v.result)
}

// ImportFD makes the memory behind h memory of the device, for b, a buffer from NewExternalBuffer of the same kind,
// which the caller then binds. The fd stays the caller's: a duplicate goes to the driver.
//
// Errors: ErrNotSupported where the device cannot; ErrInvalidHandle for an fd that is shorter than said, could shrink
// under the device, or that the driver refuses.
func (d *Device) ImportFD(h Handle, b Buffer) (Memory, error) {
	if err := d.hasKind(h.Kind); err != nil {
		return 0, err
	}
	if h.MemoryType < 0 || h.MemoryType >= len(d.props.MemoryTypes) {
		return 0, fmt.Errorf("%w: memory type %d", ErrInvalidHandle, h.MemoryType)
	}
	if h.Bytes <= 0 || h.Bytes > d.props.MaxAllocation {
		return 0, fmt.Errorf("%w: %d bytes", ErrInvalidHandle, h.Bytes)
	}
	importMu.Lock()
	defer importMu.Unlock()
	fd, err := unix.FcntlInt(uintptr(h.FD), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrInvalidHandle, err)
	}
	h.FD = fd
	file, err := checkFD(h, d.props.Type == TypeCPU)
	if err != nil {
		unix.Close(fd)
		return 0, err
	}
	a := C.nngpu_allocation{
		bytes: C.uint64_t(h.Bytes), memory_type: C.uint32_t(h.MemoryType), import_type: C.uint32_t(h.Kind), fd: C.int32_t(fd),
	}
	if d.dedicated(b, h.Kind) {
		a.dedicated = C.uint64_t(b)
	}
	m, err := d.allocate(a)
	if err != nil {
		closeIf(fd, file)
		return 0, err
	}
	return m, nil
}

// importMu: one ImportFD at a time, so that none gets the fd number that another's driver closes, see closeIf.
var importMu sync.Mutex

// closeIf closes fd if it still is the file. Vulkan leaves the fd of a failed import to the caller, but lavapipe
// (22.3.6, 25.0.7) closes it, and its number may mean something else by now.
func closeIf(fd int, file unix.Stat_t) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && st.Dev == file.Dev && st.Ino == file.Ino {
		unix.Close(fd)
	}
}

// hasKind returns an error where the device was made without fds of the kind.
func (d *Device) hasKind(k HandleKind) error {
	if k == OpaqueFD && d.features&FeatureMemoryFD != 0 && d.props.OpaqueFD.Import ||
		k == DmaBuf && d.features&FeatureDmaBuf != 0 && d.props.DmaBuf.Import {
		return nil
	}
	return fmt.Errorf("%w: no import of an %v", ErrNotSupported, k)
}

// checkFD checks what the kernel knows of h.FD, because implementations do not: SwiftShader maps whatever it is given,
// lavapipe waits for ever to read an eventfd, and a shrunken file ends the process in a driver's thread. software: the
// device is no hardware, and its driver knows plain files only.
func checkFD(h Handle, software bool) (unix.Stat_t, error) {
	var st unix.Stat_t
	if err := unix.Fstat(h.FD, &st); err != nil {
		return st, fmt.Errorf("%w: %w", ErrInvalidHandle, err)
	}
	var fs unix.Statfs_t
	isDmaBuf := unix.Fstatfs(h.FD, &fs) == nil && fs.Type == unix.DMA_BUF_MAGIC
	switch kind := st.Mode & unix.S_IFMT; {
	case isDmaBuf: // its size is fixed
	case kind == unix.S_IFREG:
		return st, checkFile(h, st.Size)
	case h.Kind == OpaqueFD && !software && (kind == 0 || kind == unix.S_IFCHR): // a kernel driver judges its own
		if st.Size == 0 {
			return st, nil
		}
	default:
		return st, fmt.Errorf("%w: a file of type %#o is no %v", ErrInvalidHandle, kind, h.Kind)
	}
	if st.Size < h.Bytes {
		return st, fmt.Errorf("%w: %d bytes instead of %d", ErrInvalidHandle, st.Size, h.Bytes)
	}
	return st, nil
}

// checkFile judges a plain file of the given size that stands for device memory.
func checkFile(h Handle, size int64) error {
	if flags, err := unix.FcntlInt(uintptr(h.FD), unix.F_GETFL, 0); err != nil || flags&unix.O_ACCMODE != unix.O_RDWR {
		return fmt.Errorf("%w: not open for reading and writing", ErrInvalidHandle)
	}
	switch {
	case h.Kind == OpaqueFD && !h.Trusted:
		return fmt.Errorf("%w: a plain file as an opaque fd, from someone not trusted", ErrInvalidHandle)
	case h.Kind == OpaqueFD:
	default:
		if err := sealShrink(h.FD); err != nil {
			return err
		}
		var st unix.Stat_t // again, now that it cannot shrink
		if err := unix.Fstat(h.FD, &st); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalidHandle, err)
		}
		size = st.Size
	}
	if size < h.Bytes {
		return fmt.Errorf("%w: %d bytes instead of %d", ErrInvalidHandle, size, h.Bytes)
	}
	return nil
}

// sealShrink makes sure that the file never becomes shorter.
func sealShrink(fd int) error {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err == nil && seals&unix.F_SEAL_SHRINK == 0 {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK)
	}
	if err != nil {
		return fmt.Errorf("%w: the file may shrink: %w", ErrInvalidHandle, err)
	}
	return nil
}
