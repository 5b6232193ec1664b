//go:build linux

package fence

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// syncFileInfo is struct sync_file_info of linux/sync_file.h.
type syncFileInfo struct {
	name      [32]byte
	status    int32
	flags     uint32
	numFences uint32
	_         uint32
	fences    uint64
}

// syncFileInfoRequest is SYNC_IOC_FILE_INFO: _IOWR('>', 4, struct sync_file_info), linux/sync_file.h.
const syncFileInfoRequest = 3<<30 | uint(unsafe.Sizeof(syncFileInfo{}))<<16 | '>'<<8 | 4

// syncFileStatus asks the kernel; ok is false if fd is not a sync_file.
func syncFileStatus(fd int) (status int, ok bool) {
	var info syncFileInfo // numFences 0: the kernel writes nothing through fences
	// The kernel reads and writes info during the call only.
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(syncFileInfoRequest), uintptr(unsafe.Pointer(&info)))
	return int(info.status), errno == 0
}
