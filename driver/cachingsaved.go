package driver

import (
	"fmt"
	"sync"
)

// Saved reports whether the compiled form that the model runs on is kept for the next time: in the files of WithCacheFiles
// or WithCaching, or in the transparent cache. That it came from there counts. Where it is not kept err says why; it is nil
// where nobody asked for a cache, and before a delayed model is compiled. Of a staged model it is the form that was
// compiled last.
func (p *PreparedModel) Saved() (saved bool, err error) { return p.saving.outcome() }

// saving is what became of keeping one model. Safe for concurrent use.
type saving struct {
	mu    sync.Mutex
	saved bool  // guarded by mu
	err   error // guarded by mu; why it is not saved
}

func (s *saving) outcome() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.saved, s.err
}

// done notes that the model is kept, or why not.
func (s *saving) done(err error) {
	if err != nil {
		err = fmt.Errorf("compiled model is not kept: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved, s.err = err == nil, err
}
