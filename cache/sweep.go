//go:build linux

package cache

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Info describes an entry. Apart from Verify nothing checks what it says.
type Info struct {
	// ID is the entry's path below the store's directory.
	ID string
	// Key, Identity, Label and Made are what its head says; zero if that cannot be read.
	Key      Key
	Identity Identity
	Label    string
	Made     time.Time
	// Used is when it was last found or made.
	Used time.Time
	// ModelBytes and DataBytes are the sizes of its two files.
	ModelBytes, DataBytes int64
	// Err, after Verify, says what is wrong with it.
	Err error
}

// Bytes is the size of both files together. That of files with large holes may exceed 2^63-1, which then stands for it.
func (i Info) Bytes() int64 { return addBytes(i.ModelBytes, i.DataBytes) }

// addBytes is a + b, at most 2^63-1, of two sizes.
func addBytes(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

const (
	hexShort = 16
	hexKey   = 2 * len(Key{})
	// maxListed bounds the folders that are read at each level, and the temporary ones removed at a time.
	maxListed = 1 << 16
)

// folders gives the names in dir that are n hexadecimal digits; a directory that is not there has none.
func folders(dir string, n int) ([]string, error) {
	f, err := openDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(maxListed)
	if err != nil && err != io.EOF {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		_, err := hex.DecodeString(name)
		return err != nil || len(name) != n
	})
	slices.Sort(names)
	return names, nil
}

// ids names all entries of all identities.
func (s *Store) ids() ([]string, error) {
	if !s.Enabled() {
		return nil, nil
	}
	devices, err := folders(s.dir, hexShort)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, d := range devices {
		builds, err := folders(filepath.Join(s.dir, d), hexShort)
		if err != nil {
			return nil, err
		}
		for _, b := range builds {
			keys, err := folders(filepath.Join(s.dir, d, b), hexKey)
			if err != nil {
				return nil, err
			}
			for _, k := range keys {
				out = append(out, filepath.Join(d, b, k))
			}
		}
	}
	return out, nil
}

// sizes fills in what the file system knows of an entry.
func (s *Store) sizes(id string) Info {
	i := Info{ID: id}
	if st, err := os.Lstat(filepath.Join(s.dir, id, modelName)); err == nil {
		i.ModelBytes, i.Used = st.Size(), st.ModTime()
	}
	if st, err := os.Lstat(filepath.Join(s.dir, id, dataName)); err == nil {
		i.DataBytes = st.Size()
	}
	return i
}

// evict drops the least recently used entries until the others have at most room bytes and are fewer than MaxEntries, each
// of which has to be looked at here. The entry except is about to be replaced: it is neither counted nor dropped.
//
// Preconditions: the store's lock is held.
func (s *Store) evict(room int64, except string) error {
	ids, err := s.ids()
	if err != nil {
		return err
	}
	var infos []Info
	var sum int64
	for _, id := range ids {
		if id == except {
			continue
		}
		i := s.sizes(id)
		if i.Bytes() > s.maxBytes { // by no Put: it must not push out what was
			if err := s.trash(filepath.Join(s.dir, i.ID)); err != nil {
				return err
			}
			continue
		}
		infos = append(infos, i)
		sum = addBytes(sum, i.Bytes())
	}
	count := len(infos)
	if sum <= room && count < s.opts.MaxEntries {
		return nil
	}
	slices.SortFunc(infos, func(a, b Info) int { return cmp.Or(a.Used.Compare(b.Used), cmp.Compare(a.ID, b.ID)) })
	for _, i := range infos {
		if sum <= room && count < s.opts.MaxEntries {
			break
		}
		if err := s.trash(filepath.Join(s.dir, i.ID)); err != nil {
			return err
		}
		sum -= i.Bytes()
		count--
	}
	return nil
}

// cleanTemps removes the temporary folders that no living process holds and says how many.
//
// Preconditions: the store's lock is held.
func (s *Store) cleanTemps() (removed int) {
	// The names may be anybody's. Roots see to it that they stay names in this folder, should it be exchanged for a
	// link meanwhile.
	store, err := os.OpenRoot(s.dir)
	if err != nil {
		return 0
	}
	defer store.Close()
	if st, err := store.Lstat(tempName); err != nil || !st.IsDir() {
		return 0
	}
	dir, err := store.OpenRoot(tempName)
	if err != nil {
		return 0
	}
	defer dir.Close()
	d, err := dir.Open(".")
	if err != nil {
		return 0
	}
	defer d.Close()
	names, _ := d.Readdirnames(maxListed)
	for _, name := range names {
		if removeTemp(dir, name) == nil {
			removed++
		}
	}
	return removed
}

