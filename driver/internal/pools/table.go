package pools

import (
	"errors"
	"fmt"
	"sync"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/memory"
)

// Table has the memory of clients that a device uses where it is: host memory that nobody can shrink (nn.Pinned) and
// memory of devices (memory.External). Each is imported when it is first used, again after the device was lost, and
// stays imported until it or the table is closed. The table also knows which memory of this device was exported.
type Table struct {
	backend backend.Backend
	trusted bool // whoever holds a descriptor of a device's memory is trusted like the process

	mu      sync.Mutex
	entries map[nn.Memory]*entry // guarded by mu; keys are comparable
	own     map[fileID]ownMemory // guarded by mu
	closed  bool                 // guarded by mu
}

// entry is the import of one memory.
type entry struct {
	mu     sync.Mutex
	memory backend.Memory   // guarded by mu; nil where there is none
	place  fileID           // guarded by mu; of the file that memory is in, where that identifies it
	lost   []backend.Memory // guarded by mu; on devices that were lost: executions may still have them
	copied error            // guarded by mu; why it is never imported; nil: it may be
}

// NewTable returns an empty table for memory on b. trusted says that whoever holds a descriptor of a device's memory is
// trusted like the process.
func NewTable(b backend.Backend, trusted bool) *Table {
	return &Table{backend: b, trusted: trusted, entries: map[nn.Memory]*entry{}}
}

// Open is x.Open, except that memory of a device is imported if the device can. If it cannot, the host's mapping of a
// dma-buf is opened, and an opaque fd is GENERAL_FAILURE.
func (t *Table) Open(x *Pool, where string) error {
	e, ok := x.Source.(memory.External)
	if !ok {
		return x.Open(where)
	}
	release, err := e.Hold()
	if err != nil {
		return unusable(where, err)
	}
	x.Imported, x.place, err = t.get(x)
	if err == nil {
		x.release = release
		return nil
	}
	release()
	switch _, mappable := e.(nn.Shared); {
	case !errors.Is(err, backend.ErrNotImported):
		return fmt.Errorf("%s: %w", where, err)
	case mappable:
		return x.Open(where)
	}
	return nn.Errorf(nn.StatusGeneralFailure, where, "%w", err)
}

// OpenForHost is x.Open, except that memory that the host cannot map is imported.
func (t *Table) OpenForHost(x *Pool, where string) error {
	if _, mappable := x.Source.(nn.Shared); mappable {
		return x.Open(where)
	}
	return t.Open(x, where)
}

// Import sets x.Imported of an open pool if the device can use its bytes in place.
func (t *Table) Import(x *Pool) (err error) {
	if _, ok := x.Source.(nn.Pinned); !ok || x.Imported != nil || len(x.Data) == 0 {
		return nil
	}
	if x.Imported, _, err = t.get(x); errors.Is(err, backend.ErrNotImported) {
		return nil
	}
	return err
}

// get returns the device's view of x, valid until x is closed, and the file that it lies in, if that identifies it.
// ErrNotImported if the device has none. Precondition: x is open, or held.
func (t *Table) get(x *Pool) (backend.Memory, fileID, error) {
	if !IsComparable(x.Source) {
		return nil, fileID{}, fmt.Errorf("it cannot be told from others: %w", backend.ErrNotImported)
	}
	e, err := t.entry(x.Source)
	if err != nil {
		return nil, fileID{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.copied != nil:
		return nil, fileID{}, e.copied
	case e.memory != nil && !e.memory.Lost():
		return e.memory, e.place, nil
	case e.memory != nil:
		e.lost, e.memory = append(e.lost, e.memory), nil
	}
	m, place, err := t.load(x)
	if err != nil {
		if _, ok := x.Source.(nn.Shared); ok && errors.Is(err, backend.ErrNotImported) {
			e.copied = err // no need to try again: its bytes can be had otherwise
		}
		return nil, fileID{}, err
	}
	e.memory, e.place = m, place
	return m, place, nil
}

// entry returns the entry of m, made now or before.
func (t *Table) entry(m nn.Memory) (*entry, error) {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil, &nn.Error{Status: nn.StatusGeneralFailure, Where: "device", Err: nn.ErrClosed}
	}
	e, ok := t.entries[m]
	if !ok {
		e = &entry{}
		t.entries[m] = e
	}
	t.mu.Unlock()
	if ok {
		return e, nil
	}
	drop := func() {
		if t.remove(m, e) {
			_ = e.close()
		}
	}
	if x, ok := m.(memory.External); ok {
		x.OnRelease(drop)
	} else {
		m.(nn.Pinned).OnClose(drop)
	}
	return e, nil
}

// remove reports whether it took e out of the table.
func (t *Table) remove(m nn.Memory, e *entry) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.entries[m] != e {
		return false
	}
	delete(t.entries, m)
	return true
}

// load imports x.
func (t *Table) load(x *Pool) (backend.Memory, fileID, error) {
	if e, ok := x.Source.(memory.External); ok {
		return t.loadExternal(e)
	}
	m, err := t.backend.Import(x.Data, x.ReadOnly())
	return m, fileID{}, err
}

// Close drops all imports. Precondition: nobody uses one.
func (t *Table) Close() error {
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

func (e *entry) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	if e.memory != nil {
		errs = append(errs, e.memory.Close())
	}
	for _, m := range e.lost {
		errs = append(errs, m.Close())
	}
	e.memory, e.lost = nil, nil
	return errors.Join(errs...)
}
