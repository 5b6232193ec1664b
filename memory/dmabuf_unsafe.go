//go:build linux

package memory

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// From linux/dma-buf.h: _IOW('b', 0, struct dma_buf_sync), whose one field is 64 bits of flags. The number is that of
// the architectures with the generic layout of ioctl numbers, which are all but MIPS, PowerPC and SPARC.
const dmaBufIoctlSync = 0x40086200

// syncDMABuf is DMA_BUF_IOCTL_SYNC; as the kernel's documentation asks, it is repeated when interrupted.
func syncDMABuf(fd uintptr, flags uint64) error {
	for {
		// Sound: the kernel reads 8 bytes at the address during the call, and the conversion stands in its
		// argument list, which keeps flags alive and in place.
		_, _, e := unix.Syscall(unix.SYS_IOCTL, fd, dmaBufIoctlSync, uintptr(unsafe.Pointer(&flags)))
		switch e {
		case 0:
			return nil
		case unix.EINTR, unix.EAGAIN:
		default:
			return e
		}
	}
}
