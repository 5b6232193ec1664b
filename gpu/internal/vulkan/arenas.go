package vulkan

import "sync"

// Arenas are shared by executables that take turns, such as those of the regions of one tree, of which an execution
// runs one at a time. Executions that run side by side have different numbers; number n uses arena n in every
// executable. Memory is taken when it is first needed. Safe for concurrent use.
type Arenas struct {
	count int
	bytes int64 // the least size of an arena

	mu   sync.Mutex
	list map[arenaKey]*Arena // guarded by mu; the largest of each that is in use
}

// arenaKey is a number on a device; after the loss of a device, executables are made anew on another.
type arenaKey struct {
	dev *Device
	n   int
}

// Arena is the memory of one arena.
type Arena struct {
	*block
	of    *Arenas
	key   arenaKey
	users int          // guarded by Arenas.mu; slots and holders
	clear func() error // once; later callers wait
}

// NewArenas returns count arenas of at least so many bytes. Larger ones are made where an executable asks for them.
func NewArenas(count int, bytes int64) *Arenas {
	return &Arenas{count: count, bytes: bytes, list: map[arenaKey]*Arena{}}
}

// take returns arena n on d, of at least the given size; budget as in account.take. 0 bytes give nil.
func (s *Arenas) take(d *Device, n int, bytes, budget int64) (*Arena, error) {
	if bytes == 0 {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := arenaKey{d, n}
	if a := s.list[key]; a != nil && a.bytes >= bytes {
		a.users++
		return a, nil
	}
	b, err := d.newBlock(max(bytes, s.bytes), budget, deviceBlock, "arena")
	if err != nil {
		return nil, err
	}
	a := &Arena{block: b, of: s, key: key, users: 1, clear: sync.OnceValue(b.zero)}
	s.list[key] = a // a smaller one stays with those that have it
	return a, nil
}

// Hold takes arena n on d, of the least size, for slots made later. The caller closes it.
//
// Errors: RESOURCE_EXHAUSTED_*.
func (s *Arenas) Hold(d *Device, n int, budget int64) (*Arena, error) {
	return s.take(d, n, max(s.bytes, 1), budget)
}

// Close undoes Hold and take; nil is ignored. Precondition: no pending work of its holder uses a.
func (a *Arena) Close() {
	if a == nil {
		return
	}
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	if a.users--; a.users > 0 {
		return
	}
	if a.of.list[a.key] == a {
		delete(a.of.list, a.key)
	}
	a.free()
}

// Lost reports that a went with its device.
func (a *Arena) Lost() bool {
	_, err := a.dev.Lost()
	return err != nil
}
