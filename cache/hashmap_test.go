package cache

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestHashMapBound(t *testing.T) {
	o := options(t)
	o.MaxEntries = 16
	m := openMap(t, o)
	for i := range 40 {
		require.NoError(t, m.put(Token{byte(i)}, record{saved: int64(i)}))
		require.LessOrEqual(t, m.Len(), 16)
	}
	for _, m := range []*HashMap{m, openMap(t, o)} {
		require.GreaterOrEqual(t, m.Len(), 14)
		_, ok := m.lookup(Token{39})
		require.True(t, ok, "the newest stays")
		_, ok = m.lookup(Token{10})
		require.False(t, ok, "the oldest goes")
	}
}

// TestIdentitiesShareTheDatabase: none sees what others saved, none drops it, and all are within one bound.
func TestIdentitiesShareTheDatabase(t *testing.T) {
	o := options(t)
	o.MaxEntries = 32
	at := func(device, build string) *HashMap {
		o := o
		o.Identity = Identity{device, build}
		return openMap(t, o)
	}
	all := []*HashMap{at("a", "1"), at("a", "2"), at("ab", "1"), at("", "1")}
	for saved := range 8 {
		for _, m := range all {
			require.NoError(t, m.put(Token{byte(saved)}, record{saved: int64(saved)}))
		}
	}
	for i, want := range []Identity{{"a", "1"}, {"a", "2"}, {"ab", "1"}, {"", "1"}, {"a", "3"}} {
		if i < len(all) {
			require.Equal(t, 8, at(want.Device, want.Build).Len(), "%v", want)
		} else {
			require.Zero(t, at(want.Device, want.Build).Len())
		}
	}
	next := at("a", "3")
	require.NoError(t, next.put(Token{1}, record{saved: 100}))
	sum := next.Len()
	require.Equal(t, 1, sum)
	for i := range all {
		m := at(all[i].opts.Identity.Device, all[i].opts.Identity.Build)
		require.GreaterOrEqual(t, m.Len(), 7, "the oldest go first, whoever saved them")
		_, ok := m.lookup(Token{7})
		require.True(t, ok)
		sum += m.Len()
	}
	require.LessOrEqual(t, sum, 32)
	require.GreaterOrEqual(t, sum, 30)
}

func TestManyIdentities(t *testing.T) {
	o := options(t)
	for i := range 2 * maxOwners {
		o.Identity.Build = fmt.Sprint(i)
		require.NoError(t, openMap(t, o).put(Token{1}, record{saved: int64(i)}))
	}
	kept := 0
	for i := range 2 * maxOwners {
		o.Identity.Build = fmt.Sprint(i)
		n := openMap(t, o).Len()
		if kept += n; kept > 0 {
			require.Equal(t, 1, n, "the last ones, without a gap")
		}
	}
	require.LessOrEqual(t, kept, maxOwners)
	require.GreaterOrEqual(t, kept, maxOwners-maxOwners/16)
}

// TestTwoMapsShare: what one process saves another finds, also when it saved the same token before.
func TestTwoMapsShare(t *testing.T) {
	o := options(t)
	a, b, f := openMap(t, o), openMap(t, o), newFiles(t, 1, 1)
	for i := range 4 {
		from, to := a, b
		if i%2 == 1 {
			from, to = b, a
		}
		model := noise(uint64(i), 100)
		require.NoError(t, from.Save(Token{}, model, nil, f.model, f.data))
		e, err := to.Load(Token{}, f.model, f.data)
		require.NoError(t, err)
		requireEntry(t, e, model, nil)
	}
}

