//go:build linux

package cache

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Put keeps an entry under key, in place of what was there. label is for people (the model's name, say)
// and cut to 256 bytes. model and data are borrowed for the call.
//
// It drops the least recently used entries, whoever made them, where a bound is exceeded. It fails with ErrInvalid if the entry alone exceeds the bound, otherwise with
// ErrUnavailable; Warn has then been told, and the caller goes on.
//
// Nothing is synced to the disk: what a power cut leaves half-written does not verify, which costs one
// preparation.
func (s *Store) Put(key Key, label string, model, data []byte) error {
	if !s.Enabled() {
		return fmt.Errorf("cache is off: %w", ErrUnavailable)
	}
	err := s.write(key, label, model, data)
	if err == nil {
		s.puts.Add(1)
		return nil
	}
	if !isKnown(err) {
		err = fmt.Errorf("%w: %w", err, ErrUnavailable)
	}
	err = fmt.Errorf("put into %s: %w", s.dir, err)
	s.warn.environment(err)
	return err
}

func (s *Store) write(key Key, label string, model, data []byte) error {
	content := s.key.encodeEntry(entryInfo{
		key: key, made: time.Now().UnixNano(), chunk: defaultChunk,
		identity: s.opts.Identity, label: cleanLabel(label),
	}, model, data)
	need, err := s.room(int64(len(content)), int64(len(data)))
	if err != nil {
		return err
	}
	id := s.ID(key)
	tmp, err := s.newTemp()
	if err != nil {
		return err
	}
	defer tmp.discard()
	if err := tmp.write(dataName, data); err != nil {
		return err
	}
	if err := tmp.write(modelName, content); err != nil {
		return err
	}
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	s.cleanTemps()
	if err := s.evict(s.maxBytes-need, id); err != nil {
		return err
	}
	final := filepath.Join(s.dir, id)
	if err := s.trash(final); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(final), 0o700); err != nil {
		return err
	}
	return os.Rename(tmp.path, final)
}

// room is how many bytes an entry of these files takes. It fails with ErrInvalid where that is more than one may.
func (s *Store) room(model, data int64) (int64, error) {
	switch need := model + data; {
	case model > s.opts.MaxModelBytes:
		return 0, fmt.Errorf("model file of %d bytes, allowed are %d: %w", model, s.opts.MaxModelBytes, ErrInvalid)
	case need > s.maxBytes:
		return 0, fmt.Errorf("entry of %d bytes, the cache may have %d: %w", need, s.maxBytes, ErrInvalid)
	default:
		return need, nil
	}
}

// lock takes the store's lock, which everything holds that renames or removes.
func (s *Store) lock() (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(s.dir, lockName), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(f, unix.LOCK_EX, s.opts.LockTimeout); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// tempDir is a folder that a Put fills. Its maker holds its lock, so that a clean-up can tell it from what
// a killed process left.
type tempDir struct {
	path string
	f    *os.File
}

func tempPath(dir string) string {
	var r [8]byte
	_, _ = rand.Read(r[:])
	return filepath.Join(dir, tempName, hex.EncodeToString(r[:]))
}

func (s *Store) newTemp() (*tempDir, error) {
	const tries = 16
	if err := os.MkdirAll(filepath.Join(s.dir, tempName), 0o700); err != nil {
		return nil, err
	}
	for range tries {
		t := &tempDir{path: tempPath(s.dir)}
		if err := os.Mkdir(t.path, 0o700); err != nil {
			return nil, err
		}
		f, err := openDir(t.path)
		if errors.Is(err, os.ErrNotExist) {
			continue // a clean-up took it before it was locked
		}
		if err != nil {
			return nil, err
		}
		t.f = f
		if err := flock(f, unix.LOCK_EX, 0); err != nil {
			f.Close()
			if errors.Is(err, ErrUnavailable) {
				continue
			}
			_ = os.Remove(t.path)
			return nil, err
		}
		if same(f, t.path) {
			return t, nil
		}
		f.Close()
	}
	return nil, fmt.Errorf("no temporary folder in %d tries: %w", tries, ErrUnavailable)
}

// write makes a file in the folder. Others may be able to put something else in the folder's place, so it is the one that
// was opened, and nothing that lies in it is written to or followed.
func (t *tempDir) write(name string, content []byte) error {
	path := filepath.Join(t.path, name)
	var fd int
	err := withFD(t.f, func(at int) (err error) {
		fd, err = unix.Openat(at, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		return err
	})
	if err != nil {
		return &os.PathError{Op: "create", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// same reports whether path still is what f has open.
func same(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Lstat(path)
	return err == nil && os.SameFile(a, b)
}

// discard removes the folder unless it has become an entry.
func (t *tempDir) discard() {
	_ = os.RemoveAll(t.path)
	t.f.Close()
}

// trash takes an entry away in one step: it is renamed among the temporary folders and removed there, so that whoever is
// killed in between leaves nothing that looks like an entry. The folders above it go with the last entry in them.
//
// Preconditions: the store's lock is held.
func (s *Store) trash(path string) error {
	to := tempPath(s.dir)
	err := os.Rename(path, to)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	build := filepath.Dir(path)
	if unix.Rmdir(build) == nil { // it was empty
		_ = unix.Rmdir(filepath.Dir(build))
	}
	return os.RemoveAll(to)
}
