package cache

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHugeFilesDoNotLiftTheBound: files of nothing but holes, whose sizes add up to more than 63 bits can count, neither
// turn the bound off nor push out what was put. Where no file can be as large, they are as large as it gets.
func TestHugeFilesDoNotLiftTheBound(t *testing.T) {
	o := options(t)
	if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() { // file systems of disks have no files as large
		if dir, err := os.MkdirTemp("/dev/shm", "nngpu-cache-test-"); err == nil {
			t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
			o.Dir = dir
		}
	}
	o.MaxBytes = 50_000
	s := openStore(t, o)
	for i := range 4 {
		require.NoError(t, s.Put(key(i), "", nil, noise(uint64(i), 10_000)))
	}
	size := int64(math.MaxInt64)
	for i := range 3 {
		dir := filepath.Join(s.dir, s.ID(key(100+i)))
		require.NoError(t, os.Mkdir(dir, 0o700))
		for _, name := range []string{modelName, dataName} {
			path := filepath.Join(dir, name)
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			for os.Truncate(path, size) != nil {
				size /= 2
				require.Greater(t, size, o.MaxBytes)
			}
			later := time.Now().Add(time.Hour)
			require.NoError(t, os.Chtimes(path, later, later))
		}
	}
	st, err := s.Stats()
	require.NoError(t, err)
	require.GreaterOrEqual(t, st.Bytes, size)
	require.NoError(t, s.Put(key(4), "", nil, noise(4, 10_000)))
	st, err = s.Stats()
	require.NoError(t, err)
	require.LessOrEqual(t, st.Bytes, o.MaxBytes)
	require.Equal(t, 4, st.Entries, "the oldest made room for the newest")
	_, err = s.Get(key(1))
	require.NoError(t, err)
}

// TestCleanStaysInTheFolder: what a link in place of the folder of temporary ones leads to is not touched, nor what a
// link in it leads to.
func TestCleanStaysInTheFolder(t *testing.T) {
	s := openStore(t, options(t))
	require.NoError(t, s.Put(key(1), "", nil, nil))
	outside := t.TempDir()
	kept := filepath.Join(outside, "kept")
	require.NoError(t, os.Mkdir(kept, 0o700))
	tmp := filepath.Join(s.dir, tempName)
	require.NoError(t, os.Symlink(kept, filepath.Join(tmp, "link")))
	n, err := s.Clean()
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, os.RemoveAll(tmp))
	require.NoError(t, os.Symlink(outside, tmp))
	n, err = s.Clean()
	require.NoError(t, err)
	require.Zero(t, n)
	require.DirExists(t, kept)
}
