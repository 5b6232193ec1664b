package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// UpdateModel replaces the model part of the entry of key and leaves its data part as it is. update is called
// once with the verified model part, under the store's lock, and returns what takes its place; nil leaves the entry as
// it is. Readers find the old model part or the new one, with the same data.
//
// It fails with ErrMiss or ErrRejected where there is no such entry, with ErrInvalid if it would exceed the bound or
// without an update, otherwise with ErrUnavailable; Warn has then been told.
func (s *Store) UpdateModel(key Key, update func(model []byte) []byte) error {
	if !s.Enabled() {
		return fmt.Errorf("cache is off: %w", ErrUnavailable)
	}
	if update == nil {
		return fmt.Errorf("there is no update: %w", ErrInvalid)
	}
	err := s.updateModel(key, update)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("update in %s: %w", s.dir, ErrMiss)
	case !isKnown(err):
		err = fmt.Errorf("%w: %w", err, ErrUnavailable)
	}
	err = fmt.Errorf("update in %s: %w", s.dir, err)
	if errors.Is(err, ErrUnavailable) {
		s.warn.environment(err)
	}
	return err
}

func (s *Store) updateModel(key Key, update func(model []byte) []byte) error {
	id := s.ID(key)
	final := filepath.Join(s.dir, id)
	if _, err := os.Lstat(final); err != nil { // before a folder is made for nothing
		return err
	}
	tmp, err := s.newTemp()
	if err != nil {
		return err
	}
	defer tmp.discard()
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	o, err := s.open(id)
	if err != nil {
		return err
	}
	defer o.entry.Close()
	if o.info.key != key || o.info.identity != s.opts.Identity {
		return fmt.Errorf("another entry in its place: %w", ErrRejected)
	}
	model := update(o.entry.Model)
	if model == nil {
		return nil
	}
	o.info.made = time.Now().UnixNano()
	content := s.key.encodeHashed(o.info, model, o.entry.Data.chunks)
	need, err := s.room(int64(len(content)), o.info.data)
	if err != nil {
		return err
	}
	if err := tmp.write(modelName, content); err != nil {
		return err
	}
	if err := s.evict(s.maxBytes-need, id); err != nil {
		return err
	}
	return os.Rename(filepath.Join(tmp.path, modelName), filepath.Join(final, modelName))
}
