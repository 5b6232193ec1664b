package driver_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

// names are the files of dir.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode())
		list = append(list, e.Name())
	}
	return list
}

func TestC23NamesOfCacheFiles(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), &storing{}
	seen := map[string]bool{}
	for i, opts := range [][]driver.Option{
		{driver.WithPreference(nn.FastSingleAnswer), driver.WithPriority(nn.PriorityMedium)},
		{driver.WithPreference(nn.LowPower)},
		{driver.WithPriority(nn.PriorityHigh)},
		nil, // the first again
	} {
		dir := t.TempDir()
		prepareCached(t, b, o, binaryModel(nn.OpAdd, 3), append(opts, driver.WithCaching(dir, cache.Token{1}))...)
		list := names(t, dir)
		require.Len(t, list, 2)
		pattern := regexp.MustCompile(`^([A-P]{64})([12])0$`)
		model, data := pattern.FindStringSubmatch(list[0]), pattern.FindStringSubmatch(list[1])
		require.Equal(t, []string{"1", "2"}, []string{model[2], data[2]})
		require.Equal(t, model[1], data[1])
		require.Equal(t, i == 3, seen[model[1]])
		seen[model[1]] = true
	}
	dir := t.TempDir()
	prepareCached(t, b, o, binaryModel(nn.OpAdd, 3), driver.WithCaching(dir, cache.Token{2}))
	require.False(t, seen[names(t, dir)[0][:64]], "another token")

	// SHA-256 of token, device, version, preference and priority, low nibble first.
	hash := cache.KeyOf(append([]byte{2}, make([]byte, 31)...), []byte("storing"), []byte("test"), []byte{1}, []byte{1})
	require.Equal(t, []byte{'A' + hash[0]&15, 'A' + hash[0]>>4}, []byte(names(t, dir)[0][:2]))
}

func TestC24Workflow(t *testing.T) {
	var warned atomic.Int32
	o, b, dir := cacheOptions(t, &warned), &storing{}, t.TempDir()
	token := cache.Token{7}
	step := func(want driver.CacheStatus, compiled, restored int32) {
		t.Helper()
		before := [2]int32{b.compiled.Load(), b.restored.Load()}
		status, result := prepareCached(t, b, o, binaryModel(nn.OpAdd, 3), driver.WithCaching(dir, token))
		require.Equal(t, want, status)
		require.Equal(t, byte(10), result)
		require.Equal(t, [2]int32{before[0] + compiled, before[1] + restored}, [2]int32{b.compiled.Load(), b.restored.Load()})
	}
	path := func(i int) string { return filepath.Join(dir, names(t, dir)[i]) }
	step(driver.CacheMiss, 1, 0) // no files: prepared with caching
	step(driver.CacheHit, 0, 1)  // loaded; the compiler is not asked
	for i := range 2 {           // a file is missing
		require.NoError(t, os.Remove(path(i)))
		step(driver.CacheMiss, 1, 0)
		step(driver.CacheHit, 0, 1)
	}
	content, err := os.ReadFile(path(0)) // the load fails
	require.NoError(t, err)
	content[len(content)/2] ^= 1
	require.NoError(t, os.WriteFile(path(0), content, 0o600))
	step(driver.CacheRejected, 1, 0)
	step(driver.CacheHit, 0, 1)
	require.NoError(t, os.RemoveAll(o.StateDir)) // nothing is known of the files
	step(driver.CacheMiss, 1, 0)
	step(driver.CacheHit, 0, 1)
	require.NoDirExists(t, o.Dir, "the transparent cache has no part in it")
	require.EqualValues(t, 1, warned.Load(), "of what was changed")

	// No token: no files.
	other := t.TempDir()
	prepareCached(t, b, o, binaryModel(nn.OpAdd, 3))
	require.Empty(t, names(t, other))
}

// TestC24DeviceWithoutCaching prepares as if nothing had been asked.
func TestC24DeviceWithoutCaching(t *testing.T) {
	_, c := open(t, &null.Backend{Compute: add})
	dir := t.TempDir()
	pm, err := c.PrepareModel(t.Context(), addModel(), driver.WithCaching(dir, cache.Token{1}))
	require.NoError(t, err)
	require.Equal(t, driver.CacheOff, pm.Cached())
	require.Empty(t, names(t, dir))
}

// TestC24OneTokenForTwoModels is the client's mistake; models of other inputs and outputs are told apart.
func TestC24OneTokenForTwoModels(t *testing.T) {
	var warned atomic.Int32
	o, b, dir := cacheOptions(t, &warned), &storing{}, t.TempDir()
	prepareCached(t, b, o, binaryModel(nn.OpAdd, 3), driver.WithCaching(dir, cache.Token{1}))
	other := binaryModel(nn.OpMul, 3)
	other.Main.Operands[0].Scale = 0.125
	status, result := prepareCached(t, b, o, other, driver.WithCaching(dir, cache.Token{1}))
	require.Equal(t, driver.CacheRejected, status)
	require.Equal(t, byte(21), result)
}

func TestCachingWhereNothingCanBeWritten(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), &storing{}
	c := openStoring(t, b, o)
	for range 2 {
		pm, err := c.PrepareModel(t.Context(), binaryModel(nn.OpAdd, 3), driver.WithCaching(filepath.Join(t.TempDir(), "absent"), cache.Token{1}))
		require.NoError(t, err)
		require.Equal(t, byte(10), runBinary(t, pm))
		require.Equal(t, driver.CacheMiss, pm.Cached())
	}
	require.EqualValues(t, 1, warned.Load())
}

func TestCachingEndsWithItsContext(t *testing.T) {
	var warned atomic.Int32
	o, b, dir := cacheOptions(t, &warned), &storing{}, t.TempDir()
	prepareCached(t, b, o, binaryModel(nn.OpAdd, 3), driver.WithCaching(dir, cache.Token{1}))
	b.restoreErr = context.DeadlineExceeded
	ctx, cancel := context.WithTimeout(t.Context(), -1)
	defer cancel()
	pm, err := openStoring(t, b, o).PrepareModel(ctx, binaryModel(nn.OpAdd, 3), driver.WithCaching(dir, cache.Token{1}))
	require.Nil(t, pm)
	requireStatus(t, nn.StatusMissedDeadlinePersistent, err)
}
