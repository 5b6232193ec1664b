package driver

import (
	"context"
	"sync"
)

// rwLock is held by many readers or one writer, in the order of their calls. Waiting ends with a context. The zero
// value is free. Who takes several must not meet another who takes them in another order.
type rwLock struct {
	mu      sync.Mutex
	readers int           // guarded by mu
	writing bool          // guarded by mu
	queue   []*lockWaiter // guarded by mu; first come, first served
}

type lockWaiter struct {
	write bool
	ready chan struct{} // closed when the waiter holds the lock
}

// lock takes the lock for reading or for writing. It fails only with ctx.
func (l *rwLock) lock(ctx context.Context, write bool) error {
	l.mu.Lock()
	if l.take(write) {
		l.mu.Unlock()
		return nil
	}
	w := &lockWaiter{write: write, ready: make(chan struct{})}
	l.queue = append(l.queue, w)
	l.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, q := range l.queue {
		if q == w {
			l.queue = append(l.queue[:i], l.queue[i+1:]...)
			l.grant() // those behind may have waited for w alone
			return ctx.Err()
		}
	}
	return nil // came at the same time
}

// tryLock is lock where nobody has to be waited for.
func (l *rwLock) tryLock(write bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.take(write)
}

// take takes the lock if it is free and nobody waits. Precondition: mu is held.
func (l *rwLock) take(write bool) bool {
	if len(l.queue) > 0 || !l.free(write) {
		return false
	}
	l.hold(write)
	return true
}

// unlock gives back what lock took.
func (l *rwLock) unlock(write bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if write {
		l.writing = false
	} else {
		l.readers--
	}
	l.grant()
}

// free reports whether the lock could be taken. Precondition: mu is held.
func (l *rwLock) free(write bool) bool { return !l.writing && (!write || l.readers == 0) }

// hold takes the lock. Preconditions: mu is held, and the lock is free.
func (l *rwLock) hold(write bool) {
	if write {
		l.writing = true
	} else {
		l.readers++
	}
}

// grant lets in who waits. Precondition: mu is held.
func (l *rwLock) grant() {
	for len(l.queue) > 0 && l.free(l.queue[0].write) {
		l.hold(l.queue[0].write)
		close(l.queue[0].ready)
		l.queue[0] = nil
		l.queue = l.queue[1:]
	}
}
