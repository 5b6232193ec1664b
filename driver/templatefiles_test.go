package driver_test

import (
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
)

// openBinary is binaryModel of open dimensions: x + 3 or x * 3.
func openBinary(op nn.OperationType) *nn.Model {
	m := binaryModel(op, 3)
	blankBinary(m)
	return m
}

// TestTemplateInTheTransparentCache: each instance has an entry, found by other templates and by other processes.
func TestTemplateInTheTransparentCache(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), newPhased()
	for run := range 3 {
		pm, err := openStoring(t, b, o).PrepareModel(t.Context(), openBinary(nn.OpAdd), driver.WithInstances(1))
		require.NoError(t, err)
		require.Equal(t, driver.CacheOff, pm.Cached())
		for _, n := range []uint32{5, 9, 5} {
			require.NoError(t, runLong(pm, n))
		}
		require.Equal(t, driver.CacheHit, pm.Cached(), "the third has room for one only")
		require.EqualValues(t, 2, b.optimised.Load(), "run %d", run)
		saved, err := pm.Saved()
		require.True(t, saved)
		require.NoError(t, err)
		require.NoError(t, pm.Close())
	}
	require.Zero(t, warned.Load())
	require.Zero(t, b.open.Load())
}

// TestTemplateInAFolder: each instance has files of its own.
func TestTemplateInAFolder(t *testing.T) {
	dir, b := t.TempDir(), newPhased()
	o := uncached
	o.StateDir = t.TempDir()
	require.NoError(t, os.Chmod(o.StateDir, 0o700))
	for run := range 2 {
		pm, err := openStoring(t, b, o).PrepareModel(t.Context(), openBinary(nn.OpAdd), driver.WithCaching(dir, cache.Token{1}))
		require.NoError(t, err)
		for i, n := range []uint32{5, 9} {
			require.NoError(t, runLong(pm, n))
			require.Equal(t, []driver.CacheStatus{driver.CacheMiss, driver.CacheHit}[run], pm.Cached())
			files, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, files, max(2*(i+1), 4*run))
		}
	}
	require.EqualValues(t, 2, b.optimised.Load())
}

// TestTemplateInCacheFiles: what a client's files bring back is a template, whose constants count in the client's budget.
func TestTemplateInCacheFiles(t *testing.T) {
	var warned atomic.Int32
	b := newPhased()
	c := openStoring(t, b, cacheOptions(t, &warned))
	model, data := cacheFile(t, "model"), cacheFile(t, "data")
	m := openBinary(nn.OpMul)
	m.Names = nn.Names{Inputs: []string{"x"}, Outputs: []string{"y"}}
	pm, err := c.PrepareModel(t.Context(), m, driver.WithCacheFiles(cache.Token{7}, model, data), driver.WithPriority(nn.PriorityLow))
	require.NoError(t, err)
	saved, err := pm.Saved()
	require.True(t, saved, "%v", err)
	require.NoError(t, pm.Close())
	require.Zero(t, b.optimised.Load())

	before := c.Memory()
	pm, err = c.PrepareModelFromCache(t.Context(), cache.Token{7}, model, data)
	require.NoError(t, err)
	require.Greater(t, c.Memory(), before)
	require.Equal(t, "x", pm.Inputs()[0].Name)
	require.Empty(t, pm.Outputs()[0].Dims)
	for _, n := range []uint32{2, 11} {
		in, out := make(nn.HostMemory, n), make(nn.HostMemory, n)
		in[n-1] = 7
		res, err := pm.Execute(t.Context(), &nn.Request{
			Inputs:  []nn.RequestArgument{{Location: nn.Location{Length: n}, Dims: nn.Dims{n}}},
			Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: n}}},
			Pools:   []nn.Memory{in, out},
		})
		require.NoError(t, err)
		require.Equal(t, nn.Dims{n}, res.Shapes[0].Dims)
		require.EqualValues(t, 21, out[n-1])
	}
	require.EqualValues(t, 2, b.optimised.Load())
	require.NoError(t, pm.Close())
	require.Equal(t, before, c.Memory())

	_, err = c.PrepareModelFromCache(t.Context(), cache.Token{8}, model, data)
	requireStatus(t, nn.StatusGeneralFailure, err)
	_, err = data[0].WriteAt([]byte{4}, 0)
	require.NoError(t, err)
	_, err = c.PrepareModelFromCache(t.Context(), cache.Token{7}, model, data)
	requireStatus(t, nn.StatusGeneralFailure, err)
	require.Equal(t, before, c.Memory())
}
