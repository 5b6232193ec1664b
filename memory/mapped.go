//go:build linux

package memory

import (
	"errors"
	"fmt"
	"os"

	"github.com/nngpu/nngpu/driver/nn"
	"golang.org/x/sys/unix"
)

// Mapped is a pool in a memfd that nobody can shrink. It is nn.Pinned, nn.Sealed and nn.Located.
//
// Touching a page that was never written allocates it; a system that forbids overcommitting memory
// (vm.overcommit_memory 2) and has none left answers with a fault.
type Mapped struct {
	base
	id       [2]uint64
	readOnly bool
	sealed   bool
	pages    []byte // the mapping, from the page that contains the pool's first byte
	bytes    []byte // the pool, in pages
}

// mapFile maps a file whose size is fixed and was checked.
func mapFile(b base, s stat) (*Mapped, error) {
	lead := int(b.h.Offset % int64(os.Getpagesize()))
	m := &Mapped{base: b, id: s.id, readOnly: !s.write, sealed: s.sealed}
	prot := unix.PROT_READ
	if s.write {
		prot |= unix.PROT_WRITE
	}
	err := control(b.file, func(fd uintptr) (err error) {
		at, length := b.h.Offset-int64(lead), lead+int(b.size)
		m.pages, err = unix.Mmap(int(fd), at, length, prot, unix.MAP_SHARED)
		if m.readOnly && errors.Is(err, unix.EPERM) {
			// Before Linux 6.7 a file with F_SEAL_WRITE has no shared mapping; a private one cannot differ.
			m.pages, err = unix.Mmap(int(fd), at, length, prot, unix.MAP_PRIVATE)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("mmap of %d bytes: %w", b.size, err)
	}
	m.bytes = m.pages[lead:len(m.pages):len(m.pages)]
	m.life.drop = m.unmap
	return m, nil
}

func (m *Mapped) unmap() {
	munmap(m.pages)
	m.file.Close()
}

// munmap ends a mapping, which fails only if the address space is corrupt.
func munmap(pages []byte) {
	if err := unix.Munmap(pages); err != nil {
		panic(fmt.Sprintf("memory: munmap: %v", err))
	}
}

// Bytes implements nn.Memory. The slice is valid until the pool is closed and released by everybody.
func (m *Mapped) Bytes() ([]byte, error) {
	if err := m.life.check(); err != nil {
		return nil, err
	}
	return m.bytes, nil
}

// Acquire implements nn.Shared. One release too many panics.
func (m *Mapped) Acquire() (release func(), err error) { return m.acquire() }

// ReadOnly implements nn.Shared: writing to read-only Bytes is a fault.
func (m *Mapped) ReadOnly() bool { return m.readOnly }

// Sealed implements nn.Sealed: whether the file had F_SEAL_WRITE when the pool was opened. The kernel grants that seal
// only where no writable mapping is left and none is on its way to a device, and nobody takes it back.
// F_SEAL_FUTURE_WRITE leaves the mappings that are there writable, and does not count.
func (m *Mapped) Sealed() bool { return m.sealed }

// OnClose implements nn.Pinned. The latest f runs first; if the memory is gone, f runs while or after it is unmapped,
// so that callers who need it mapped call OnClose while they have it acquired.
func (m *Mapped) OnClose(f func()) { m.life.onClose(f) }

// Place implements nn.Located: device and inode of the file.
func (m *Mapped) Place() (file [2]uint64, offset int64) { return m.id, m.h.Offset }

var (
	_ Pool       = (*Mapped)(nil)
	_ nn.Pinned  = (*Mapped)(nil)
	_ nn.Sealed  = (*Mapped)(nil)
	_ nn.Located = (*Mapped)(nil)
)
