package driver

import (
	"errors"
	"sync"
	"sync/atomic"

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
	there  atomic.Bool    // memory is set
	memory backend.Memory // nil where it cannot be imported; set by once
	err    error
	before *importEntry // whose memory was lost; immutable
}

// get returns the device's view of pool p, whose bytes data are; nil where the bytes are to be copied.
//
// Precondition: p is acquired. The result is valid until p is released.
func (t *importTable) get(b backend.Backend, p nn.Pinned, data []byte) (backend.Memory, error) {
	if len(data) == 0 || !isComparable(p) {
		return nil, nil
	}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil, closed("device")
	}
	e := t.entries[p]
	if e == nil || e.lost() {
		e = &importEntry{before: e}
		if t.entries == nil {
			t.entries = map[nn.Pinned]*importEntry{}
		}
		t.entries[p] = e
	}
	t.mu.Unlock()
	if e.there.Load() {
		return e.memory, nil
	}
	e.once.Do(func() {
		e.memory, e.err = b.Import(data, p.ReadOnly())
		if errors.Is(e.err, backend.ErrNotImported) {
			e.memory, e.err = nil, nil
		}
		if e.err != nil {
			t.giveUp(p, e) // the next request tries again
			return
		}
		e.there.Store(true)
		p.OnClose(func() {
			if t.forget(p, e) {
				_ = e.close()
			}
		})
	})
	return e.memory, e.err
}

// lost reports whether the pool has to be imported again.
func (e *importEntry) lost() bool { return e.there.Load() && isLost(e.memory) }

// close closes the memory, and those before it. Precondition: the import has ended.
func (e *importEntry) close() error {
	var errs []error
	for ; e != nil; e = e.before {
		if e.memory != nil {
			errs = append(errs, e.memory.Close())
		}
	}
	return errors.Join(errs...)
}

// giveUp puts what was before e in its place.
func (t *importTable) giveUp(p nn.Pinned, e *importEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.entries[p] != e:
	case e.before == nil:
		delete(t.entries, p)
	default:
		t.entries[p] = e.before
	}
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
		errs = append(errs, e.close())
	}
	return errors.Join(errs...)
}