func TestDamagedDatabaseIsAnEmptyMap(t *testing.T) {
	for name, damage := range map[string]func(path string, b []byte) error{
		"text":        func(p string, b []byte) error { return os.WriteFile(p, []byte("not a database"), 0o600) },
		"cut in half": func(p string, b []byte) error { return os.Truncate(p, int64(len(b)/2)) },
		"one byte":    func(p string, b []byte) error { return os.Truncate(p, 1) },
		"zeros":       func(p string, b []byte) error { return os.WriteFile(p, make([]byte, len(b)), 0o600) },
		"a record": func(p string, b []byte) error {
			return os.WriteFile(p, patch(b, hashHead+3*recordSize, recordSize), 0o600)
		},
		"one bit": func(p string, b []byte) error { b[len(b)-1] ^= 0x80; return os.WriteFile(p, b, 0o600) },
		"huge":    func(p string, b []byte) error { return os.Truncate(p, 1<<40) },
		"folder": func(p string, b []byte) error {
			return os.WriteFile(filepath.Join(filepath.Dir(p), "x"), nil, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var w warnings
			o := options(t)
			f := newFiles(t, 1, 1)
			for i := range 40 {
				require.NoError(t, openMap(t, o).Save(Token{byte(i)}, noise(1, 10), nil, f.model, f.data))
			}
			m := openMap(t, o)
			before, err := os.ReadFile(m.stateFile())
			require.NoError(t, err)
			require.NoError(t, damage(m.stateFile(), before))
			o.Warn = w.add
			m = openMap(t, o)
			n := m.Len()
			if w.count() > 0 {
				require.Zero(t, n)
				_, err = m.Load(Token{39}, f.model, f.data)
				require.ErrorIs(t, err, ErrMiss)
			}
			require.NoError(t, m.Save(Token{1}, noise(2, 10), nil, f.model, f.data))
			require.LessOrEqual(t, w.count(), 1)
			if name != "folder" { // which hits nothing that counts
				require.Equal(t, 1, w.count())
			}
			o.Warn = options(t).Warn
			e, err := openMap(t, o).Load(Token{1}, f.model, f.data)
			require.NoError(t, err)
			requireEntry(t, e, noise(2, 10), nil)
		})
	}
}

// patch overwrites n bytes with ones.
func patch(b []byte, at, n int) []byte {
	b = bytes.Clone(b)
	copy(b[at:at+n], bytes.Repeat([]byte{0xff}, n))
	return b
}

func TestKeyFile(t *testing.T) {
	o := options(t)
	f := newFiles(t, 1, 1)
	require.NoError(t, openMap(t, o).Save(Token{}, noise(1, 10), nil, f.model, f.data))
	path := filepath.Join(o.StateDir, keyName)
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode())
	require.EqualValues(t, keySize, st.Size())
	st, err = os.Stat(o.StateDir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), st.Mode().Perm())
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	keepElsewhere := func() error {
		_ = os.Remove(elsewhere)
		return os.WriteFile(elsewhere, good, 0o600)
	}
	for name, damage := range map[string]func() error{
		"another key":         func() error { return os.WriteFile(path, noise(5, keySize), 0o600) },
		"cut off":             func() error { return os.Truncate(path, 31) },
		"longer":              func() error { return os.Truncate(path, 33) },
		"zeros":               func() error { return os.WriteFile(path, make([]byte, keySize), 0o600) },
		"readable by others":  func() error { return os.Chmod(path, 0o604) },
		"readable by a group": func() error { return os.Chmod(path, 0o640) },
		"writable by others":  func() error { return os.Chmod(path, 0o602) },
		"not readable":        func() error { return os.Chmod(path, 0) },
		"link":                func() error { return errors.Join(keepElsewhere(), os.Remove(path), os.Symlink(elsewhere, path)) },
		"link to nothing":     func() error { return errors.Join(os.Remove(path), os.Symlink("nowhere", path)) },
		"second name":         func() error { return errors.Join(keepElsewhere(), os.Remove(path), os.Link(elsewhere, path)) },
		"pipe":                func() error { return errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)) },
		"folder":              func() error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"other user's":        func() error { return os.Chown(path, 12345, -1) },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "other user's" && os.Geteuid() != 0 {
				t.Skip("only root can give a file away")
			}
			var w warnings
			o := o
			o.Warn = w.add
			require.NoError(t, os.RemoveAll(path))
			require.NoError(t, os.WriteFile(path, good, 0o600))
			before, err := os.Open(path)
			require.NoError(t, err)
			defer before.Close()
			require.NoError(t, damage())
			m := openMap(t, o)
			require.True(t, m.Persistent())
			_, err = m.Load(Token{}, f.model, f.data)
			if name == "not readable" && os.Geteuid() == 0 { // for whom it is
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrRejected)
			if name != "another key" {
				require.Equal(t, 1, w.count())
				// Whoever has the old one open, or another name of it, sees nothing of the new one.
				old := make([]byte, keySize)
				_, _ = before.ReadAt(old, 0)
				require.NotEqual(t, m.key[:], old)
			}
			st, err := os.Lstat(path)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), st.Mode())
			require.NoError(t, checkOwn(st))
			require.Equal(t, m.key, openMap(t, o).key)
			if name == "link" || name == "second name" {
				left, err := os.ReadFile(elsewhere)
				require.NoError(t, err)
				require.Equal(t, good, left)
			}
			require.NoFileExists(t, filepath.Join(o.StateDir, "nowhere"))
		})
	}
}

