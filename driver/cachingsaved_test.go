package driver_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

// requireSaved wants the model kept, or for want not nil not kept for that reason.
func requireSaved(t *testing.T, pm *driver.PreparedModel, want error) {
	t.Helper()
	saved, err := pm.Saved()
	require.Equal(t, want == nil, saved, "%v", err)
	if want == nil {
		require.NoError(t, err)
	} else {
		require.ErrorIs(t, err, want)
	}
}

func requireNotAsked(t *testing.T, pm *driver.PreparedModel) {
	t.Helper()
	saved, err := pm.Saved()
	require.False(t, saved)
	require.NoError(t, err)
}

// TestSavedInFiles: what became of saving to cache files can be asked for; the preparation succeeds all the same.
func TestSavedInFiles(t *testing.T) {
	broken := errors.New("cannot be stored")
	openAs := func(t *testing.T, flag int) []*os.File {
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		f, err := os.OpenFile(path, flag, 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		return []*os.File{f}
	}
	for name, tc := range map[string]struct {
		model, data []*os.File
		storeErr    error
		want        error
	}{
		"saved":          {cacheFile(t, "m"), cacheFile(t, "d"), nil, nil},
		"one too many":   {append(cacheFile(t, "m"), cacheFile(t, "n")...), cacheFile(t, "d"), nil, cache.ErrInvalid},
		"no data file":   {cacheFile(t, "m"), nil, nil, cache.ErrInvalid},
		"nil":            {[]*os.File{nil}, cacheFile(t, "d"), nil, cache.ErrInvalid},
		"read-only":      {cacheFile(t, "m"), openAs(t, os.O_RDONLY), nil, cache.ErrUnusable},
		"write-only":     {openAs(t, os.O_WRONLY), cacheFile(t, "d"), nil, cache.ErrUnusable},
		"full disk":      {fullDisk(t), cacheFile(t, "d"), nil, cache.ErrUnusable},
		"backend cannot": {cacheFile(t, "m"), cacheFile(t, "d"), broken, broken},
	} {
		for _, delayed := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				var warned atomic.Int32
				c := openStoring(t, &storing{storeErr: tc.storeErr}, cacheOptions(t, &warned))
				opts := []driver.Option{driver.WithCacheFiles(cache.Token{1}, tc.model, tc.data)}
				if delayed {
					opts = append(opts, driver.WithDelayedCompilation())
				}
				pm, err := c.PrepareModel(t.Context(), binaryModel(nn.OpAdd, 3), opts...)
				require.NoError(t, err)
				if delayed && !errors.Is(tc.want, cache.ErrInvalid) {
					requireNotAsked(t, pm)
				}
				require.Equal(t, byte(10), runBinary(t, pm))
				requireSaved(t, pm, tc.want)
				loaded, err := c.PrepareModelFromCache(t.Context(), cache.Token{1}, tc.model, tc.data)
				require.Equal(t, tc.want == nil, err == nil, "%v", err)
				if err == nil {
					requireSaved(t, loaded, nil)
				}
			})
		}
	}
}

// TestSavedElsewhere: in the transparent cache and in folders, when it was put there and when it came from there.
func TestSavedElsewhere(t *testing.T) {
	var warned atomic.Int32
	o, dir := cacheOptions(t, &warned), t.TempDir()
	prepare := func(o storingOptions, opts ...driver.Option) *driver.PreparedModel {
		t.Helper()
		pm, err := openStoring(t, &storing{}, o).PrepareModel(t.Context(), binaryModel(nn.OpAdd, 3), opts...)
		require.NoError(t, err)
		return pm
	}
	for range 2 {
		requireSaved(t, prepare(o), nil)
		requireSaved(t, prepare(o, driver.WithCaching(dir, cache.Token{1})), nil)
	}
	require.Zero(t, warned.Load())
	_, err := prepare(o, driver.WithCaching(filepath.Join(dir, "absent"), cache.Token{1})).Saved()
	require.ErrorIs(t, err, os.ErrNotExist)

	small := o
	small.MaxBytes = 10
	requireSaved(t, prepare(small, driver.WithPreference(nn.LowPower)), cache.ErrInvalid)
	off := o
	off.Off = true
	requireNotAsked(t, prepare(off))
	homeless := o
	homeless.StateDir = "/dev/null/state"
	requireSaved(t, prepare(homeless), cache.ErrUnavailable)
}

// TestSavedByABackendThatCannot: only who asked for files is told.
func TestSavedByABackendThatCannot(t *testing.T) {
	_, c := open(t, &null.Backend{Compute: add})
	pm, err := c.PrepareModel(t.Context(), addModel())
	require.NoError(t, err)
	requireNotAsked(t, pm)
	pm, err = c.PrepareModel(t.Context(), addModel(), driver.WithCacheFiles(cache.Token{1}, cacheFile(t, "m"), cacheFile(t, "d")))
	require.NoError(t, err)
	saved, err := pm.Saved()
	require.False(t, saved)
	require.ErrorContains(t, err, "does not store")
}

// TestSavedInStages: the optimised form counts as soon as it is there.
func TestSavedInStages(t *testing.T) {
	var warned atomic.Int32
	fd, err := unix.MemfdCreate("data", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	require.NoError(t, err)
	data := os.NewFile(uintptr(fd), "data")
	defer data.Close()
	c := openStoring(t, newPhased(), cacheOptions(t, &warned))
	pm, err := c.PrepareModel(t.Context(), binaryModel(nn.OpAdd, 3), driver.WithStagedCompilation(1),
		driver.WithCacheFiles(cache.Token{1}, cacheFile(t, "m"), []*os.File{data}))
	require.NoError(t, err)
	requireSaved(t, pm, nil)
	_, err = unix.FcntlInt(data.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
	require.NoError(t, err)
	runBinary(t, pm) // and the optimised form is compiled
	require.Eventually(t, func() bool {
		_, err := pm.Saved()
		return err != nil
	}, 10*time.Second, time.Millisecond)
	requireSaved(t, pm, cache.ErrUnavailable)
}
