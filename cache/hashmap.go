package cache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

const (
	databaseName       = "hashes.db"
	defaultMaxEntries  = 4096
	defaultLockTimeout = time.Second
	// maxBuckets bounds how many identities the database keeps.
	maxBuckets = 64
	// maxMaxEntries keeps the database far below maxBoltBytes.
	maxMaxEntries = 1 << 15
)

// HashMap is the HAL's form of the cache: token -> keyed hash of the model-cache content, in memory and in a
// database in the state directory that processes share. Safe for concurrent use; there is nothing to close.
type HashMap struct {
	opts   Options
	bucket []byte
	key    secret
	db     *database // nil: in memory only
	warn   *warner

	// saving keeps a load from reading what a save of the same token in this process is writing. File
	// locks cannot: handles that were duplicated share one lock.
	saving [64]sync.RWMutex

	mu      sync.Mutex
	records map[Token]record // guarded by mu
}

// record is what is kept per token.
type record struct {
	mac   [macSize]byte
	saved int64 // Unix time, ns
	size  int64 // of all model files together, bytes
}

// recordSize is in bytes: mac, saved as i64, size as u64, little-endian.
const recordSize = macSize + 16

func (r record) encode() []byte {
	b := append(make([]byte, 0, recordSize), r.mac[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.saved))
	return binary.LittleEndian.AppendUint64(b, uint64(r.size))
}

func decodeRecord(b []byte) (r record, ok bool) {
	if len(b) != recordSize {
		return r, false
	}
	copy(r.mac[:], b)
	r.saved = int64(binary.LittleEndian.Uint64(b[macSize:]))
	r.size = int64(binary.LittleEndian.Uint64(b[macSize+8:]))
	return r, r.size >= 0
}

// OpenHashMap fails with ErrInvalid for options out of range and never because of the file system: without
// a usable state directory it warns and keeps the map in memory.
func OpenHashMap(o Options) (*HashMap, error) {
	return openHashMap(o, &warner{fn: o.Warn})
}

func openHashMap(o Options, w *warner) (*HashMap, error) {
	if err := o.Identity.check(); err != nil {
		return nil, err
	}
	for _, n := range []*int{&o.ModelFiles, &o.DataFiles} {
		if *n < 0 || *n > MaxFiles {
			return nil, fmt.Errorf("%d files per entry, allowed are 1 to %d: %w", *n, MaxFiles, ErrInvalid)
		}
		*n = max(*n, 1)
	}
	if o.MaxEntries < 0 || o.MaxEntries > maxMaxEntries || o.MaxModelBytes < 0 || o.MaxBytes < 0 {
		return nil, fmt.Errorf("bounds of %d entries, %d and %d bytes: %w", o.MaxEntries, o.MaxModelBytes, o.MaxBytes, ErrInvalid)
	}
	if o.MaxEntries == 0 {
		o.MaxEntries = defaultMaxEntries
	}
	if o.MaxModelBytes == 0 {
		o.MaxModelBytes = defaultMaxModelBytes
	}
	if o.LockTimeout <= 0 {
		o.LockTimeout = defaultLockTimeout
	}
	m := &HashMap{opts: o, warn: w, bucket: bucketName(o.Identity), records: map[Token]record{}}
	if err := m.openState(); err != nil {
		w.environment(fmt.Errorf("state directory: %w; going on without", err))
		m.key = newSecret()
	}
	return m, nil
}

func (m *HashMap) openState() (err error) {
	dir := m.opts.StateDir
	if dir == "" {
		if dir, err = DefaultStateDir(); err != nil {
			return err
		}
	}
	if dir, err = filepath.Abs(dir); err != nil { // the program may go elsewhere
		return err
	}
	if err := privateDir(dir); err != nil {
		return err
	}
	key, replaced, err := loadSecret(dir, m.opts.LockTimeout)
	if err != nil {
		return err
	}
	if replaced != nil {
		m.warn.damage(fmt.Errorf("%w; made a new key, older entries are lost", replaced))
	}
	m.key = key
	m.db = &database{path: filepath.Join(dir, databaseName), timeout: m.opts.LockTimeout, warn: m.warn}
	return nil
}

// bucketName is the length of the device's name as u16, the device, the build.
func bucketName(id Identity) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(len(id.Device)))
	return append(append(b, id.Device...), id.Build...)
}

// Persistent reports whether entries outlive the process.
func (m *HashMap) Persistent() bool { return m.db != nil }

// Len is the number of this identity's entries, after a look at the database.
func (m *HashMap) Len() int {
	m.refresh()
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.records)
}

func (m *HashMap) lookup(t Token) (record, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.records[t]
	return r, ok
}

// refresh takes over what other processes have saved; the newer record of a token wins. Trouble with the
// database leaves the map as it is.
func (m *HashMap) refresh() {
	if m.db == nil {
		return
	}
	found := map[Token]record{}
	err := m.db.view(func(tx *bbolt.Tx) error {
		b := tx.Bucket(m.bucket)
		if b == nil {
			return nil
		}
		return b.ForEach(func(k, v []byte) error {
			if r, ok := decodeRecord(v); ok && len(k) == TokenSize {
				found[Token(k)] = r
			}
			return nil
		})
	})
	if err != nil {
		if !errors.Is(err, errNoDatabase) && !errors.Is(err, errBolt) && !errors.Is(err, ErrUnavailable) {
			m.warn.environment(fmt.Errorf("read %s: %w", m.db.path, err))
		}
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for t, r := range found {
		if have, ok := m.records[t]; !ok || have.saved < r.saved {
			m.records[t] = r
		}
	}
	m.trimLocked()
}

// trimLocked drops the oldest records where there are more than the bound.
//
// Preconditions: mu is held.
func (m *HashMap) trimLocked() {
	for _, t := range oldest(m.records, m.opts.MaxEntries) {
		delete(m.records, t)
	}
}

// put notes r for t. A failure to persist is warned about and returned; the process still knows the entry.
func (m *HashMap) put(t Token, r record) error {
	m.mu.Lock()
	m.records[t] = r
	m.trimLocked()
	m.mu.Unlock()
	return m.persist(func(b *bbolt.Bucket) error { return b.Put(t[:], r.encode()) })
}

// forget drops t, so that whatever files come with it next are not believed.
func (m *HashMap) forget(t Token) {
	m.mu.Lock()
	delete(m.records, t)
	m.mu.Unlock()
	_ = m.persist(func(b *bbolt.Bucket) error { return b.Delete(t[:]) })
}

func (m *HashMap) persist(fn func(*bbolt.Bucket) error) error {
	if m.db == nil {
		return nil
	}
	change := func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(m.bucket)
		if err == nil {
			err = fn(b)
		}
		if err != nil {
			return err
		}
		return trim(tx, m.bucket, m.opts.MaxEntries)
	}
	err := m.db.update(change)
	if errors.Is(err, bolterrors.ErrMaxSizeReached) {
		// The bounds keep it far smaller, so something has gone wrong in it.
		if err = m.db.reset(); err == nil {
			err = m.db.update(change)
		}
	}
	if err != nil {
		err = fmt.Errorf("write %s: %w: %w", m.db.path, err, ErrUnavailable)
		m.warn.environment(err)
	}
	return err
}

// stateFile is the path of the database, os.DevNull where there is none.
func (m *HashMap) stateFile() string {
	if m.db == nil {
		return os.DevNull
	}
	return m.db.path
}
