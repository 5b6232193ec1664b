package cache

import "time"

// Options says where a cache keeps its files, what it may take, and whose entries it sees. The zero value
// of each field stands for its default.
type Options struct {
	// Dir holds the entries of a Store; "" means DefaultDir. It need not be trusted, and is made when first
	// needed.
	Dir string
	// MaxBytes bounds all entries of a Store together, of all identities; 0 means 1 GiB.
	MaxBytes int64
	// Off makes a Store that finds and keeps nothing. Its Save and Load still work.
	Off bool

	// StateDir holds the key and the hash map's file; "" means DefaultStateDir. It must be the
	// user's own and closed to writing by others.
	StateDir string
	// Identity is whose entries are seen.
	Identity Identity
	// ModelFiles and DataFiles are how many files of each kind an entry of a HashMap has; 0 means 1, the
	// most is MaxFiles.
	ModelFiles, DataFiles int
	// MaxEntries bounds the entries of all identities, those of a Store, of which the least recently used are dropped, and
	// those of a HashMap, of which the oldest are; 0 means 4096, the most is 32768.
	MaxEntries int
	// MaxModelBytes bounds model parts, and so what reading one allocates; 0 means 256 MiB.
	MaxModelBytes int64
	// LockTimeout bounds every wait for another process; 0 means one second.
	LockTimeout time.Duration
	// Warn is called at most once because the cache cannot work where it is (no home, read-only directory, full disk),
	// and at most once because this file or the key was damaged. It may be nil, and is called from whatever goroutine
	// met the trouble.
	Warn func(error)
}
