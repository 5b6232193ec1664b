//go:build linux

package cache

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"syscall"
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

// loadSecret reads the key in dir, or makes one. replaced is not nil if there was something in its place that cannot be
// used (damaged, another user's, within reach of others), which is removed for a new one: older entries are then rejected.
//
// The file itself is the lock: it is written while locked exclusively and read while locked, so no process
// sees half a key, two that start together agree on one, and one that is killed leaves at most an
// empty file.
func loadSecret(dir string, timeout time.Duration) (s secret, replaced, err error) {
	const tries = 16
	path := filepath.Join(dir, keyName)
	for range tries {
		s, why, err := openSecret(path, timeout)
		switch {
		case err == nil && why == nil:
			return s, replaced, nil
		case err != nil:
			return s, nil, err
		case !errors.Is(why, errReplacedMeanwhile):
			replaced = why
		}
	}
	return s, nil, fmt.Errorf("no key in %d tries: %w", tries, replaced)
}

var errReplacedMeanwhile = errors.New("another process has replaced it")

// openSecret reads the key, or makes one where there is none. why is not nil where something else is there, which it has
// removed.
func openSecret(path string, timeout time.Duration) (s secret, why, err error) {
	if f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0); err == nil {
		if err = flock(f, unix.LOCK_SH, timeout); err == nil {
			s, why = readSecret(f)
		}
		f.Close()
		if err == nil && why == nil {
			return s, nil, nil
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	for _, refusal := range []error{unix.ELOOP, unix.EACCES, unix.EPERM, unix.EISDIR, unix.ENXIO} {
		if errors.Is(err, refusal) { // a link, or what is not ours, or no file
			return s, err, os.Remove(path)
		}
	}
	if err != nil {
		return s, nil, err
	}
	defer f.Close()
	if err := flock(f, unix.LOCK_EX, timeout); err != nil {
		return s, nil, err
	}
	if !same(f, path) {
		return s, errReplacedMeanwhile, nil
	}
	// Another process may have written it meanwhile.
	if s, why = readSecret(f); why == nil {
		return s, nil, nil
	}
	st, err := f.Stat()
	if err != nil {
		return s, nil, err
	}
	if checkOwn(st) != nil || st.Size() > 0 {
		// Who can read it, or has it open, must not see the new one.
		return s, why, os.Remove(path)
	}
	s = newSecret()
	if err := writeSecret(f, s); err != nil {
		_ = f.Truncate(0)
		return s, nil, err
	}
	return s, nil, nil
}

// readSecret reads the key and says why it cannot be used.
func readSecret(f *os.File) (s secret, err error) {
	st, err := f.Stat()
	if err == nil {
		err = checkOwn(st)
	}
	switch {
	case err != nil:
		return s, fmt.Errorf("%s %w", f.Name(), err)
	case st.Mode().Perm()&0o077 != 0:
		return s, fmt.Errorf("%s could be read by others (mode %#o)", f.Name(), st.Mode().Perm())
	case st.Size() != keySize:
		return s, fmt.Errorf("%s is not a key of %d bytes", f.Name(), keySize)
	}
	if _, err := f.ReadAt(s[:], 0); err != nil {
		return s, err
	}
	if s == (secret{}) {
		return s, fmt.Errorf("%s holds only zeros", f.Name())
	}
	return s, nil
}

// checkOwn requires st, of a file that is trusted, to be of a regular file of the user's, of one name, that nobody
// else may write to.
func checkOwn(st os.FileInfo) error {
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case !ok || !st.Mode().IsRegular():
		return errors.New("is no regular file")
	case int(sys.Uid) != os.Geteuid():
		return fmt.Errorf("belongs to user %d", sys.Uid)
	case sys.Nlink > 1:
		return fmt.Errorf("has %d names", sys.Nlink)
	case st.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("may be written by others (mode %#o)", st.Mode().Perm())
	}
	return nil
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
