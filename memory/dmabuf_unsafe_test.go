package memory

import (
	"os"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// newDMABufFile makes a dma-buf of whole pages by /dev/udmabuf, or skips the test.
func newDMABufFile(t *testing.T, size int64) *os.File {
	t.Helper()
	dev, err := os.OpenFile("/dev/udmabuf", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no dma-bufs here: %v", err)
	}
	defer dev.Close()
	// From linux/udmabuf.h: struct udmabuf_create, UDMABUF_FLAGS_CLOEXEC and UDMABUF_CREATE, _IOW('u', 0x42, ...).
	create := struct {
		memfd, flags uint32
		offset, size uint64
	}{uint32(memfd(t, size, unix.F_SEAL_SHRINK).Fd()), 1, 0, uint64(size)}
	fd, _, e := unix.Syscall(unix.SYS_IOCTL, dev.Fd(), 0x40187542, uintptr(unsafe.Pointer(&create)))
	require.Zero(t, e, "UDMABUF_CREATE: %v", e)
	f := os.NewFile(fd, "dma-buf")
	t.Cleanup(func() { f.Close() })
	return f
}
