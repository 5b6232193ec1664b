//go:build linux

package pools

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/memory"
)

// fileID is the device and inode of a file.
type fileID [2]uint64

// ownMemory is memory that the driver exported. Its file cannot go before the memory does, nor can another file have
// its number.
type ownMemory struct {
	of         any // as Exported was called with
	allocation int64
	memoryType uint32
}

// loadExternal imports x. It also returns the file that memory of a software device lies in: each allocation has its
// own.
func (t *Table) loadExternal(x memory.External) (backend.Memory, fileID, error) {
	importer, ok := t.backend.(backend.ExternalMemory)
	if !ok {
		return nil, fileID{}, fmt.Errorf("the device takes no memory of devices: %w", backend.ErrNotImported)
	}
	d := x.Descriptor()
	y := backend.External{
		Allocation: x.Allocation(), Size: x.Size(),
		MemoryType: d.MemoryType, DeviceUUID: d.DeviceUUID, DriverUUID: d.DriverUUID,
	}
	switch d.Source {
	case memory.SourceOpaque:
		y.Kind = backend.OpaqueFD
	case memory.SourceDMABuf:
		y.Kind = backend.DMABuf
	default:
		return nil, fileID{}, fmt.Errorf("a %v: %w", d.Source, backend.ErrNotImported)
	}
	y.ReadOnly = (&Pool{Source: x}).ReadOnly()
	fd, err := x.DupFD()
	if err != nil {
		return nil, fileID{}, err
	}
	defer unix.Close(fd)
	y.FD = fd
	place, ok := regularFile(fd)
	if y.Trusted, err = t.trusts(&y, place, ok); err != nil {
		return nil, fileID{}, err
	}
	m, err := importer.ImportExternal(y)
	return m, place, err
}

// trusts reports whether x, in the given file if isFile, is trusted. ErrNotImported for memory of the device itself
// that is not what x says.
func (t *Table) trusts(x *backend.External, file fileID, isFile bool) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	own, isOwn := t.own[file]
	switch {
	case !isFile || !isOwn:
		return t.trusted, nil
	case own.allocation != x.Allocation || own.memoryType != x.MemoryType:
		return false, fmt.Errorf("%d bytes of memory type %d, which was exported as %d of %d: %w",
			x.Allocation, x.MemoryType, own.allocation, own.memoryType, backend.ErrNotImported)
	}
	return true, nil
}

// regularFile identifies a plain file; zero and false for anything else.
func regularFile(fd int) (fileID, bool) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return fileID{}, false
	}
	return fileID{uint64(st.Dev), st.Ino}, true
}

// Exported notes that x is memory of owner, and so is to be trusted when it comes back. Precondition: the memory is not
// freed meanwhile.
func (t *Table) Exported(owner any, x *backend.External) {
	id, ok := regularFile(x.FD)
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.own == nil {
		t.own = map[fileID]ownMemory{}
	}
	t.own[id] = ownMemory{owner, x.Allocation, x.MemoryType}
}

// Disown ends the trust in what owner exported, before its memory is freed.
func (t *Table) Disown(owner any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, m := range t.own {
		if m.of == owner {
			delete(t.own, id)
		}
	}
}
