package cache

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	keyName = "key"
	keySize = 32
	macSize = sha256.Size
)

// secret is the key of every hash. Without it nobody can make an entry that is believed.
type secret [keySize]byte

func newSecret() (s secret) {
	_, _ = rand.Read(s[:]) // never fails: crypto/rand ends the program instead
	return s
}

// mac starts an HMAC-SHA-256; domain keeps hashes of different purposes apart.
func (s *secret) mac(domain string) hash.Hash {
	h := hmac.New(sha256.New, s[:])
	writePart(h, []byte(domain))
	return h
}

// writePart adds b with its length before it, so that neighbouring parts cannot run into each other.
func writePart(h hash.Hash, b []byte) {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(b)))
	h.Write(n[:])
	h.Write(b)
}

// loadSecret reads the key in dir, or makes one. replaced is not nil if there was a key that cannot be
// used (damaged, or readable by others), which a new one now replaces: older entries are then rejected.
//
// The file itself is the lock: it is written while locked exclusively and read while locked, so no process
// sees half a key, two that start together agree on one, and one that is killed leaves at most an
// empty file.
func loadSecret(dir string, timeout time.Duration) (s secret, replaced, err error) {
	path := filepath.Join(dir, keyName)
	if f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0); err == nil {
		err = flock(f, unix.LOCK_SH, timeout)
		var why error
		if err == nil {
			s, why = readSecret(f)
		}
		f.Close()
		if err == nil && why == nil {
			return s, nil, nil
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return s, nil, err
	}
	defer f.Close()
	if err := flock(f, unix.LOCK_EX, timeout); err != nil {
		return s, nil, err
	}
	// Another process may have written it meanwhile.
	s, replaced = readSecret(f)
	if replaced == nil {
		return s, nil, nil
	}
	if st, err := f.Stat(); err == nil && st.Size() == 0 {
		replaced = nil
	}
	s = newSecret()
	if err := writeSecret(f, s); err != nil {
		_ = f.Truncate(0)
		return s, nil, err
	}
	return s, replaced, nil
}

// readSecret reads the key and says why it cannot be used.
func readSecret(f *os.File) (s secret, err error) {
	st, err := f.Stat()
	switch {
	case err != nil:
		return s, err
	case !st.Mode().IsRegular() || st.Size() != keySize:
		return s, fmt.Errorf("%s is not a key of %d bytes", f.Name(), keySize)
	case st.Mode().Perm()&0o077 != 0:
		return s, fmt.Errorf("%s could be read by others (mode %#o)", f.Name(), st.Mode().Perm())
	}
	if _, err := f.ReadAt(s[:], 0); err != nil {
		return s, err
	}
	if s == (secret{}) {
		return s, fmt.Errorf("%s holds only zeros", f.Name())
	}
	return s, nil
}

func writeSecret(f *os.File, s secret) error {
	if err := f.Chmod(0o600); err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	if _, err := f.WriteAt(s[:], 0); err != nil {
		return err
	}
	return f.Sync()
}
