package vulkan

import (
	"sync"

	"github.com/nngpu/nngpu/driver/nn"
)

// account counts the bytes that are taken from a device. Safe for concurrent use.
type account struct {
	limit int64 // immutable
	// room, if not nil, returns what the device can still give now, beside this and other processes. immutable
	room func() int64

	mu   sync.Mutex
	used int64 // guarded by mu
	peak int64 // guarded by mu
}

// take reserves bytes; what names their use. budget, if not 0, is a tighter limit than the account's.
//
// Errors: RESOURCE_EXHAUSTED_PERSISTENT for what exceeds the limit by itself, _TRANSIENT for what does not
// fit beside the rest, of this process or of others.
func (a *account) take(bytes, budget int64, what string) error {
	if err := a.alone(bytes, budget, what); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.beside(bytes, budget, what); err != nil {
		return err
	}
	a.used += bytes
	a.peak = max(a.peak, a.used)
	return nil
}

// fits returns what take would return now.
func (a *account) fits(bytes, budget int64, what string) error {
	if err := a.alone(bytes, budget, what); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.beside(bytes, budget, what)
}

// alone reports why bytes would not fit even if this process had nothing else.
func (a *account) alone(bytes, budget int64, what string) error {
	if limit := a.limitFor(budget); bytes > limit {
		return nn.Errorf(nn.StatusResourceExhaustedPersistent, what, "%d bytes exceed the memory budget of %d", bytes, limit)
	}
	if a.room != nil {
		if room := a.room(); bytes > room {
			return nn.Errorf(nn.StatusResourceExhaustedTransient, what,
				"%d bytes exceed the %d that the device has left beside other programs", bytes, room)
		}
	}
	return nil
}

// beside reports why bytes do not fit beside those in use. Precondition: mu is held.
func (a *account) beside(bytes, budget int64, what string) error {
	if limit := a.limitFor(budget); bytes > limit-a.used {
		return nn.Errorf(nn.StatusResourceExhaustedTransient, what,
			"%d bytes beside the %d in use exceed the memory budget of %d", bytes, a.used, limit)
	}
	return nil
}

func (a *account) limitFor(budget int64) int64 {
	if budget > 0 {
		return min(budget, a.limit)
	}
	return a.limit
}

// give returns bytes that take reserved.
func (a *account) give(bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used -= bytes
	if a.used < 0 {
		panic("vulkan: memory given back twice")
	}
}

func (a *account) read() (used, peak int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used, a.peak
}
