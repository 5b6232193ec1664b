package driver_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
)

// prepareCached prepares m on a new device and returns what the cache did and the result for 7.
func prepareCached(t *testing.T, b *storing, o storingOptions, m *nn.Model, opts ...driver.Option) (driver.CacheStatus, byte) {
	t.Helper()
	pm, err := openStoring(t, b, o).PrepareModel(t.Context(), m, opts...)
	require.NoError(t, err)
	result := runBinary(t, pm)
	require.NoError(t, pm.Close())
	require.Zero(t, b.open.Load(), "an executable was not closed")
	return pm.Cached(), result
}

func TestCacheMissThenHit(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), &storing{}
	for i, want := range []driver.CacheStatus{driver.CacheMiss, driver.CacheHit, driver.CacheHit} {
		status, result := prepareCached(t, b, o, binaryModel(nn.OpAdd, 3))
		require.Equal(t, want, status)
		require.Equal(t, byte(10), result)
		require.EqualValues(t, 1, b.compiled.Load(), "a hit needs no compiler")
		require.EqualValues(t, i, b.restored.Load())
	}
	require.Zero(t, warned.Load())
}

// TestCacheKey: whatever changes the compiled form changes the key.
func TestCacheKey(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), &storing{}
	relaxed := binaryModel(nn.OpAdd, 3)
	relaxed.RelaxFloat32 = true
	scaled := binaryModel(nn.OpAdd, 3)
	scaled.Main.Operands[0].Scale = 0.25
	zero := binaryModel(nn.OpAdd, 3)
	zero.Main.Operands[0].ZeroPoint = 1
	for _, tc := range []struct {
		name   string
		m      *nn.Model
		opts   []driver.Option
		result byte
	}{
		{"plain", binaryModel(nn.OpAdd, 3), nil, 10},
		{"constant", binaryModel(nn.OpAdd, 4), nil, 11},
		{"operation", binaryModel(nn.OpMul, 3), nil, 21},
		{"relaxed", relaxed, nil, 10},
		{"scale", scaled, nil, 10},
		{"zero point", zero, nil, 10},
		{"preference", binaryModel(nn.OpAdd, 3), []driver.Option{driver.WithPreference(nn.LowPower)}, 10},
	} {
		status, result := prepareCached(t, b, o, tc.m, tc.opts...)
		require.Equal(t, driver.CacheMiss, status, tc.name)
		require.Equal(t, tc.result, result, tc.name)
		status, result = prepareCached(t, b, o, tc.m, tc.opts...)
		require.Equal(t, driver.CacheHit, status, tc.name)
		require.Equal(t, tc.result, result, tc.name)
	}
	t.Run("identity", func(t *testing.T) {
		status, _ := prepareCached(t, &storing{identity: "next version"}, o, binaryModel(nn.OpAdd, 3))
		require.Equal(t, driver.CacheMiss, status)
	})
}

// TestCacheKeyIsOfContent: where the constants lie does not count, nor does the priority.
func TestCacheKeyIsOfContent(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), &storing{}
	status, _ := prepareCached(t, b, o, binaryModel(nn.OpAdd, 3))
	require.Equal(t, driver.CacheMiss, status)
	m := binaryModel(nn.OpAdd, 3)
	for i := range m.Main.Operands {
		c := &m.Main.Operands[i]
		if c.Lifetime != nn.ConstantCopy {
			continue
		}
		value, err := m.Value(c)
		require.NoError(t, err)
		m.Pools = append(m.Pools, append(make(nn.HostMemory, 8), value...))
		c.Lifetime = nn.ConstantReference
		c.Location = nn.Location{PoolIndex: uint32(len(m.Pools) - 1), Offset: 8, Length: uint32(len(value))}
	}
	m.Values = nil
	status, result := prepareCached(t, b, o, m, driver.WithPriority(nn.PriorityHigh))
	require.Equal(t, driver.CacheHit, status)
	require.Equal(t, byte(10), result)
}

// TestCacheRejectsDamage damages each file of an entry in turn; the model is compiled anew and kept anew.
func TestCacheRejectsDamage(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), &storing{}
	m := binaryModel(nn.OpAdd, 3)
	status, _ := prepareCached(t, b, o, m)
	require.Equal(t, driver.CacheMiss, status)
	for name, damage := range map[string]func(b []byte) []byte{
		"bit":    func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
		"longer": func(b []byte) []byte { return append(b, 0) },
		"cut":    func(b []byte) []byte { return b[:len(b)-1] },
		"empty":  func([]byte) []byte { return nil },
	} {
		for _, file := range []string{"model", "data"} {
			damageEntries(t, o.Dir, file, damage)
			status, result := prepareCached(t, b, o, m)
			require.Equal(t, driver.CacheRejected, status, "%s: %s", file, name)
			require.Equal(t, byte(10), result)
			status, _ = prepareCached(t, b, o, m)
			require.Equal(t, driver.CacheHit, status, "it was kept anew")
		}
	}
}

