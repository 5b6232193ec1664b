//go:build linux

package driver

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/memory"
)

// WithTrustedExternalMemory says that all who hold a descriptor of a device's memory that comes to this process are
// trusted as the process itself is.
//
// It matters on software devices alone. Their opaque fds are plain files: what is written at the beginning of one, or
// its becoming shorter while it is in use, ends the process, and neither can be prevented. Without this option they
// take only what Buffer.Export of the same Device handed out, as long as that buffer lives, and refuse the rest.
func WithTrustedExternalMemory() DeviceOption {
	return func(o *deviceOptions) { o.trustedExternal = true }
}

// externalTable has the memory of devices that pools brought and that the device uses where it is: each was imported
// once, when a request first used it, and stays so until the pool or the device is closed. It also knows what of this
// device's memory was exported. The zero value trusts nobody and is empty.
type externalTable struct {
	trusted bool // immutable; see WithTrustedExternalMemory

	mu      sync.Mutex
	entries map[memory.External]*externalEntry // guarded by mu; keys are comparable
	own     map[fileID]ownMemory               // guarded by mu
	closed  bool                               // guarded by mu
}

// fileID is the device and inode of a file.
type fileID [2]uint64

// ownMemory is what a buffer exported. Its file cannot go before the buffer's memory does, nor can another one have
// its number.
type ownMemory struct {
	of         *Buffer
	allocation int64
	memoryType uint32
}

type externalEntry struct {
	mu       sync.Mutex
	memory   backend.Memory   // guarded by mu; nil where there is none
	place    fileID           // guarded by mu; of the file that memory is in, where that identifies it
	replaced []backend.Memory // guarded by mu; on devices that were lost
	why      error            // guarded by mu; not nil: it cannot be imported, and is copied
}

// get returns the device's view of x, and the file that it lies in, where that identifies it. ErrNotImported where the
// device has none.
//
// Precondition: x is held. The result is valid until x is released.
func (t *externalTable) get(b backend.Backend, x memory.External) (backend.Memory, fileID, error) {
	importer, ok := b.(backend.ExternalMemory)
	if !ok || !isComparable(x) {
		return nil, fileID{}, fmt.Errorf("the device takes no memory of devices: %w", backend.ErrNotImported)
	}
	e, err := t.entry(x)
	if err != nil {
		return nil, fileID{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.why != nil:
		return nil, fileID{}, e.why
	case e.memory != nil && !isLost(e.memory):
		return e.memory, e.place, nil
	case e.memory != nil:
		e.replaced, e.memory = append(e.replaced, e.memory), nil // executions on the lost device may still have it
	}
	m, place, err := t.load(importer, x)
	if err != nil {
		if _, ok := x.(nn.Shared); ok && errors.Is(err, backend.ErrNotImported) {
			e.why = err // no need to try again: its bytes can be had otherwise
		}
		return nil, fileID{}, err
	}
	e.memory, e.place = m, place
	return m, place, nil
}

// entry returns the entry of x, made now or before.
func (t *externalTable) entry(x memory.External) (*externalEntry, error) {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil, closed("device")
	}
	e, ok := t.entries[x]
	if !ok {
		e = &externalEntry{}
		if t.entries == nil {
			t.entries = map[memory.External]*externalEntry{}
		}
		t.entries[x] = e
	}
	t.mu.Unlock()
	if !ok {
		x.OnRelease(func() {
			if t.remove(x, e) {
				_ = e.close()
			}
		})
	}
	return e, nil
}

// remove reports whether it took e out of the table.
func (t *externalTable) remove(x memory.External, e *externalEntry) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.entries[x] != e {
		return false
	}
	delete(t.entries, x)
	return true
}

// load imports x. It returns the file, too, that memory of a software device lies in: each allocation has its own.
func (t *externalTable) load(importer backend.ExternalMemory, x memory.External) (backend.Memory, fileID, error) {
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
	if s, ok := x.(interface{ ReadOnly() bool }); ok {
		y.ReadOnly = s.ReadOnly()
	}
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
	if err != nil {
		return nil, fileID{}, err
	}
	return m, place, nil
}

// trusts reports whether x, in the given file if isFile, is trusted. ErrNotImported for memory of the device itself
// that is not as x says.
func (t *externalTable) trusts(x *backend.External, file fileID, isFile bool) (bool, error) {
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

// exported notes that x is memory of b. Precondition: b's memory is not freed meanwhile.
func (t *externalTable) exported(b *Buffer, x *backend.External) {
	id, ok := regularFile(x.FD)
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.own == nil {
		t.own = map[fileID]ownMemory{}
	}
	t.own[id] = ownMemory{b, x.Allocation, x.MemoryType}
}

// disown ends the trust in what b exported, before its memory is freed.
func (t *externalTable) disown(b *Buffer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, m := range t.own {
		if m.of == b {
			delete(t.own, id)
		}
	}
}

// close drops all imports. Precondition: no execution goes on.
func (t *externalTable) close() error {
	t.mu.Lock()
	entries := t.entries
	t.entries, t.closed = nil, true
	t.mu.Unlock()
	var errs []error
	for _, e := range entries {
		errs = append(errs, e.close())
	}
	return errors.Join(errs...)
}

func (e *externalEntry) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	if e.memory != nil {
		errs = append(errs, e.memory.Close())
	}
	for _, m := range e.replaced {
		errs = append(errs, m.Close())
	}
	e.memory, e.replaced = nil, nil
	return errors.Join(errs...)
}

// isExternal reports whether x is memory of a device.
func (x *pool) isExternal() bool {
	_, ok := x.source.(memory.External)
	return ok
}

// acquireOn is acquire of what d uses: memory of a device in place where d can. Where it cannot, the host's mapping of
// a dma-buf is copied, and an opaque fd is GENERAL_FAILURE.
func (x *pool) acquireOn(d *Device, where string) error {
	e, ok := x.source.(memory.External)
	if !ok {
		return x.acquire(where)
	}
	release, err := e.Hold()
	if err != nil {
		return unusable(where, err)
	}
	m, place, err := d.externals.get(d.backend, e)
	if err == nil {
		x.imported, x.place, x.release = m, place, release
		return nil
	}
	release()
	switch _, mappable := e.(nn.Shared); {
	case !errors.Is(err, backend.ErrNotImported):
		return fmt.Errorf("%s: %w", where, err)
	case mappable:
		return x.acquire(where)
	}
	return nn.Errorf(nn.StatusGeneralFailure, where, "%w", err)
}

// acquireForCopy is acquire of what the host copies; d imports what the host cannot map.
func (x *pool) acquireForCopy(d *Device, where string) error {
	if _, mappable := x.source.(nn.Shared); mappable {
		return x.acquire(where)
	}
	return x.acquireOn(d, where)
}