// removeTemp removes what no living process holds.
func removeTemp(dir *os.Root, name string) error {
	st, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	if st.Mode().Type() == fs.ModeSymlink {
		return dir.Remove(name)
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := flock(f, unix.LOCK_EX, 0); err != nil {
		return err
	}
	return dir.RemoveAll(name)
}

// Clean removes what killed processes left behind and says how many folders. Put does it too.
func (s *Store) Clean() (removed int, err error) {
	if !s.Enabled() {
		return 0, nil
	}
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	unlock, err := s.lock()
	if err != nil {
		return 0, err
	}
	defer unlock()
	return s.cleanTemps(), nil
}

// List describes all entries of all identities, the last used first. Nothing is verified.
func (s *Store) List() ([]Info, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", s.dir, err)
	}
	out := make([]Info, 0, len(ids))
	for _, id := range ids {
		i := s.sizes(id)
		i.readHead(filepath.Join(s.dir, id))
		out = append(out, i)
	}
	slices.SortStableFunc(out, func(a, b Info) int { return b.Used.Compare(a.Used) })
	return out, nil
}

// readHead fills in what the head of the model file says, as far as it can be read.
func (i *Info) readHead(path string) {
	dir, err := openDir(path)
	if err != nil {
		return
	}
	defer dir.Close()
	f, size, err := openRegular(dir, modelName)
	if err != nil {
		return
	}
	defer f.Close()
	b := make([]byte, min(size, maxHead))
	n, _ := f.ReadAt(b, 0)
	if e, err := decodeHead(b[:n]); err == nil {
		i.fill(e)
	}
}

func (i *Info) fill(e entryInfo) {
	i.Key, i.Identity, i.Label, i.Made = e.key, e.identity, cleanLabel(e.label), timeOf(e.made)
}

// Verify reads and verifies every byte of every entry of all identities. Err of each says what is wrong;
// nothing is removed.
func (s *Store) Verify() ([]Info, error) {
	infos, err := s.List()
	if err != nil {
		return nil, err
	}
	for k := range infos {
		infos[k].Err = s.verify(&infos[k])
	}
	return infos, nil
}

func (s *Store) verify(i *Info) error {
	o, err := s.open(i.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", err, ErrMiss)
	}
	if err != nil {
		return err
	}
	defer o.entry.Close()
	i.fill(o.info)
	if entryID(o.info.identity, o.info.key) != i.ID {
		return fmt.Errorf("another entry in its place: %w", ErrRejected)
	}
	buf := make([]byte, min(o.info.data, 4<<20))
	for off := int64(0); off < o.info.data; off += int64(len(buf)) {
		if _, err := o.entry.Data.ReadAt(buf, off); err != nil && err != io.EOF {
			return err
		}
	}
	return nil
}

// Remove drops entries by ID, as List gives them; one that is not there is no error.
func (s *Store) Remove(ids ...string) error {
	if !s.Enabled() {
		return nil
	}
	for _, id := range ids {
		if !validID(id) {
			return fmt.Errorf("%q is not the ID of an entry: %w", id, ErrInvalid)
		}
	}
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(s.dir, tempName), 0o700); err != nil {
		return err
	}
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	for _, id := range ids {
		if err := s.trash(filepath.Join(s.dir, id)); err != nil {
			return fmt.Errorf("remove %s: %w", id, err)
		}
	}
	return nil
}

// validID reports whether id is of the form that entryID gives.
func validID(id string) bool {
	isHex := func(s string, n int) bool {
		_, err := hex.DecodeString(s)
		return err == nil && len(s) == n
	}
	return len(id) == 2*hexShort+hexKey+2 && id[hexShort] == filepath.Separator && id[2*hexShort+1] == filepath.Separator &&
		isHex(id[:hexShort], hexShort) && isHex(id[hexShort+1:2*hexShort+1], hexShort) && isHex(id[2*hexShort+2:], hexKey)
}

// Stats are figures of a store.
type Stats struct {
	Path     string `json:"path"`
	State    string `json:"state"`
	Enabled  bool   `json:"enabled"`
	Entries  int    `json:"entries"`
	Bytes    int64  `json:"bytes"`
	MaxBytes int64  `json:"max_bytes"`
	// Tokens is the number of entries that the hash map knows for this identity.
	Tokens int `json:"tokens"`
	// Hits, Misses, Rejected and Puts count since Open.
	Hits     int64 `json:"hits"`
	Misses   int64 `json:"misses"`
	Rejected int64 `json:"rejected"`
	Puts     int64 `json:"puts"`
}

// Stats counts what is there now.
func (s *Store) Stats() (Stats, error) {
	ids, err := s.ids()
	if err != nil {
		return Stats{}, fmt.Errorf("list %s: %w", s.dir, err)
	}
	st := Stats{
		Path: s.dir, State: s.StatePath(), Enabled: s.Enabled(), Entries: len(ids), MaxBytes: s.maxBytes, Tokens: s.Len(),
		Hits: s.hits.Load(), Misses: s.misses.Load(), Rejected: s.rejected.Load(), Puts: s.puts.Load(),
	}
	for _, id := range ids {
		st.Bytes = addBytes(st.Bytes, s.sizes(id).Bytes())
	}
	return st, nil
}
