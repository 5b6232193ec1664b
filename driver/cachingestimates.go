package driver

import (
	"crypto/sha256"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver/backend"
)

// kept is an executable whose compiled form lies in the transparent cache.
type kept struct {
	backend.Executable
	store *cache.Store
	key   cache.Key
	sum   [sha256.Size]byte // of the model part that lies there

	learned atomic.Bool
	once    sync.Once
}

// estimated is an executable of this package that takes over what was learned.
type estimated interface {
	setEstimates([]time.Duration)
	keepEstimates() error
}

func (k *kept) setEstimates(list []time.Duration) {
	if e, ok := k.Executable.(backend.Storer); ok {
		e.SetEstimates(list)
		k.learned.Store(true)
	}
}

// keepEstimates rewrites the model part of the entry, unless something else lies there by now.
func (k *kept) keepEstimates() (err error) {
	e, ok := k.Executable.(backend.Storer)
	if !ok || !k.learned.Load() {
		return nil
	}
	k.once.Do(func() {
		model, serr := e.StoreModel()
		if serr != nil {
			err = serr
			return
		}
		if sha256.Sum256(model) == k.sum {
			return
		}
		err = k.store.UpdateModel(k.key, func(old []byte) []byte {
			if sha256.Sum256(old) != k.sum {
				return nil
			}
			return model
		})
		if errors.Is(err, cache.ErrMiss) || errors.Is(err, cache.ErrRejected) {
			err = nil // somebody removed it
		}
	})
	return err
}

func (s *staged) setEstimates(list []time.Duration) {
	if e, ok := s.now().(estimated); ok {
		e.setEstimates(list)
	}
}

func (s *staged) keepEstimates() error {
	if e, ok := s.now().(estimated); ok {
		return e.keepEstimates()
	}
	return nil
}

func (x *delayed) setEstimates(list []time.Duration) {
	if e, ok := x.known().(estimated); ok {
		e.setEstimates(list)
	}
}

func (x *delayed) keepEstimates() error {
	if e, ok := x.known().(estimated); ok {
		return e.keepEstimates()
	}
	return nil
}

// keepEstimates notes in the transparent cache what was learned of the segments of exe: one time for each, else nothing is
// noted. It costs reading and writing the model part of the entry, once for each executable; failures cost the next
// process what was learned. Precondition: exe is open.
func (d *Device) keepEstimates(exe backend.Executable, learned []time.Duration) {
	e, ok := exe.(estimated)
	if !ok || len(learned) == 0 {
		return
	}
	e.setEstimates(learned)
	if err := e.keepEstimates(); err != nil && !errors.Is(err, cache.ErrUnavailable) { // of which the cache told itself
		d.log.Warn("what was learned of a model's execution times is not kept", "error", err)
	}
}
