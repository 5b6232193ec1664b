package driver_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/gpu/null"
)

// background is a staged model on a backend whose fences wait for Gate, with what the compiler did so far.
func background(t *testing.T, pieces int) (b *null.Backend, d *driver.Device, pm *driver.PreparedModel) {
	t.Helper()
	b = &null.Backend{Compute: add, Gate: make(chan struct{}), Quick: true, Pieces: pieces}
	d = driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
	c, err := d.NewClient("test")
	require.NoError(t, err)
	pm, err = c.PrepareModel(context.Background(), addModel(), driver.WithStagedCompilation(0))
	require.NoError(t, err)
	require.True(t, pm.Stats().Quick)
	return b, d, pm
}

// TestStagedWaitsForTheFirstResult: whoever prepared a model has the device and the processors for its first
// execution, for a second at most.
func TestStagedWaitsForTheFirstResult(t *testing.T) {
	t.Run("none comes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, d, pm := background(t, 1)
			time.Sleep(time.Second - ms)
			synctest.Wait()
			require.Equal(t, 1, count(b.Calls(), "compile"))
			time.Sleep(ms)
			synctest.Wait()
			require.False(t, pm.Stats().Quick)
			require.NoError(t, d.Close())
		})
	})
	t.Run("it takes longer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, d, pm := background(t, 1)
			time.Sleep(900 * ms)
			e := pm.ExecuteAsync(context.Background(), addRequest())
			time.Sleep(900 * ms)
			synctest.Wait()
			require.Equal(t, 1, count(b.Calls(), "compile"))
			close(b.Gate)
			_, err := e.Wait()
			require.NoError(t, err)
			synctest.Wait()
			require.False(t, pm.Stats().Quick)
			require.NoError(t, d.Close())
		})
	})
	t.Run("closed before", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, d, _ := background(t, 1)
			require.NoError(t, d.Close())
			time.Sleep(time.Minute)
			require.Equal(t, 1, count(b.Calls(), "compile"))
		})
	})
}

// TestStagedGivesWay: no piece of work begins in the background while an execution waits or runs, but for one a second
// where that never ends.
func TestStagedGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, d, pm := background(t, 10)
		run := func() *driver.Execution {
			e := pm.ExecuteAsync(context.Background(), addRequest())
			synctest.Wait()
			return e
		}
		pieces := func() int {
			synctest.Wait()
			return count(b.Calls(), "piece")
		}
		end := func(e *driver.Execution) {
			b.Gate <- struct{}{}
			_, err := e.Wait()
			require.NoError(t, err)
		}
		first, second := run(), run()
		time.Sleep(500 * ms)
		end(first) // the second was there before it ended
		require.Zero(t, pieces())
		time.Sleep(900 * ms)
		require.Equal(t, 1, count(b.Calls(), "compile"))
		time.Sleep(200 * ms) // it has waited for a second, and then the first piece does
		require.Equal(t, 2, count(b.Calls(), "compile"))
		require.Zero(t, pieces())
		time.Sleep(3500 * ms)
		require.Equal(t, 3, pieces(), "one a second")
		require.True(t, pm.Stats().Quick)
		end(second)
		require.Equal(t, 10, pieces(), "nobody is there")
		require.False(t, pm.Stats().Quick)
		close(b.Gate)
		require.NoError(t, d.Close())
	})
}

// TestStagedInFullAtOnce: where the backend has no quick form nothing is compiled twice.
func TestStagedInFullAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &null.Backend{Compute: add, Pieces: 1}
		d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
		c, err := d.NewClient("test")
		require.NoError(t, err)
		pm, err := c.PrepareModel(context.Background(), addModel(), driver.WithStagedCompilation(0))
		require.NoError(t, err)
		require.False(t, pm.Stats().Quick)
		for range 3 {
			_, err := pm.Execute(context.Background(), addRequest())
			require.NoError(t, err)
			time.Sleep(time.Minute)
		}
		require.Equal(t, 1, count(b.Calls(), "compile"))
		require.Zero(t, count(b.Calls(), "piece"), "it is not in the background")
		m := d.Metrics()
		require.EqualValues(t, 1, m.Compile.Count)
		require.Zero(t, m.QuickCompile.Count)
		require.NoError(t, d.Close())
	})
}
