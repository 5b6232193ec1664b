package command

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// digit is a command line that runs a small network; it must find a five.
func digit(t *testing.T, device string, flags ...string) (cacheStatus string, r result) {
	t.Helper()
	args := []string{"run", example(t, "digits_s8.tflite"), "-i", example(t, "samples/5.png"), "--device", device, "--json"}
	r = ok(t, append(args, flags...)...)
	v := decodeRun(t, r)
	require.Equal(t, 5, v.Top[0].Index)
	return v.Cache, r
}

// cacheFlags are folders of the test's own.
func cacheFlags(t *testing.T) (flags []string, cache, state string) {
	t.Helper()
	dir := t.TempDir()
	cache, state = filepath.Join(dir, "cache"), filepath.Join(dir, "state")
	return []string{"--cache-dir", cache, "--state-dir", state}, cache, state
}

func TestSecondRunIsAHit(t *testing.T) {
	eachDevice(t, func(t *testing.T, device string) {
		flags, _, _ := cacheFlags(t)
		for _, want := range []string{"miss", "hit", "hit"} {
			status, r := digit(t, device, flags...)
			require.Equal(t, want, status)
			require.Empty(t, r.stderr)
		}
	})
}

// TestDamagedEntryIsCompiledAnew flips a bit in every file of the cache.
func TestDamagedEntryIsCompiledAnew(t *testing.T) {
	device := anyDevice(t)
	flags, cache, _ := cacheFlags(t)
	digit(t, device, flags...)
	flipBits(t, cache)
	status, r := digit(t, device, flags...)
	require.Equal(t, "rejected", status)
	require.Contains(t, r.stderr, "warning: a compiled model was refused by the cache and is compiled anew")
	status, r = digit(t, device, flags...)
	require.Equal(t, "hit", status)
	require.Empty(t, r.stderr)
}

// flipBits damages all model and data files below dir.
func flipBits(t *testing.T, dir string) {
	t.Helper()
	n := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != "model" && e.Name() != "data" {
			return err
		}
		b := read(t, path)
		b[len(b)/2] ^= 1
		n++
		return os.WriteFile(path, b, 0o600)
	}))
	require.Positive(t, n)
}

func TestNoCache(t *testing.T) {
	flags, cache, state := cacheFlags(t)
	for range 2 {
		status, _ := digit(t, anyDevice(t), append(flags, "--no-cache")...)
		require.Equal(t, "off", status)
	}
	require.NoDirExists(t, cache)
	require.NoDirExists(t, state)
}

// TestResultsDoNotComeFromTheCache: verify compares what this program compiles.
func TestResultsDoNotComeFromTheCache(t *testing.T) {
	_, cache, _ := cacheFlags(t)
	(&call{args: []string{"verify", t.TempDir(), "--cache-dir", cache}}).run(t)
	require.NoDirExists(t, cache)
}

// dataHome is where drivers may be installed for the user who runs the tests.
func dataHome() string {
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(os.Getenv("HOME"), ".local", "share")
}

// TestCacheCannotBeWritten: the model runs, with one line of warning and exit code 0.
func TestCacheCannotBeWritten(t *testing.T) {
	device := anyDevice(t)
	file := write(t, filepath.Join(t.TempDir(), "file"), []byte("x"))
	good := filepath.Join(t.TempDir(), "good")
	for name, tc := range map[string]struct{ flags, env []string }{
		"cache is a file":         {[]string{"--cache-dir", file, "--state-dir", good}, nil},
		"cache lies below a file": {[]string{"--cache-dir", file + "/x", "--state-dir", good}, nil},
		"state is a file":         {[]string{"--cache-dir", good, "--state-dir", file}, nil},
		"read-only file system":   {[]string{"--cache-dir", "/proc/nngpu", "--state-dir", good}, nil},
		"no home":                 {nil, []string{"HOME=", "XDG_CACHE_HOME=", "XDG_STATE_HOME=", "XDG_DATA_HOME=" + dataHome()}},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"run", example(t, "digits_s8.tflite"), "-i", example(t, "samples/5.png"), "--device", device, "--json"}
			r := (&call{args: append(args, tc.flags...), env: tc.env}).run(t)
			require.Equal(t, right, r.code, r.stderr)
			require.Equal(t, 5, decodeRun(t, r).Top[0].Index)
			require.Regexp(t, `\Anngpu: warning: [^\n]+\n\z`, r.stderr)
		})
	}
}
