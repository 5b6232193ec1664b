package prepare

import (
	"fmt"
	"sync"
)

// Saved is the outcome of keeping one model. Safe for concurrent use.
type Saved struct {
	mu    sync.Mutex
	saved bool  // guarded by mu
	err   error // guarded by mu; why it is not saved
}

// Outcome is false without an error if nobody asked for a cache.
func (s *Saved) Outcome() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.saved, s.err
}

// done notes that the model is kept, or why not.
func (s *Saved) done(err error) {
	if err != nil {
		err = fmt.Errorf("compiled model is not kept: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved, s.err = err == nil, err
}
