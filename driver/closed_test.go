package driver_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
	"github.com/nngpu/nngpu/memory"
)

// closedPools returns one of each sort, of 24 bytes, that is closed.
func closedPools(t *testing.T) map[string]nn.Memory {
	t.Helper()
	ashmem, err := memory.NewAshmem("test", 24)
	require.NoError(t, err)
	f, err := os.Create(filepath.Join(t.TempDir(), "pool"))
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, f.Truncate(24))
	file, err := memory.FromFile(f, memory.ProtRead|memory.ProtWrite, 0, 24)
	require.NoError(t, err)
	for _, p := range []memory.Pool{ashmem, file} {
		require.NoError(t, p.Close())
	}
	shared := &sharedPool{data: make([]byte, 24)}
	shared.Close()
	pools := map[string]nn.Memory{"mapped": ashmem, "file": file, "shared": shared}
	for name, x := range newFakes(t) {
		x.Close()
		pools[name] = x.pool
	}
	return pools
}

// TestClosedPoolsAreInvalid: whoever names a closed pool has made a mistake, unlike with one that cannot be mapped.
func TestClosedPoolsAreInvalid(t *testing.T) {
	requireClosed := func(t *testing.T, err error) {
		t.Helper()
		requireStatus(t, nn.StatusInvalidArgument, err)
		require.ErrorIs(t, err, driver.ErrClosed)
	}
	_, d, c := openImporting(t, &null.Backend{Compute: add})
	pm := prepareOn(t, c, addModel())
	buffer := allocate(t, c, nil, roleOf(pm, 0), roleOf(pm, 0))
	for name, pool := range closedPools(t) {
		t.Run(name, func(t *testing.T) {
			r := addRequest()
			r.Pools[0] = pool
			_, err := pm.Execute(t.Context(), r)
			requireClosed(t, err)
			_, err = pm.ExecuteAsync(t.Context(), r).Wait()
			requireClosed(t, err)
			_, err = pm.Burst().Execute(t.Context(), r, []int32{3})
			requireClosed(t, err)
			e, err := pm.ExecuteFenced(t.Context(), r, nil)
			require.NoError(t, err, "pools are mapped when the wait fences are signalled")
			requireClosed(t, e.Fence().Wait(t.Context()))

			r = addRequest() // an output alone
			r.Outputs[0].Location.PoolIndex = 1
			r.Pools = append(r.Pools, pool)
			_, err = pm.Execute(t.Context(), r)
			requireClosed(t, err)

			if _, mappable := pool.(nn.Shared); !mappable {
				return // it can hold no constants, open or closed
			}
			_, err = c.PrepareModel(t.Context(), constantModel(pool))
			requireClosed(t, err)
			_, _, err = d.SupportedOperations(constantModel(pool))
			requireClosed(t, err)
		})
	}
	six := &sharedPool{data: make([]byte, 6)}
	require.NoError(t, buffer.CopyFrom(t.Context(), six, nil))
	six.Close()
	requireClosed(t, buffer.CopyTo(t.Context(), six))
	requireClosed(t, buffer.CopyFrom(t.Context(), six, nil))
}

// TestClosedModelsAreNoRoles of a buffer.
func TestClosedModelsAreNoRoles(t *testing.T) {
	_, c := open(t, &null.Backend{})
	pm, other := prepareOn(t, c, addModel()), prepareOn(t, c, addModel())
	require.NoError(t, pm.Close())
	for _, lists := range [][2][]driver.BufferRole{
		{roleOf(pm, 0), nil},
		{nil, roleOf(pm, 0)},
		{roleOf(other, 0), roleOf(pm, 0)},
	} {
		b, err := c.Allocate(driver.BufferDesc{}, lists[0], lists[1])
		require.Nil(t, b)
		requireStatus(t, nn.StatusInvalidArgument, err)
		require.ErrorIs(t, err, driver.ErrClosed)
	}
	require.Zero(t, c.Memory())
}
