package cache

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestHostileTemporaryFolder: somebody who may write to the store's directory puts folders with links in the place of those
// that a Put fills. Nothing is written through the links.
func TestHostileTemporaryFolder(t *testing.T) {
	const text = "nobody else writes here"
	o := options(t)
	o.Warn = nil
	s := openStore(t, o)
	precious := filepath.Join(t.TempDir(), "precious")
	require.NoError(t, os.WriteFile(precious, []byte(text), 0o600))
	require.NoError(t, s.Put(key(0), "", nil, nil)) // makes the folders
	temps := filepath.Join(o.Dir, tempName)
	done := make(chan struct{})
	exchanged := 0
	var enemy sync.WaitGroup
	enemy.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			names, _ := os.ReadDir(temps)
			for _, e := range names {
				path := filepath.Join(temps, e.Name())
				if len(e.Name()) != 16 || os.Rename(path, filepath.Join(o.Dir, "away"+e.Name())) != nil || os.Mkdir(path, 0o700) != nil {
					continue
				}
				exchanged++
				for _, name := range []string{dataName, modelName} {
					_ = os.Symlink(precious, filepath.Join(path, name))
				}
			}
		}
	})
	data := noise(1, 4<<20)
	for i := range 30 {
		_ = s.Put(key(i), "", noise(2, 1000), data)
	}
	close(done)
	enemy.Wait()
	require.NotZero(t, exchanged)
	got, err := os.ReadFile(precious)
	require.NoError(t, err)
	require.Equal(t, text, string(got), "%d folders exchanged", exchanged)
}

// TestHostileStoreNeverWaits: pipes, links and files in the place of what a store makes cost the cache, and no time.
func TestHostileStoreNeverWaits(t *testing.T) {
	for _, name := range []string{lockName, tempName, short(testIdentity.Device)} {
		for kind, make := range map[string]func(path string) error{
			"pipe":   func(path string) error { return unix.Mkfifo(path, 0o600) },
			"file":   func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) },
			"link":   func(path string) error { return os.Symlink("/dev/tty", path) },
			"loop":   func(path string) error { return os.Symlink(path, path) },
			"folder": func(path string) error { return os.MkdirAll(filepath.Join(path, "x"), 0o700) },
		} {
			t.Run(name+" is a "+kind, func(t *testing.T) {
				o := options(t)
				o.Warn = nil
				require.NoError(t, os.Mkdir(o.Dir, 0o700))
				require.NoError(t, make(filepath.Join(o.Dir, name)))
				start := time.Now()
				_, errs := useAll(o, 1000, nil)
				for _, err := range errs {
					require.True(t, isKnown(err), "%v", err)
				}
				require.Less(t, time.Since(start), 10*time.Second)
			})
		}
	}
}

// TestModelFilesOfAnotherSize: what was not saved in that size is not even read.
func TestModelFilesOfAnotherSize(t *testing.T) {
	m, f := openMap(t, options(t)), newFiles(t, 1, 1)
	require.NoError(t, m.Save(Token{}, noise(1, 1000), nil, f.model, f.data))
	require.NoError(t, f.model[0].Truncate(200<<20)) // as many as are allowed
	r := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := m.Load(Token{}, f.model, f.data)
			require.ErrorIs(b, err, ErrRejected)
		}
	})
	require.Less(t, r.AllocedBytesPerOp(), int64(4<<20))
}

// TestRelativeStateDir: a program that goes elsewhere keeps its state where it was.
func TestRelativeStateDir(t *testing.T) {
	o, f := options(t), newFiles(t, 1, 1)
	t.Chdir(t.TempDir())
	o.StateDir = "state"
	m := openMap(t, o)
	here, err := filepath.Abs("state")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, m.Save(Token{}, noise(1, 10), nil, f.model, f.data))
	require.NoFileExists(t, filepath.Join("state", databaseName))
	o.StateDir = here
	_, err = openMap(t, o).Load(Token{}, f.model, f.data)
	require.NoError(t, err)
}
