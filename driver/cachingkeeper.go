package driver

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver/backend"
)

// keeper is where the compiled form of one model is kept. A form that cannot be kept costs the next start its speed,
// nothing else: that goes to the device's logger.
type keeper interface {
	// keep stores exe and returns it, or what knows where it lies; err says why it could not. An optimised form takes the
	// place of a quick one.
	keep(exe backend.Executable, quick bool) (_ backend.Executable, err error)
	// retain returns a keeper that stays usable after the call of the client. Its close must be called.
	retain() (keeper, error)
	close()
}

var errNotStored = errors.New("the backend does not store this model")

// entryKeeper is an entry of the transparent cache.
type entryKeeper struct {
	cache *compiledCache
	store *cache.Store
	key   cache.Key
	label string
}

// quickKey is where the quick form lies: nobody but a staged compilation finds it.
func quickKey(k cache.Key) cache.Key { return cache.KeyOf(k[:], []byte("quick")) }

func (p *entryKeeper) keep(exe backend.Executable, quick bool) (backend.Executable, error) {
	storer, ok := exe.(backend.Storer)
	if !ok {
		return exe, errNotStored
	}
	model, data, err := storer.Store()
	if err != nil {
		p.cache.notKept(err)
		return exe, err
	}
	key := p.key
	if quick {
		key = quickKey(key)
	}
	if err := p.store.Put(key, p.label, model, data); err != nil { // of which the cache told itself
		return exe, err
	}
	if !quick {
		// One that stays until it is the least recently used does no harm.
		_ = p.store.Remove(p.store.ID(quickKey(p.key)))
	}
	return &kept{Executable: exe, store: p.store, key: key, sum: sha256.Sum256(model)}, nil
}

func (p *entryKeeper) retain() (keeper, error) { return p, nil }
func (p *entryKeeper) close()                  {}

// fileKeeper is a client's cache files.
type fileKeeper struct {
	device  *Device
	files   *cacheFiles
	model   *ownModel
	options backend.Options
}

func (p *fileKeeper) keep(exe backend.Executable, quick bool) (backend.Executable, error) {
	o := p.options
	o.Quick = quick
	err := p.device.save(exe, p.model.Model, p.files, &o)
	if err != nil {
		p.device.cache.notKept(err)
	}
	return exe, err
}

func (p *fileKeeper) retain() (keeper, error) {
	own, err := p.files.duplicate()
	if err != nil {
		return nil, err
	}
	return &fileKeeper{p.device, own, p.model, p.options}, nil
}

func (p *fileKeeper) close() { p.files.close() }

// duplicate returns the same files with handles of their own.
func (f *cacheFiles) duplicate() (*cacheFiles, error) {
	model, err := duplicateAll(f.model)
	if err != nil {
		return nil, err
	}
	data, err := duplicateAll(f.data)
	if err != nil {
		closeFiles(model)
		return nil, err
	}
	return &cacheFiles{token: f.token, model: model, data: data}, nil
}

func duplicateAll(files []*os.File) ([]*os.File, error) {
	for _, f := range files {
		if f == nil {
			return nil, fmt.Errorf("no file: %w", cache.ErrInvalid)
		}
	}
	return cache.Duplicate(files)
}

// close closes the handles of duplicate.
func (f *cacheFiles) close() {
	closeFiles(f.model)
	closeFiles(f.data)
}
