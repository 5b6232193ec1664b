//go:build linux

package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	defaultMaxBytes = 1 << 30

	lockName  = "lock"
	tempName  = "tmp"
	modelName = "model"
	dataName  = "data"
)

// Store is a directory of entries that processes share, and with it a HashMap (Save, Load) with the same
// key. Safe for concurrent use; there is nothing to close.
type Store struct {
	*HashMap
	dir      string // "": off
	maxBytes int64

	hits, misses, rejected, puts atomic.Int64
}

// Open fails with ErrInvalid for options out of range and never because of the file system: where the
// store cannot work it warns, finds nothing and keeps nothing.
func Open(o Options) (*Store, error) {
	w := &warner{fn: o.Warn}
	m, err := openHashMap(o, w)
	if err != nil {
		return nil, err
	}
	s := &Store{HashMap: m, maxBytes: o.MaxBytes}
	if s.maxBytes == 0 {
		s.maxBytes = defaultMaxBytes
	}
	// Entries made with a key that ends with the process would be of use to nobody.
	if o.Off || !m.Persistent() {
		return s, nil
	}
	dir := o.Dir
	if dir == "" {
		if dir, err = DefaultDir(); err != nil {
			w.environment(err)
			return s, nil
		}
	}
	if s.dir, err = filepath.Abs(dir); err != nil {
		w.environment(err)
		s.dir = ""
	}
	return s, nil
}

// Enabled reports whether Get and Put can do anything.
func (s *Store) Enabled() bool { return s.dir != "" }

// Path is the directory of the entries, "" for a store that is off.
func (s *Store) Path() string { return s.dir }

// StatePath is the file of the hash map, os.DevNull where there is none.
func (s *Store) StatePath() string { return s.stateFile() }

// short names a folder after text that may have any length and bytes.
func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// entryID is the path of an entry below a store's directory: device, build, key.
func entryID(id Identity, key Key) string {
	return filepath.Join(short(id.Device), short(id.Build), hex.EncodeToString(key[:]))
}

// ID names the entry of key as List and Remove do.
func (s *Store) ID(key Key) string { return entryID(s.opts.Identity, key) }

// Get finds the entry of key for the store's identity. The model part is verified before Get returns, the
// data part while it is read. It fails with ErrMiss or ErrRejected; after either the caller prepares in
// full and calls Put, which replaces what was rejected. The caller closes the entry.
func (s *Store) Get(key Key) (*Entry, error) {
	e, err := s.get(key)
	switch {
	case err == nil:
		s.hits.Add(1)
		return e, nil
	case errors.Is(err, ErrRejected):
		s.rejected.Add(1)
	default:
		s.misses.Add(1)
	}
	return nil, fmt.Errorf("cache: %w", err)
}

func (s *Store) get(key Key) (*Entry, error) {
	if !s.Enabled() {
		return nil, ErrMiss
	}
	o, err := s.open(s.ID(key))
	if errors.Is(err, fs.ErrNotExist) {
		// It may have been replaced between two steps; once more finds the new one.
		o, err = s.open(s.ID(key))
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) { // a file lies where folders would
		return nil, ErrMiss
	}
	if err != nil {
		if !isKnown(err) {
			s.warn.environment(err)
			err = fmt.Errorf("%w: %w", err, ErrMiss)
		}
		return nil, err
	}
	if o.info.key != key || o.info.identity != s.opts.Identity {
		o.entry.Close()
		return nil, fmt.Errorf("another entry in its place: %w", ErrRejected)
	}
	s.touch(key)
	return o.entry, nil
}

// touch notes that the entry was used, as the modification time of its model file. Where that cannot be
// set, the entry counts as unused since.
func (s *Store) touch(key Key) {
	_ = unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(s.dir, s.ID(key), modelName), []unix.Timespec{
		{Nsec: unix.UTIME_OMIT},
		unix.NsecToTimespec(time.Now().UnixNano()),
	}, unix.AT_SYMLINK_NOFOLLOW)
}

// opened is an entry whose model file has been verified.
type opened struct {
	info  entryInfo
	entry *Entry
}

// open reads and verifies the entry in folder id, whatever its key and identity. Both files are opened
// through the folder, so they belong together even when the entry is replaced meanwhile.
func (s *Store) open(id string) (*opened, error) {
	dir, err := openDir(filepath.Join(s.dir, id))
	if err != nil {
		return nil, rejectNotDir(err)
	}
	defer dir.Close()
	b, err := readModelFile(dir, s.opts.MaxModelBytes)
	if err != nil {
		return nil, err
	}
	if err := s.key.verifyEntry(b); err != nil {
		return nil, err
	}
	info, hashes, model, err := decodeEntry(b)
	if err != nil {
		return nil, err
	}
	f, size, err := openRegular(dir, dataName)
	if errors.Is(err, fs.ErrNotExist) {
		if f, _, gone := openRegular(dir, modelName); gone == nil {
			f.Close()
			return nil, fmt.Errorf("data file is missing: %w", ErrRejected)
		}
	}
	if err != nil {
		return nil, err
	}
	if size != info.data {
		f.Close()
		return nil, fmt.Errorf("data file of %d bytes, expected %d: %w", size, info.data, ErrRejected)
	}
	d := newData([]*os.File{f}, []int64{info.data}, hashes, info.chunk)
	return &opened{info: info, entry: &Entry{Model: model, Data: d}}, nil
}

// readModelFile reads the file once into private memory.
func readModelFile(dir *os.File, bound int64) ([]byte, error) {
	f, size, err := openRegular(dir, modelName)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > bound {
		return nil, fmt.Errorf("model file of %d bytes, allowed are %d: %w", size, bound, ErrRejected)
	}
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		return nil, fmt.Errorf("model file: %w: %w", noEOF(err), ErrRejected)
	}
	return b, nil
}

// openDir opens a directory, and never waits for the other end of a pipe that is in its place.
func openDir(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
}

// openRegular opens a file of dir for reading and gives its size. Anything but a regular file is rejected,
// without waiting for the other end of a pipe and without following links.
func openRegular(dir *os.File, name string) (*os.File, int64, error) {
	var fd int
	err := withFD(dir, func(at int) (err error) {
		fd, err = unix.Openat(at, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, 0, rejectNotDir(&os.PathError{Op: "open", Path: filepath.Join(dir.Name(), name), Err: err})
	}
	f := os.NewFile(uintptr(fd), filepath.Join(dir.Name(), name))
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file: %w", name, ErrRejected)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, st.Size(), nil
}

// rejectNotDir turns what a link, a pipe or a file in place of a folder gives into ErrRejected.
func rejectNotDir(err error) error {
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) || errors.Is(err, unix.EISDIR) {
		return fmt.Errorf("%w: %w", err, ErrRejected)
	}
	return err
}