// damageEntries changes all files of that name below dir.
func damageEntries(t *testing.T, dir, name string, damage func([]byte) []byte) {
	t.Helper()
	n := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() != name {
			return err
		}
		n++
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, damage(content), 0o600)
	}))
	require.Positive(t, n)
}

// TestCacheRestoreFails: verified content that the backend cannot use is compiled anew; only a device that has
// run out of something says so.
func TestCacheRestoreFails(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), &storing{}
	prepareCached(t, b, o, binaryModel(nn.OpAdd, 3))
	b.restoreErr = errors.New("cannot read it")
	status, result := prepareCached(t, b, o, binaryModel(nn.OpAdd, 3))
	require.Equal(t, driver.CacheRejected, status)
	require.Equal(t, byte(10), result)
	b.restoreErr = nn.Errorf(nn.StatusResourceExhaustedTransient, "memory", "none left")
	pm, err := openStoring(t, b, o).PrepareModel(t.Context(), binaryModel(nn.OpAdd, 3))
	require.Nil(t, pm)
	requireStatus(t, nn.StatusResourceExhaustedTransient, err)
	require.EqualValues(t, 2, b.compiled.Load())
}

func TestCacheOff(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), &storing{}
	o.Off = true
	for range 2 {
		status, result := prepareCached(t, b, o, binaryModel(nn.OpAdd, 3))
		require.Equal(t, driver.CacheOff, status)
		require.Equal(t, byte(10), result)
	}
	require.EqualValues(t, 2, b.compiled.Load())
	require.NoDirExists(t, o.Dir)
	require.NoDirExists(t, o.StateDir)
}

// TestCacheBadSurroundings: where nothing can be kept, models run all the same, with one warning a device.
func TestCacheBadSurroundings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	for name, set := range map[string]func(*testing.T, *storingOptions, *storing){
		"cache is a file":          func(_ *testing.T, o *storingOptions, _ *storing) { o.Dir = file },
		"cache lies below a file":  func(_ *testing.T, o *storingOptions, _ *storing) { o.Dir = filepath.Join(file, "x") },
		"state is a file":          func(_ *testing.T, o *storingOptions, _ *storing) { o.StateDir = file },
		"state lies below a file":  func(_ *testing.T, o *storingOptions, _ *storing) { o.StateDir = filepath.Join(file, "x") },
		"the backend cannot store": func(_ *testing.T, _ *storingOptions, b *storing) { b.storeErr = errors.New("no") },
		"too small":                func(_ *testing.T, o *storingOptions, _ *storing) { o.MaxBytes = 1 },
		"no home": func(t *testing.T, o *storingOptions, _ *storing) {
			for _, v := range []string{"HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"} {
				t.Setenv(v, "")
			}
			o.Dir, o.StateDir = "", ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			var warned atomic.Int32
			o, b := cacheOptions(t, &warned), &storing{}
			set(t, &o, b)
			c := openStoring(t, b, o)
			for range 3 {
				pm, err := c.PrepareModel(t.Context(), binaryModel(nn.OpAdd, 3))
				require.NoError(t, err)
				require.Equal(t, byte(10), runBinary(t, pm))
				require.NotEqual(t, driver.CacheHit, pm.Cached())
			}
			require.EqualValues(t, 1, warned.Load())
		})
	}
}

// TestCacheFromManyGoroutines: devices that share folders give right results at the same time.
func TestCacheFromManyGoroutines(t *testing.T) {
	var warned atomic.Int32
	o := cacheOptions(t, &warned)
	var wg sync.WaitGroup
	for i := range 4 {
		c := openStoring(t, &storing{}, o)
		wg.Go(func() {
			for k := range 25 {
				constant := byte((i + k) % 5)
				pm, err := c.PrepareModel(t.Context(), binaryModel(nn.OpAdd, constant))
				if err != nil {
					t.Error(err)
					return
				}
				out := pm.NewOutputs()
				if _, err := pm.Run(t.Context(), [][]byte{{7, 7, 7, 7, 7}}, out); err != nil || out[0][0] != 7+constant {
					t.Errorf("7 + %d is %d: %v", constant, out[0][0], err)
				}
			}
		})
	}
	wg.Wait()
	require.Zero(t, warned.Load())
}
