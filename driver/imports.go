package driver

import (
	"errors"
	"reflect"
	"sync"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

// importTable has the pools that a device uses where they are: each was imported once, when a request first used it,
// and stays so until it or the device is closed. The zero value is empty.
type importTable struct {
	mu      sync.Mutex
	entries map[nn.Pinned]*importEntry // guarded by mu; keys are comparable
	closed  bool                       // guarded by mu
}

type importEntry struct {
	once   sync.Once
	memory backend.Memory // nil where it cannot be imported; set by once
	err    error
}

// get returns the device's view of pool p, whose bytes data are; nil where the bytes are to be copied.
//
// Precondition: p is acquired. The result is valid until p is released.
func (t *importTable) get(b backend.Backend, p nn.Pinned, data []byte) (backend.Memory, error) {
	a, ok := b.(backend.Allocator)
	if !ok || len(data) == 0 || !reflect.TypeOf(p).Comparable() {
		return nil, nil
	}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil, closed("device")
	}
	e := t.entries[p]
	if e == nil {
		e = &importEntry{}
		if t.entries == nil {
			t.entries = map[nn.Pinned]*importEntry{}
		}
		t.entries[p] = e
	}
	t.mu.Unlock()
	e.once.Do(func() {
		e.memory, e.err = a.Import(data, p.ReadOnly())
		if errors.Is(e.err, backend.ErrNotImported) {
			e.memory, e.err = nil, nil
		}
		if e.err != nil {
			t.forget(p, e) // the next request tries again
			return
		}
		p.OnClose(func() {
			if t.forget(p, e) && e.memory != nil {
				_ = e.memory.Close()
			}
		})
	})
	return e.memory, e.err
}

// forget reports whether it took e out of the table.
func (t *importTable) forget(p nn.Pinned, e *importEntry) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.entries[p] != e {
		return false
	}
	delete(t.entries, p)
	return true
}

// close drops all imports. Precondition: no execution goes on.
func (t *importTable) close() error {
	t.mu.Lock()
	entries := t.entries
	t.entries, t.closed = nil, true
	t.mu.Unlock()
	var errs []error
	for _, e := range entries {
		e.once.Do(func() {}) // waits for an import that goes on
		if e.memory != nil {
			errs = append(errs, e.memory.Close())
		}
	}
	return errors.Join(errs...)
}
