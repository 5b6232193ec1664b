package cache

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// useAll does what a program does that wants a cache: it must be able to go on whatever happens. It gives
// the number of warnings and what failed.
func useAll(o Options, size int, hal []*os.File) (warned int, errs []error) {
	o.Warn = func(error) { warned++ }
	s, err := Open(o)
	if err != nil {
		return warned, []error{err}
	}
	for i := range 3 {
		if e, err := s.Get(key(i)); err == nil {
			e.Close()
		} else if !isKnown(err) {
			errs = append(errs, err)
		}
		if err := s.Put(key(i), "", noise(1, size), noise(2, size)); err != nil {
			errs = append(errs, err)
		}
		if hal != nil {
			if err := s.Save(Token{byte(i)}, noise(1, size), noise(2, size), hal[:1], hal[1:]); err != nil {
				errs = append(errs, err)
			} else if e, err := s.Load(Token{byte(i)}, hal[:1], hal[1:]); err != nil {
				errs = append(errs, err)
			} else {
				e.Close()
			}
		}
	}
	if _, err := s.List(); err != nil {
		errs = append(errs, err)
	}
	if _, err := s.Stats(); err != nil {
		errs = append(errs, err)
	}
	return warned, errs
}

func allUnavailable(t *testing.T, errs []error) {
	t.Helper()
	for _, err := range errs {
		require.ErrorIs(t, err, ErrUnavailable)
	}
}

func TestDefaultDirectories(t *testing.T) {
	t.Setenv("HOME", "/home/x")
	for _, tc := range []struct{ state, cache, wantState, wantCache string }{
		{"", "", "/home/x/.local/state/nngpu", "/home/x/.cache/nngpu"},
		{"/s", "/c", "/s/nngpu", "/c/nngpu"},
		{"relative", "relative", "/home/x/.local/state/nngpu", "/home/x/.cache/nngpu"},
	} {
		t.Setenv("XDG_STATE_HOME", tc.state)
		t.Setenv("XDG_CACHE_HOME", tc.cache)
		state, err := DefaultStateDir()
		require.NoError(t, err)
		dir, err := DefaultDir()
		require.NoError(t, err)
		require.Equal(t, []string{tc.wantState, tc.wantCache}, []string{state, dir})
	}
}

func TestNoHome(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	f := newFiles(t, 1, 1)
	warned, errs := useAll(Options{}, 1000, append(f.model, f.data...))
	require.Equal(t, 1, warned)
	require.Len(t, errs, 3, "only Put fails")
	allUnavailable(t, errs)

	warned, errs = useAll(Options{StateDir: filepath.Join(t.TempDir(), "s")}, 1000, append(f.model, f.data...))
	require.Equal(t, 1, warned)
	allUnavailable(t, errs)
}

func TestDirectoryIsAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, below := range []string{"", "a/b"} {
		for _, change := range []func(*Options, string){func(o *Options, p string) { o.Dir = p }, func(o *Options, p string) { o.StateDir = p }} {
			o := options(t)
			change(&o, filepath.Join(file, below))
			warned, errs := useAll(o, 1000, nil)
			require.Equal(t, 1, warned)
			require.Len(t, errs, 3)
			allUnavailable(t, errs)
		}
	}
}

func TestOff(t *testing.T) {
	o := options(t)
	o.Off = true
	warned, errs := useAll(o, 1000, nil)
	require.Zero(t, warned)
	allUnavailable(t, errs)
	require.NoDirExists(t, o.Dir)
}

