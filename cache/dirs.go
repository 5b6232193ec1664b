//go:build linux

package cache

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// appName is the folder below the XDG base directories.
const appName = "nngpu"

// DefaultStateDir is $XDG_STATE_HOME/nngpu, or ~/.local/state/nngpu where that is unset or not absolute (XDG Base Directory
// Specification 0.8). It fails where there is no home.
func DefaultStateDir() (string, error) {
	return xdg("XDG_STATE_HOME", ".local", "state")
}

// DefaultDir is $XDG_CACHE_HOME/nngpu, or ~/.cache/nngpu where that is unset or not absolute. It fails where there is no home.
func DefaultDir() (string, error) {
	return xdg("XDG_CACHE_HOME", ".cache")
}

func xdg(variable string, below ...string) (string, error) {
	if dir := os.Getenv(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, appName), nil
	}
	home := os.Getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", fmt.Errorf("neither %s nor HOME names a directory: %w", variable, ErrUnavailable)
	}
	return filepath.Join(append(append([]string{home}, below...), appName)...), nil
}

// privateDir makes dir with mode 0700 and refuses one that others may write to: whoever can replace the
// key can have anything believed.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	if int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d", dir, st.Uid)
	}
	if st.Mode&0o022 != 0 {
		return fmt.Errorf("%s may be written by others (mode %#o)", dir, st.Mode&0o7777)
	}
	return nil
}

// warner calls back once for a surrounding that does not let the cache work, and once for a damaged
// file of hashes, whatever else follows: a program that runs a model must not drown in its cache's troubles.
type warner struct {
	fn             func(error)
	environ, state sync.Once
}

func (w *warner) environment(err error) {
	w.environ.Do(func() { w.call(err) })
}

func (w *warner) damage(err error) {
	w.state.Do(func() { w.call(err) })
}

func (w *warner) call(err error) {
	if w.fn != nil {
		w.fn(fmt.Errorf("compilation cache: %w", err))
	}
}
