package driver_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

func count(calls []string, what string) (n int) {
	for _, c := range calls {
		if c == what {
			n++
		}
	}
	return n
}

// start makes a device, a client and a prepared model on b.
func start(t *testing.T, b *null.Backend) (*driver.Device, *driver.Client, *driver.PreparedModel) {
	t.Helper()
	d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
	c, err := d.NewClient("test")
	require.NoError(t, err)
	require.Equal(t, "test", c.Identity())
	pm, err := c.PrepareModel(context.Background(), addModel())
	require.NoError(t, err)
	return d, c, pm
}

func TestX2CallsOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &null.Backend{Gate: make(chan struct{}), Compute: add}
		d, _, pm := start(t, b)
		const calls = 8
		var wg sync.WaitGroup
		for range calls {
			wg.Go(func() {
				_, err := pm.Execute(context.Background(), addRequest())
				require.NoError(t, err)
			})
		}
		e := pm.ExecuteAsync(context.Background(), addRequest())
		synctest.Wait()
		require.Equal(t, 1, count(b.Calls(), "submit"), "one at a time on the device")
		require.Zero(t, count(b.Calls(), "finish"))
		select {
		case <-e.Done():
			t.Error("an execution ended that nothing computed")
		default:
		}
		close(b.Gate)
		wg.Wait()
		res, err := e.Wait()
		require.NoError(t, err)
		require.Len(t, res.Shapes, 1)
		<-e.Done()
		require.NoError(t, d.Close())
	})
}

func TestCancelEndsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &null.Backend{Gate: make(chan struct{})}
		d, _, pm := start(t, b)
		ctx, cancel := context.WithCancel(context.Background())
		e := pm.ExecuteAsync(ctx, addRequest())
		synctest.Wait()
		waiting := pm.ExecuteAsync(ctx, addRequest())
		synctest.Wait()
		cancel()
		res, err := waiting.Wait() // at once: the device has nothing of it
		require.Nil(t, res)
		require.ErrorIs(t, err, context.Canceled)
		requireStatus(t, nn.StatusGeneralFailure, err)
		require.Equal(t, []string{"compile", "begin", "submit", "begin", "release"}, b.Calls())
		close(b.Gate) // what the device has is waited for, and then it may as well be right
		_, err = e.Wait()
		require.NoError(t, err)
		require.NoError(t, d.Close())
	})
}

func TestDeadlineEndsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &null.Backend{Gate: make(chan struct{})}
		d, _, pm := start(t, b)
		first := pm.ExecuteAsync(context.Background(), addRequest())
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := pm.Execute(ctx, addRequest())
		requireStatus(t, nn.StatusMissedDeadlineTransient, err)
		require.Equal(t, time.Second, time.Since(began))
		close(b.Gate)
		_, err = first.Wait()
		require.NoError(t, err)
		require.NoError(t, d.Close())
	})
}

func TestCloseGoesDownwardsAndOnce(t *testing.T) {
	b := &null.Backend{}
	d, c, pm := start(t, b)
	_, err := pm.Execute(t.Context(), addRequest())
	require.NoError(t, err)
	other, err := c.PrepareModel(t.Context(), addModel())
	require.NoError(t, err)
	require.NoError(t, other.Close())
	require.NoError(t, other.Close())
	want := []string{"compile", "begin", "submit", "finish", "release", "compile", "close executable"}
	require.Equal(t, want, b.Calls())
	for range 2 {
		require.NoError(t, d.Close())
		require.NoError(t, c.Close())
		require.NoError(t, pm.Close())
	}
	require.Equal(t, append(want, "close executable", "close"), b.Calls())
}

func TestClosingAClientLeavesTheOthers(t *testing.T) {
	b := &null.Backend{}
	d, c, pm := start(t, b)
	other, err := d.NewClient("other")
	require.NoError(t, err)
	theirs, err := other.PrepareModel(t.Context(), addModel())
	require.NoError(t, err)
	require.NoError(t, c.Close())
	_, err = pm.Execute(t.Context(), addRequest())
	require.ErrorIs(t, err, driver.ErrClosed)
	_, err = theirs.Execute(t.Context(), addRequest())
	require.NoError(t, err)
	require.NoError(t, d.Close())
	require.Equal(t, 2, count(b.Calls(), "close executable"))
}

