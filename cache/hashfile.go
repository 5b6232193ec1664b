//go:build linux

package cache

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// The file of hashes, little-endian:
//
//	offset size
//	 0      8   hashMagic
//	 8      4   hashVersion
//	12      4   number of records
//	16     32   SHA-256 of all other bytes
//	48          records: owner, token, MAC, time of the save (Unix, ns) as i64, bytes of all model files as u64
//
// The sum finds damage. It need not keep anybody out: a record is of use only to who has made its MAC with the secret key.
const (
	hashMagic   = "NNGPUtok"
	hashVersion = 1
	hashSum     = 16
	hashHead    = hashSum + sha256.Size
	recordSize  = sha256.Size + TokenSize + macSize + 16

	maxHashBytes = hashHead + maxMaxEntries*recordSize
)

// owner is the SHA-256 of an Identity.
type owner [sha256.Size]byte

func ownerOf(id Identity) owner { return owner(KeyOf([]byte(id.Device), []byte(id.Build))) }

// recordKey is whose record it is, and of which token.
type recordKey struct {
	owner owner
	token Token
}

// record is what is kept per token.
type record struct {
	mac   [macSize]byte
	saved int64 // Unix time, ns
	size  int64 // of all model files together, bytes
}

// records are those of all identities.
type records map[recordKey]record

func (rs records) encode() []byte {
	le := binary.LittleEndian
	b := make([]byte, hashHead, hashHead+len(rs)*recordSize)
	copy(b, hashMagic)
	le.PutUint32(b[8:], hashVersion)
	le.PutUint32(b[12:], uint32(len(rs)))
	for k, r := range rs {
		b = append(b, k.owner[:]...)
		b = append(b, k.token[:]...)
		b = append(b, r.mac[:]...)
		b = le.AppendUint64(b, uint64(r.saved))
		b = le.AppendUint64(b, uint64(r.size))
	}
	sum := sumHashes(b)
	copy(b[hashSum:], sum[:])
	return b
}

func sumHashes(b []byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	h.Write(b[:hashSum])
	h.Write(b[hashHead:])
	h.Sum(sum[:0])
	return sum
}

// decodeRecords takes any bytes.
func decodeRecords(b []byte) (records, error) {
	le := binary.LittleEndian
	if len(b) < hashHead || string(b[:8]) != hashMagic || le.Uint32(b[8:]) != hashVersion {
		return nil, errors.New("not of this version")
	}
	n := le.Uint32(b[12:])
	if n > maxMaxEntries || len(b) != hashHead+int(n)*recordSize || sumHashes(b) != [sha256.Size]byte(b[hashSum:]) {
		return nil, errors.New("damaged")
	}
	rs := make(records, n)
	for b = b[hashHead:]; len(b) > 0; b = b[recordSize:] {
		k := recordKey{owner(b), Token(b[sha256.Size:])}
		rest := b[sha256.Size+TokenSize:]
		r := record{mac: [macSize]byte(rest), saved: int64(le.Uint64(rest[macSize:])), size: int64(le.Uint64(rest[macSize+8:]))}
		if r.size < 0 {
			return nil, errors.New("damaged")
		}
		rs[k] = r
	}
	return rs, nil
}

// trim drops the oldest records beyond bound, whoever made them, and the owners that saved longest ago beyond maxOwners,
// but not keep.
func (rs records) trim(bound int, keep owner) {
	for _, k := range oldest(rs, bound) {
		delete(rs, k)
	}
	youngest := map[owner]record{} // of each owner
	for k, r := range rs {
		if y, known := youngest[k.owner]; !known || y.saved < r.saved {
			youngest[k.owner] = r
		}
	}
	for _, o := range oldest(youngest, maxOwners) {
		if o != keep {
			maps.DeleteFunc(rs, func(k recordKey, _ record) bool { return k.owner == o })
		}
	}
}

// oldest names the records to drop so that at most bound remain. Where any must go, a sixteenth of
// the bound goes with them, so that it is seldom done.
func oldest[K comparable](records map[K]record, bound int) []K {
	if len(records) <= bound {
		return nil
	}
	keys := slices.Collect(maps.Keys(records))
	slices.SortFunc(keys, func(a, b K) int { return cmp.Compare(records[a].saved, records[b].saved) })
	return keys[:len(keys)-bound+bound/16]
}

// hashFile is the file that keeps records. It is replaced as a whole, so readers take no lock: whoever changes it holds
// the lock of a file beside it, writes that one and renames it. One that is killed leaves at most that file, which the
// next takes over.
type hashFile struct {
	path    string
	timeout time.Duration
	warn    *warner
}

func (h *hashFile) nextPath() string { return h.path + ".next" }

// read gives the records of all identities: none where there is no file yet, or a damaged one, of which it has warned then.
func (h *hashFile) read() (records, error) {
	f, err := os.OpenFile(h.path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return records{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rs, err := readRecords(f)
	if err != nil {
		h.warn.damage(fmt.Errorf("%s: %w; starting an empty one", h.path, err))
		return records{}, nil
	}
	return rs, nil
}

func readRecords(f *os.File) (records, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := checkOwn(st); err != nil {
		return nil, err
	}
	if st.Size() > maxHashBytes {
		return nil, fmt.Errorf("has %d bytes", st.Size())
	}
	b := make([]byte, st.Size())
	if n, err := f.ReadAt(b, 0); n < len(b) {
		return nil, noEOF(err)
	}
	return decodeRecords(b)
}

// update replaces the file by what change makes of the records.
func (h *hashFile) update(change func(records)) (err error) {
	next, err := h.lock(h.timeout)
	if err != nil {
		return err
	}
	defer next.Close()
	defer func() {
		if err != nil {
			_ = os.Remove(next.Name())
		}
	}()
	rs, err := h.read()
	if err != nil {
		return err
	}
	change(rs)
	if err := next.Truncate(0); err != nil {
		return err
	}
	if err := writeAll(next, rs.encode()); err != nil {
		return err
	}
	return os.Rename(next.Name(), h.path)
}

// lock opens the file that is to become the next one, with its lock. Only who holds that writes, renames or removes it.
func (h *hashFile) lock(timeout time.Duration) (*os.File, error) {
	for deadline := time.Now().Add(timeout); ; {
		f, err := os.OpenFile(h.nextPath(), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, err
		}
		if err := flock(f, unix.LOCK_EX, time.Until(deadline)); err != nil {
			f.Close()
			return nil, err
		}
		if same(f, h.nextPath()) { // else it has become the file meanwhile
			st, err := f.Stat()
			if err == nil && checkOwn(st) == nil {
				return f, nil
			}
			if err := os.Remove(h.nextPath()); err != nil { // who has it open must not write to the new one
				f.Close()
				return nil, err
			}
		}
		f.Close()
	}
}

// clean removes what a killed process left.
func (h *hashFile) clean() {
	if _, err := os.Lstat(h.nextPath()); err != nil {
		return
	}
	if f, err := h.lock(0); err == nil {
		_ = os.Remove(h.nextPath())
		f.Close()
	}
}
