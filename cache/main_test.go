package cache

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// childEnv names what a process that a test started is to do instead of running tests.
const childEnv = "NNGPU_CACHE_TEST_CHILD"

// children are those tasks. They end the process with a message if something is wrong.
var children = map[string]func(args []string) error{}

func TestMain(m *testing.M) {
	if task := os.Getenv(childEnv); task != "" {
		if err := children[task](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child prepares this test binary to run a task in a process of its own.
func child(t testing.TB, task string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), childEnv+"="+task)
	cmd.Stderr = os.Stderr
	return cmd
}

var testIdentity = Identity{Device: "device 1", Build: "build 1"}

// warnings collects what Warn is told.
type warnings struct {
	mu   sync.Mutex
	errs []error
}

func (w *warnings) add(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs = append(w.errs, err)
}

func (w *warnings) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.errs)
}

// options are of a cache in fresh directories; any warning fails the test.
func options(t testing.TB) Options {
	dir := t.TempDir()
	return Options{
		Dir: filepath.Join(dir, "cache"), StateDir: filepath.Join(dir, "state"), Identity: testIdentity,
		Warn: func(err error) { t.Errorf("warning: %v", err) },
	}
}

func openMap(t testing.TB, o Options) *HashMap {
	t.Helper()
	m, err := OpenHashMap(o)
	require.NoError(t, err)
	return m
}

func openStore(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(o)
	require.NoError(t, err)
	return s
}

// files are the cache files of one entry, open for reading and writing.
type files struct {
	model, data []*os.File
	dir         string
}

func newFiles(t testing.TB, model, data int) *files {
	t.Helper()
	f := &files{dir: t.TempDir()}
	for i := range model {
		f.model = append(f.model, openRW(t, filepath.Join(f.dir, fmt.Sprintf("model%d", i))))
	}
	for i := range data {
		f.data = append(f.data, openRW(t, filepath.Join(f.dir, fmt.Sprintf("data%d", i))))
	}
	return f
}

func openRW(t testing.TB, path string) *os.File { return openMode(t, path, os.O_RDWR|os.O_CREATE) }

func openMode(t testing.TB, path string, flag int) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, flag, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// content is what is in a file now.
func content(t testing.TB, f *os.File) []byte {
	t.Helper()
	b, err := os.ReadFile(f.Name())
	require.NoError(t, err)
	return b
}

// overwrite replaces what is in a file, in place.
func overwrite(t testing.TB, f *os.File, b []byte) {
	t.Helper()
	require.NoError(t, f.Truncate(0))
	_, err := f.WriteAt(b, 0)
	require.NoError(t, err)
}

// noise is n bytes that depend on seed only.
func noise(seed uint64, n int) []byte {
	b := make([]byte, n)
	rng := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)})
	_, _ = rng.Read(b)
	return b
}

func dataOf(t testing.TB, e *Entry) []byte {
	t.Helper()
	b, err := io.ReadAll(io.NewSectionReader(e.Data, 0, e.Data.Size()))
	require.NoError(t, err)
	return b
}

// requireEntry wants e to hold model and data, and closes it.
func requireEntry(t testing.TB, e *Entry, model, data []byte) {
	t.Helper()
	require.True(t, bytes.Equal(model, e.Model), "model differs")
	require.Equal(t, int64(len(data)), e.Data.Size())
	require.True(t, bytes.Equal(data, dataOf(t, e)), "data differs")
	require.NoError(t, e.Close())
}

func soak() bool { return os.Getenv("NNGPU_SOAK") == "1" }

// tree lists every file below dir.
func tree(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && path != dir {
			out = append(out, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	}))
	return out
}
