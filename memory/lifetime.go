package memory

import (
	"sync"

	"github.com/nngpu/nngpu/driver/nn"
)

// lifetime counts who uses a memory and drops it when it is closed and the last of them is done.
type lifetime struct {
	drop func() // unmaps; called once, by nobody else

	mu     sync.Mutex
	closed bool     // mu; nobody acquires any longer
	gone   bool     // mu; closed and no users: hooks have been taken
	users  int      // mu
	hooks  []func() // mu
}

// errClosed is the error of what is done with a closed pool.
func errClosed(where string) error { return nn.Invalid(where, "%w", nn.ErrClosed) }

// acquire fails when the memory is closed.
func (l *lifetime) acquire() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed("pool")
	}
	l.users++
	return nil
}

// check fails when the memory is gone.
func (l *lifetime) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return errClosed("pool")
	}
	return nil
}

func (l *lifetime) release() {
	l.mu.Lock()
	if l.users--; l.users < 0 {
		l.mu.Unlock()
		panic("memory: released more often than acquired")
	}
	l.finish()
}

func (l *lifetime) close() {
	l.mu.Lock()
	l.closed = true
	l.finish()
}

// finish runs the hooks, the latest first, and drops the memory if the time has come. It unlocks mu.
func (l *lifetime) finish() {
	if l.gone || !l.closed || l.users > 0 {
		l.mu.Unlock()
		return
	}
	l.gone = true
	hooks := l.hooks
	l.hooks = nil
	l.mu.Unlock()
	for i := len(hooks) - 1; i >= 0; i-- {
		hooks[i]()
	}
	l.drop()
}

// onClose calls f before the memory is dropped; at once if that is happening or has happened.
func (l *lifetime) onClose(f func()) {
	l.mu.Lock()
	if !l.gone {
		l.hooks = append(l.hooks, f)
		l.mu.Unlock()
		return
	}
	l.mu.Unlock()
	f()
}