// TestForeignDatabaseIsReplaced: what others could write to is not believed, and what it is a link to not
// changed.
func TestForeignDatabaseIsReplaced(t *testing.T) {
	for name, change := range map[string]func(path, other string) error{
		"writable by others": func(path, _ string) error { return os.Chmod(path, 0o606) },
		"second name":        os.Link,
		"other user's":       func(path, _ string) error { return os.Chown(path, 12345, -1) },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "other user's" && os.Geteuid() != 0 {
				t.Skip("only root can give a file away")
			}
			var w warnings
			o, f := options(t), newFiles(t, 1, 1)
			m := openMap(t, o)
			require.NoError(t, m.Save(Token{1}, noise(1, 10), nil, f.model, f.data))
			other := filepath.Join(t.TempDir(), "other")
			require.NoError(t, change(m.stateFile(), other))
			held, err := os.Open(m.stateFile())
			require.NoError(t, err)
			defer held.Close()
			before := content(t, held)

			o.Warn = w.add
			m = openMap(t, o)
			_, err = m.Load(Token{1}, f.model, f.data)
			require.ErrorIs(t, err, ErrMiss)
			require.NoError(t, m.Save(Token{2}, noise(1, 10), nil, f.model, f.data))
			require.Equal(t, 1, w.count())
			o.Warn = options(t).Warn
			e, err := openMap(t, o).Load(Token{2}, f.model, f.data)
			require.NoError(t, err)
			requireEntry(t, e, noise(1, 10), nil)
			after := make([]byte, len(before))
			_, err = held.ReadAt(after, 0)
			require.NoError(t, err)
			require.True(t, bytes.Equal(before, after), "the old file is as it was")
		})
	}
}

func TestForeignStateDirIsRefused(t *testing.T) {
	var w warnings
	o := options(t)
	o.Warn = w.add
	require.NoError(t, os.Mkdir(o.StateDir, 0o700))
	require.NoError(t, os.Chmod(o.StateDir, 0o777))
	s := openStore(t, o)
	require.False(t, s.Persistent())
	require.False(t, s.Enabled())
	require.Equal(t, 1, w.count())
	require.Empty(t, tree(t, o.StateDir))
	// In memory the HAL's form still works.
	f := newFiles(t, 1, 1)
	require.NoError(t, s.Save(Token{}, noise(1, 10), nil, f.model, f.data))
	e, err := s.Load(Token{}, f.model, f.data)
	require.NoError(t, err)
	requireEntry(t, e, noise(1, 10), nil)
}

// TestKeyOfManyProcesses starts processes at once in a directory without a key: all must agree on one.
func TestKeyOfManyProcesses(t *testing.T) {
	o := options(t)
	const n = 8
	out := make([][]byte, n)
	var wg sync.WaitGroup
	for i := range n {
		cmd := child(t, "key", o.StateDir)
		wg.Go(func() { out[i], _ = cmd.Output() })
	}
	wg.Wait()
	require.Len(t, out[0], 2*keySize)
	for i := range n {
		require.Equal(t, out[0], out[i])
	}
}

func init() {
	children["key"] = func(args []string) error {
		m, err := OpenHashMap(Options{StateDir: args[0]})
		if err == nil {
			fmt.Printf("%x", m.key)
		}
		return err
	}
}

func TestHashMapHammer(t *testing.T) {
	o := options(t)
	maps := []*HashMap{openMap(t, o), openMap(t, o)}
	var wg sync.WaitGroup
	for g := range 6 {
		f := newFiles(t, 1, 1)
		wg.Go(func() {
			m := maps[g%2]
			for i := range 8 {
				token, model := Token{byte(g)}, noise(uint64(i), 100)
				if err := m.Save(token, model, model, f.model, f.data); err != nil {
					t.Errorf("save: %v", err)
					continue
				}
				e, err := maps[(g+i)%2].Load(token, f.model, f.data)
				if err != nil {
					t.Errorf("load: %v", err)
					continue
				}
				if !bytes.Equal(e.Model, model) {
					t.Error("another model")
				}
				e.Close()
			}
		})
	}
	wg.Wait()
}

func TestOptionsOutOfRange(t *testing.T) {
	for _, change := range []func(*Options){
		func(o *Options) { o.ModelFiles = 33 }, func(o *Options) { o.DataFiles = -1 }, func(o *Options) { o.MaxEntries = -1 },
		func(o *Options) { o.MaxEntries = 1 << 20 }, func(o *Options) { o.MaxBytes = -1 }, func(o *Options) { o.MaxModelBytes = -1 },
		func(o *Options) { o.Identity.Device = string(make([]byte, maxIdentityBytes+1)) },
	} {
		o := options(t)
		change(&o)
		_, err := Open(o)
		require.ErrorIs(t, err, ErrInvalid)
		_, err = OpenHashMap(o)
		require.ErrorIs(t, err, ErrInvalid)
	}
}