func TestClosedThingsRefuseEveryCall(t *testing.T) {
	refused := func(t *testing.T, err error) {
		t.Helper()
		require.ErrorIs(t, err, driver.ErrClosed)
		requireStatus(t, nn.StatusGeneralFailure, err)
	}
	executions := func(t *testing.T, pm *driver.PreparedModel) {
		t.Helper()
		res, err := pm.Execute(t.Context(), addRequest())
		require.Nil(t, res)
		refused(t, err)
		res, err = pm.ExecuteAsync(t.Context(), addRequest()).Wait()
		require.Nil(t, res)
		refused(t, err)
		_, err = pm.Run(t.Context(), make([][]byte, 2), pm.NewOutputs())
		refused(t, err)
	}
	t.Run("prepared model", func(t *testing.T) {
		b := &null.Backend{}
		d, c, pm := start(t, b)
		require.NoError(t, pm.Close())
		executions(t, pm)
		_, err := c.PrepareModel(t.Context(), addModel())
		require.NoError(t, err)
		require.Zero(t, count(b.Calls(), "begin"))
		require.NoError(t, d.Close())
	})
	t.Run("client", func(t *testing.T) {
		b := &null.Backend{}
		d, c, pm := start(t, b)
		require.NoError(t, c.Close())
		executions(t, pm)
		_, err := c.PrepareModel(t.Context(), addModel())
		refused(t, err)
		_, _, err = d.SupportedOperations(addModel())
		require.NoError(t, err)
		require.Equal(t, []string{"compile", "close executable"}, b.Calls())
		require.NoError(t, d.Close())
	})
	t.Run("device", func(t *testing.T) {
		b := &null.Backend{}
		d, c, pm := start(t, b)
		require.NoError(t, d.Close())
		executions(t, pm)
		_, err := c.PrepareModel(t.Context(), addModel())
		refused(t, err)
		_, _, err = d.SupportedOperations(addModel())
		refused(t, err)
		_, err = d.NewClient("late")
		refused(t, err)
		require.Equal(t, []string{"compile", "close executable", "close"}, b.Calls())
	})
}

func TestCloseWaitsForExecutions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &null.Backend{Gate: make(chan struct{})}
		d, _, pm := start(t, b)
		e := pm.ExecuteAsync(context.Background(), addRequest())
		done := make(chan error)
		go func() { done <- d.Close() }()
		synctest.Wait()
		require.Zero(t, count(b.Calls(), "close executable"))
		_, err := pm.Execute(context.Background(), addRequest())
		require.ErrorIs(t, err, driver.ErrClosed)
		close(b.Gate)
		require.NoError(t, <-done)
		_, err = e.Wait()
		require.NoError(t, err)
		require.Equal(t, []string{"compile", "begin", "submit", "finish", "release", "close executable", "close"}, b.Calls())
	})
}

// TestCloseWaitsForCompilations: what is compiled meanwhile is freed before the device.
func TestCloseWaitsForCompilations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &null.Backend{Hold: make(chan struct{})}
		d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
		c, err := d.NewClient("test")
		require.NoError(t, err)
		prepared := make(chan error)
		go func() {
			pm, err := c.PrepareModel(context.Background(), addModel())
			require.Nil(t, pm)
			prepared <- err
		}()
		synctest.Wait()
		done := make(chan error)
		go func() { done <- d.Close() }()
		synctest.Wait()
		require.Equal(t, []string{"compile"}, b.Calls())
		close(b.Hold)
		require.ErrorIs(t, <-prepared, driver.ErrClosed)
		require.NoError(t, <-done)
		require.Equal(t, []string{"compile", "close executable", "close"}, b.Calls())
	})
}

// TestHammerOpenAndClose: whatever the order of closing, every executable is closed once, before the device.
func TestHammerOpenAndClose(t *testing.T) {
	for range 50 {
		b := &null.Backend{Compute: add}
		d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				c, err := d.NewClient("hammer")
				if err != nil {
					return
				}
				wg.Go(func() { _ = c.Close() })
				for range 3 {
					pm, err := c.PrepareModel(context.Background(), addModel())
					if err != nil {
						return
					}
					wg.Go(func() { _, _ = pm.Execute(context.Background(), addRequest()) })
					wg.Go(func() { _ = pm.Close() })
				}
			})
		}
		wg.Go(func() { _ = d.Close() })
		wg.Wait()
		require.NoError(t, d.Close())
		calls := b.Calls()
		require.Equal(t, "close", calls[len(calls)-1])
		require.Equal(t, 1, count(calls, "close"))
		require.Equal(t, count(calls, "compile"), count(calls, "close executable"))
		require.Equal(t, count(calls, "begin"), count(calls, "release"))
	}
}
