//go:build linux

package cache

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// withFD calls fn with f's descriptor while f cannot be closed by another goroutine.
func withFD(f *os.File, fn func(fd int) error) error {
	if f == nil {
		return fmt.Errorf("no file: %w", ErrInvalid)
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = fn(int(fd)) }); err != nil {
		return err
	}
	return inner
}

// flock takes the lock how (unix.LOCK_SH or LOCK_EX) on f's open file description within timeout; with
// timeout 0 it tries once. It polls, since a blocking flock can be neither bounded nor cancelled. The
// error of a lock that others hold wraps ErrUnavailable.
func flock(f *os.File, how int, timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		err := withFD(f, func(fd int) error { return unix.Flock(fd, how|unix.LOCK_NB) })
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		case !time.Now().Before(deadline):
			return fmt.Errorf("lock %s: held elsewhere for %v: %w", f.Name(), timeout, ErrUnavailable)
		}
		time.Sleep(min(pause, time.Until(deadline)))
	}
}

func funlock(f *os.File) {
	_ = withFD(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_UN) })
}

// Duplicate returns handles of the same open files that stay valid when the caller closes its own: a client
// may do so as soon as a preparation has called back. The caller closes them.
func Duplicate(files []*os.File) ([]*os.File, error) {
	out := make([]*os.File, 0, len(files))
	for _, f := range files {
		d, err := duplicate(f)
		if err != nil {
			closeAll(out)
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

func duplicate(f *os.File) (*os.File, error) {
	var d int
	err := withFD(f, func(fd int) (err error) {
		d, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("duplicate a cache handle: %w", err)
	}
	return os.NewFile(uintptr(d), f.Name()), nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// access is what a handle must allow.
type access int

const (
	toRead access = iota
	toWrite
)

// fileID tells whether two handles are of one file.
type fileID struct{ dev, ino uint64 }

// inspect checks that f is a regular file with the wanted access and gives its size in bytes. It fails with ErrInvalid where
// there is no file, otherwise with ErrUnusable.
func inspect(f *os.File, a access) (id fileID, size int64, err error) {
	err = withFD(f, func(fd int) error {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		mode := flags & unix.O_ACCMODE
		switch {
		case st.Mode&unix.S_IFMT != unix.S_IFREG:
			return errors.New("not a regular file")
		case flags&unix.O_PATH != 0:
			return errors.New("a handle without access")
		case a == toWrite && mode != unix.O_RDWR:
			return errors.New("not open for reading and writing")
		case a == toWrite && flags&unix.O_APPEND != 0:
			return errors.New("open for appending, which ignores offsets")
		case a == toRead && mode == unix.O_WRONLY:
			return errors.New("not open for reading")
		}
		id, size = fileID{uint64(st.Dev), st.Ino}, st.Size
		return nil
	})
	switch {
	case err == nil:
		return id, size, nil
	case isKnown(err):
		return fileID{}, 0, err
	default:
		return fileID{}, 0, fmt.Errorf("cache file: %w: %w", err, ErrUnusable)
	}
}
