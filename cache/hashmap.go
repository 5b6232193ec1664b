package cache

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	databaseName       = "hashes"
	defaultMaxEntries  = 4096
	defaultLockTimeout = time.Second
	// maxOwners bounds how many identities the file of hashes keeps.
	maxOwners = 64
	// maxMaxEntries bounds what a change of the file of hashes writes.
	maxMaxEntries = 1 << 15
)

// HashMap is the HAL's form of the cache: token -> keyed hash of the model-cache content, in memory and in a
// file in the state directory that processes share. Safe for concurrent use; there is nothing to close.
type HashMap struct {
	opts  Options
	owner owner
	key   secret
	file  *hashFile // nil: in memory only
	warn  *warner

	// saving keeps a load from reading what a save of the same token in this process is writing. File
	// locks cannot: handles that were duplicated share one lock.
	saving [64]sync.RWMutex

	mu      sync.Mutex
	records map[Token]record // guarded by mu
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
	m := &HashMap{opts: o, warn: w, owner: ownerOf(o.Identity), records: map[Token]record{}}
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
	m.file = &hashFile{path: filepath.Join(dir, databaseName), timeout: m.opts.LockTimeout, warn: m.warn}
	m.file.clean()
	return nil
}

// Persistent reports whether entries outlive the process.
func (m *HashMap) Persistent() bool { return m.file != nil }

// Len is the number of this identity's entries, after a look at the file.
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
// file leaves the map as it is.
func (m *HashMap) refresh() {
	if m.file == nil {
		return
	}
	found, err := m.file.read()
	if err != nil {
		m.warn.environment(fmt.Errorf("read %s: %w", m.file.path, err))
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, r := range found {
		if have, ok := m.records[k.token]; k.owner == m.owner && (!ok || have.saved < r.saved) {
			m.records[k.token] = r
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
	return m.persist(func(rs records) { rs[recordKey{m.owner, t}] = r })
}

// forget drops t, so that whatever files come with it next are not believed.
func (m *HashMap) forget(t Token) {
	m.mu.Lock()
	delete(m.records, t)
	m.mu.Unlock()
	_ = m.persist(func(rs records) { delete(rs, recordKey{m.owner, t}) })
}

func (m *HashMap) persist(change func(records)) error {
	if m.file == nil {
		return nil
	}
	err := m.file.update(func(rs records) {
		change(rs)
		rs.trim(m.opts.MaxEntries, m.owner)
	})
	if err != nil {
		err = fmt.Errorf("write %s: %w: %w", m.file.path, err, ErrUnavailable)
		m.warn.environment(err)
	}
	return err
}

// stateFile is the path of the file of hashes, os.DevNull where there is none.
func (m *HashMap) stateFile() string {
	if m.file == nil {
		return os.DevNull
	}
	return m.file.path
}
