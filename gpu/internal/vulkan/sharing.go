package vulkan

import (
	"bytes"
	"sync"
)

// weightsTable counts the executables that have a block of packed constants in common, because they would have the same
// bytes: instances of one model for inputs of several sizes, most of all. The zero value is empty. Safe for concurrent use.
type weightsTable struct {
	mu    sync.Mutex
	users map[*block]int // guarded by mu
}

// share returns a block with the first n bytes of b, which is full and will not be written again: another one that is in use
// already, b being freed, or b. letGo undoes it. Only what the host reads as fast as its own memory is compared.
func (t *weightsTable) share(b *block, n int64) *block {
	if b == nil || b.host == nil || !b.cached {
		return b
	}
	same := func(other *block) bool { return bytes.Equal(other.host[:n], b.host[:n]) }
	var found *block
	for _, other := range t.candidates(b) {
		if found == nil && same(other) {
			found = other
		} else {
			t.letGo(other)
		}
	}
	if found != nil {
		b.free()
		return found
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users == nil {
		t.users = map[*block]int{}
	}
	t.users[b] = 1
	return b
}

// candidates takes the blocks of b's size, which the caller lets go.
func (t *weightsTable) candidates(b *block) (list []*block) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for other := range t.users {
		if other.bytes == b.bytes {
			t.users[other]++
			list = append(list, other)
		}
	}
	return list
}

// letGo frees b, which may be nil, where nobody else uses it.
func (t *weightsTable) letGo(b *block) {
	t.mu.Lock()
	if n := t.users[b]; n > 1 {
		t.users[b]--
		t.mu.Unlock()
		return
	}
	delete(t.users, b)
	t.mu.Unlock()
	b.free()
}
