//go:build linux

package memory

import (
	"errors"
	"fmt"
	"sync"

	"github.com/nngpu/nngpu/driver/nn"
	"golang.org/x/sys/unix"
)

// From linux/dma-buf.h: flags of DMA_BUF_IOCTL_SYNC.
const (
	syncRead  = 1 << 0
	syncWrite = 2 << 0
	syncStart = 0 << 2
	syncEnd   = 1 << 2
)

// DMABuf is a hardware buffer in a dma-buf. Its size is fixed by the kernel. The host's caches agree with the device
// between Acquire and release only. It is nn.Shared, not nn.Pinned: a device imports it by its descriptor, never by
// its address. It is External and nn.Located.
type DMABuf struct {
	external
	id       [2]uint64
	readOnly bool
	sync     func(flags uint64) error // replaced in tests
	end      func()                   // of an access

	mu    sync.Mutex
	pages []byte // mu; nil until Bytes is first called
}

func openDMABuf(b base) (*DMABuf, error) {
	s, err := inspect(b.file)
	if err != nil {
		return nil, err
	}
	if !s.dmabuf {
		return nil, errors.New("not a dma-buf")
	}
	// Documentation/driver-api/dma-buf.rst: the size is where SEEK_END leads.
	var size int64
	if err := control(b.file, func(fd uintptr) (err error) {
		size, err = unix.Seek(int(fd), 0, unix.SEEK_END)
		return err
	}); err != nil {
		return nil, fmt.Errorf("size of a dma-buf: %w", err)
	}
	if size < b.size {
		return nil, fmt.Errorf("%d bytes in a dma-buf of %d", b.size, size)
	}
	return newDMABuf(b, s, size), nil
}

func newDMABuf(b base, s stat, allocation int64) *DMABuf {
	d := &DMABuf{external: external{base: b, allocation: allocation, fixed: true}, id: s.id, readOnly: !s.write}
	d.sync = func(flags uint64) error {
		return control(d.file, func(fd uintptr) error { return syncDMABuf(fd, flags) })
	}
	d.life.drop = d.unmap
	d.end = func() {
		_ = d.sync(syncEnd | d.access()) // whoever reads next begins an access of its own
		d.life.release()
	}
	return d
}

func (d *DMABuf) access() uint64 {
	if d.readOnly {
		return syncRead
	}
	return syncRead | syncWrite
}

func (d *DMABuf) unmap() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pages != nil {
		munmap(d.pages)
	}
	d.file.Close()
}

// Bytes implements nn.Memory. It fails where the exporter does not let the host map the buffer. The slice is valid
// until the pool is closed and released by everybody, and to be touched only while it is acquired.
func (d *DMABuf) Bytes() ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.life.check(); err != nil {
		return nil, err
	}
	if d.pages == nil {
		prot := unix.PROT_READ
		if !d.readOnly {
			prot |= unix.PROT_WRITE
		}
		if err := control(d.file, func(fd uintptr) (err error) {
			d.pages, err = unix.Mmap(int(fd), 0, int(d.size), prot, unix.MAP_SHARED)
			return err
		}); err != nil {
			return nil, nn.Errorf(nn.StatusGeneralFailure, d.h.Kind.where(), "mmap of a dma-buf: %w", err)
		}
	}
	return d.pages[:len(d.pages):len(d.pages)], nil
}

// Acquire implements nn.Shared: it begins an access by the host, which waits for the device's, and release ends it.
func (d *DMABuf) Acquire() (release func(), err error) {
	if err := d.life.acquire(); err != nil {
		return nil, err
	}
	if err := d.sync(syncStart | d.access()); err != nil {
		d.life.release()
		return nil, nn.Errorf(nn.StatusGeneralFailure, d.h.Kind.where(), "access to a dma-buf: %w", err)
	}
	return d.end, nil
}

// ReadOnly implements nn.Shared.
func (d *DMABuf) ReadOnly() bool { return d.readOnly }

// Place implements nn.Located: the dma-buf's inode. Another handle of the exporter's memory (a memfd behind udmabuf)
// is another place.
func (d *DMABuf) Place() (file [2]uint64, offset int64) { return d.id, 0 }

var (
	_ Pool       = (*DMABuf)(nil)
	_ nn.Shared  = (*DMABuf)(nil)
	_ nn.Located = (*DMABuf)(nil)
	_ External   = (*DMABuf)(nil)
)