// TestReadOnly: in directories that cannot be written to, what is there is still found.
func TestReadOnly(t *testing.T) {
	var base string
	o := options(t)
	var readOnly, writable func() error
	if os.Geteuid() == 0 {
		base = mountTmpfs(t, "1m")
		remount := func(flags uintptr) func() error {
			return func() error { return unix.Mount("", base, "", unix.MS_REMOUNT|flags, "") }
		}
		readOnly, writable = remount(unix.MS_RDONLY), remount(0)
	} else {
		base = t.TempDir()
		chmod := func(mode os.FileMode) func() error {
			return func() error {
				return filepath.WalkDir(base, func(path string, d os.DirEntry, err error) error {
					if err != nil || !d.IsDir() {
						return err
					}
					return os.Chmod(path, mode)
				})
			}
		}
		readOnly, writable = chmod(0o500), chmod(0o700)
	}
	o.Dir, o.StateDir = filepath.Join(base, "cache"), filepath.Join(base, "state")
	require.NoError(t, readOnly())
	warned, errs := useAll(o, 1000, nil)
	require.Equal(t, 1, warned)
	require.Len(t, errs, 3)
	allUnavailable(t, errs)

	require.NoError(t, writable())
	f := newFiles(t, 1, 1)
	s := openStore(t, o)
	require.NoError(t, s.Put(key(1), "", noise(1, 10), noise(2, 10)))
	require.NoError(t, s.Save(Token{9}, noise(1, 10), noise(2, 10), f.model, f.data))
	require.NoError(t, readOnly())
	defer func() { require.NoError(t, writable()) }()
	s = openStore(t, o)
	e, err := s.Get(key(1))
	require.NoError(t, err)
	requireEntry(t, e, noise(1, 10), noise(2, 10))
	e, err = s.Load(Token{9}, f.model, f.data)
	require.NoError(t, err)
	requireEntry(t, e, noise(1, 10), noise(2, 10))
	warned, errs = useAll(o, 1000, nil)
	require.Equal(t, 1, warned)
	allUnavailable(t, errs)
}

// mountTmpfs makes a small file system of its own, which only root may.
func mountTmpfs(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("cannot mount a small file system (needs root): %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

func TestFullDisk(t *testing.T) {
	for _, size := range []int{50_000, 200_000} {
		base := mountTmpfs(t, "128k")
		o := options(t)
		o.Dir, o.StateDir = filepath.Join(base, "cache"), filepath.Join(base, "state")
		var hal []*os.File
		for _, name := range []string{"m", "d"} {
			hal = append(hal, openRW(t, filepath.Join(base, name)))
		}
		warned, errs := useAll(o, size, hal)
		require.Equal(t, 1, warned)
		require.NotEmpty(t, errs)
		for _, err := range errs {
			require.True(t, errors.Is(err, ErrUnavailable) || errors.Is(err, ErrMiss) || errors.Is(err, ErrRejected), "%v", err)
		}
		closeAll(hal)
		// Nothing half-written stays, and with room it works again.
		require.NoError(t, os.Remove(filepath.Join(base, "m")))
		require.NoError(t, os.Remove(filepath.Join(base, "d")))
		s := openStore(t, o)
		if s.Enabled() {
			_, err := s.Clean()
			require.NoError(t, err)
			require.NoError(t, s.Put(key(9), "", nil, noise(1, 10)))
			infos, err := s.Verify()
			require.NoError(t, err)
			for _, i := range infos {
				require.NoError(t, i.Err)
			}
		}
	}
}

// TestNoSpaceByLimit runs in a process whose files may not grow beyond a few sizes.
func TestNoSpaceByLimit(t *testing.T) {
	for _, limit := range []int{0, 10, 100, 5000, 20_000, 40_000, 100_000} {
		base := t.TempDir()
		cmd := child(t, "limited", base, strconv.Itoa(limit))
		require.NoError(t, cmd.Run(), "limit %d", limit)
		s := openStore(t, Options{Dir: filepath.Join(base, "cache"), StateDir: filepath.Join(base, "state"), Identity: testIdentity})
		_, err := s.Clean()
		require.NoError(t, err)
		infos, err := s.Verify()
		require.NoError(t, err)
		for _, i := range infos {
			require.NoError(t, i.Err)
		}
	}
}

func init() {
	children["limited"] = func(args []string) error {
		limit, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		signal.Ignore(unix.SIGXFSZ)
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(limit), Max: uint64(limit)}); err != nil {
			return err
		}
		var hal []*os.File
		for _, name := range []string{"m", "d"} {
			f, err := os.OpenFile(filepath.Join(args[0], name), os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				return err
			}
			hal = append(hal, f)
		}
		o := Options{Dir: filepath.Join(args[0], "cache"), StateDir: filepath.Join(args[0], "state"), Identity: testIdentity}
		warned, errs := useAll(o, 30_000, hal)
		if warned > 1 || (warned == 0) != (len(errs) == 0) || warned == 0 && limit < 40_000 {
			return fmt.Errorf("limit %d: %d warnings, errors %w", limit, warned, errors.Join(errs...))
		}
		for _, err := range errs {
			if !errors.Is(err, ErrUnavailable) {
				return fmt.Errorf("limit %d: %w", limit, err)
			}
		}
		return nil
	}
}
