package driver_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
	"github.com/nngpu/nngpu/qos"
)

// farFuture is the largest time that a clock of nanoseconds tells.
var farFuture = time.Unix(0, math.MaxInt64)

func requireMissed(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	require.Contains(t, []nn.Status{nn.StatusMissedDeadlineTransient, nn.StatusMissedDeadlinePersistent}, nn.StatusOf(err), "%v", err)
}

// TestQ1Priorities change no outcome, and others are invalid.
func TestQ1Priorities(t *testing.T) {
	_, c := open(t, &null.Backend{Compute: add})
	for _, p := range []nn.Priority{nn.PriorityLow, nn.PriorityMedium, nn.PriorityHigh} {
		pm, err := c.PrepareModel(t.Context(), addModel(), driver.WithPriority(p))
		require.NoError(t, err)
		_, err = pm.Execute(t.Context(), addRequest())
		require.NoError(t, err)
	}
	for _, p := range []nn.Priority{3, 255} {
		_, err := c.PrepareModel(t.Context(), addModel(), driver.WithPriority(p))
		requireStatus(t, nn.StatusInvalidArgument, err)
	}
}

// TestQ3PrepareWithDeadline: one that has passed is missed before any work, the largest is as none.
func TestQ3PrepareWithDeadline(t *testing.T) {
	b := &null.Backend{}
	_, c := open(t, b)
	start := time.Now()
	_, err := c.PrepareModel(t.Context(), addModel(), driver.WithPrepareDeadline(start))
	requireStatus(t, nn.StatusMissedDeadlinePersistent, err)
	require.NotContains(t, b.Calls(), "compile")
	for _, deadline := range []time.Time{{}, farFuture, time.Now().Add(time.Hour)} {
		pm, err := c.PrepareModel(t.Context(), addModel(), driver.WithPrepareDeadline(deadline))
		require.NoError(t, err)
		require.NotNil(t, pm)
	}
	ctx, cancel := context.WithDeadline(t.Context(), start)
	defer cancel()
	_, err = c.PrepareModel(ctx, addModel(), driver.WithPrepareDeadline(farFuture)) // the nearer counts
	requireMissed(t, err)
}

// TestQ3PrepareEndsLate: a compilation that is over too late gives no model.
func TestQ3PrepareEndsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &null.Backend{Compute: add, Hold: make(chan struct{})}
		d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
		defer d.Close()
		c, err := d.NewClient("test")
		require.NoError(t, err)
		time.AfterFunc(40*time.Millisecond, func() { close(b.Hold) })
		_, err = c.PrepareModel(context.Background(), addModel(), driver.WithPrepareDeadline(time.Now().Add(20*time.Millisecond)))
		requireMissed(t, err)
	})
}

// TestQ3PrepareWithDeadlineAndCache: what the cache has is in time where compiling it would not be, and what it lacks
// is refused before it is compiled.
func TestQ3PrepareWithDeadlineAndCache(t *testing.T) {
	const left = 25 * time.Millisecond // a pipeline is expected to take more
	for _, dir := range []bool{false, true} {
		var warned atomic.Int32
		o, b := cacheOptions(t, &warned), newPhased()
		var opts []driver.Option
		if dir {
			opts = append(opts, driver.WithCaching(t.TempDir(), cache.Token{1}))
		}
		prepare := func(c *driver.Client, left time.Duration) error {
			more := append(opts[:len(opts):len(opts)], driver.WithPrepareDeadline(time.Now().Add(left)))
			_, err := c.PrepareModel(t.Context(), binaryModel(nn.OpAdd, 3), more...)
			return err
		}
		requireStatus(t, nn.StatusMissedDeadlineTransient, prepare(openStoring(t, b, o), left)) // the seed may be wrong
		require.Zero(t, b.optimised.Load())
		prepareTen(t, openStoring(t, b, o), opts...)
		c := openStoring(t, b, o)
		require.Eventually(t, func() bool { return prepare(c, left) == nil }, 20*time.Second, time.Millisecond)
		compiled := b.optimised.Load() // once, or more often on a busy machine, where one may end late
		require.Positive(t, compiled)

		// What loading takes is learned, too.
		b.loading = 4 * left
		c = openStoring(t, b, o)
		require.NoError(t, prepare(c, time.Minute))
		n := b.restored.Load()
		requireStatus(t, nn.StatusMissedDeadlinePersistent, prepare(c, left))
		require.Equal(t, n, b.restored.Load())
		require.NoError(t, prepare(c, time.Minute))
		require.Equal(t, compiled, b.optimised.Load())
		require.Zero(t, warned.Load())
	}
}

// TestPrepareDeadlineOfDelayed: that of the preparation does not bound the compilation, which comes later.
func TestPrepareDeadlineOfDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := driver.NewDevice(&null.Backend{Compute: add}, driver.WithCache(driver.CacheOptions{Off: true}))
		c, err := d.NewClient("test")
		require.NoError(t, err)
		pm, err := c.PrepareModel(context.Background(), addModel(), driver.WithDelayedCompilation(),
			driver.WithPrepareDeadline(time.Now().Add(time.Millisecond)))
		require.NoError(t, err)
		time.Sleep(time.Second)
		_, err = pm.Execute(context.Background(), addRequest())
		require.NoError(t, err)
		require.NoError(t, d.Close())
	})
}

// TestC25LoadWithDeadline is Q3 for a load from cache files.
func TestC25LoadWithDeadline(t *testing.T) {
	d := driver.NewDevice(&storing{}, driver.WithCache(driver.CacheOptions{Off: true, StateDir: t.TempDir()}))
	defer d.Close()
	c, err := d.NewClient("test")
	require.NoError(t, err)
	files := func(name string) []*os.File {
		f, err := os.OpenFile(filepath.Join(t.TempDir(), name), os.O_RDWR|os.O_CREATE, 0o600)
		require.NoError(t, err)
		t.Cleanup(func() { f.Close() })
		return []*os.File{f}
	}
	model, data := files("model"), files("data")
	token := cache.Token{1}
	_, err = c.PrepareModel(t.Context(), binaryModel(nn.OpAdd, 3), driver.WithCacheFiles(token, model, data), driver.WithPriority(nn.PriorityHigh))
	require.NoError(t, err)
	_, err = c.PrepareModelFromCache(t.Context(), token, model, data, driver.WithPrepareDeadline(time.Now().Add(-time.Second)))
	requireStatus(t, nn.StatusMissedDeadlinePersistent, err)
	_, err = c.PrepareModelFromCache(t.Context(), token, model, data, driver.WithPriority(9)) // V20 holds for a load, too
	requireStatus(t, nn.StatusInvalidArgument, err)
	pm, err := c.PrepareModelFromCache(t.Context(), token, model, data, driver.WithPrepareDeadline(farFuture))
	require.NoError(t, err)
	require.NotNil(t, pm)
}

// TestQ5ExecuteWithDeadline in every form of execution.
func TestQ5ExecuteWithDeadline(t *testing.T) {
	b := &null.Backend{Compute: add}
	pm := prepare(t, b, addModel())
	ctx := t.Context()
	forms := map[string]func(...driver.ExecuteOption) error{
		"sync": func(o ...driver.ExecuteOption) error {
			_, err := pm.Execute(ctx, addRequest(), o...)
			return err
		},
		"async": func(o ...driver.ExecuteOption) error {
			_, err := pm.ExecuteAsync(ctx, addRequest(), o...).Wait()
			return err
		},
		"fenced": func(o ...driver.ExecuteOption) error { // Q6
			e, err := pm.ExecuteFenced(ctx, addRequest(), nil, o...)
			if err != nil {
				return err
			}
			return wait(t, e.Fence())
		},
		"reusable": func(o ...driver.ExecuteOption) error {
			x, err := pm.NewExecution(addRequest())
			if err != nil {
				return err
			}
			_, err = x.Run(ctx, o...)
			return err
		},
		"burst": func(o ...driver.ExecuteOption) error {
			_, err := pm.Burst().Execute(ctx, addRequest(), []int32{-1}, o...)
			return err
		},
	}
	for name, run := range forms {
		t.Run(name, func(t *testing.T) {
			n := len(b.Calls())
			requireStatus(t, nn.StatusMissedDeadlinePersistent, run(driver.WithDeadline(time.Now())))
			require.Len(t, b.Calls(), n, "refused before any work")
			require.NoError(t, run(driver.WithDeadline(farFuture)))
			require.NoError(t, run(driver.WithDeadline(time.Now().Add(time.Hour)), driver.WithLoopTimeout(time.Second)))
			requireStatus(t, nn.StatusInvalidArgument, run(driver.WithLoopTimeout(16*time.Second))) // X17
			requireStatus(t, nn.StatusInvalidArgument, run(driver.WithLoopTimeout(-2)))
		})
	}
}

// TestQ8HopelessAndBusy: what not even a quarter of the cost model's time is left for is PERSISTENT, what others are in
// the way of TRANSIENT.
func TestQ8HopelessAndBusy(t *testing.T) {
	gate := make(chan struct{})
	b := &null.Backend{Compute: add, Gate: gate, Segments: 10, SegmentTime: 100 * time.Millisecond}
	pm := prepare(t, b, addModel())
	_, err := pm.Execute(t.Context(), addRequest(), driver.WithDeadline(time.Now().Add(200*time.Millisecond)))
	requireStatus(t, nn.StatusMissedDeadlinePersistent, err)
	_, err = pm.Execute(t.Context(), addRequest(), driver.WithDeadline(time.Now().Add(500*time.Millisecond)))
	requireStatus(t, nn.StatusMissedDeadlineTransient, err)

	running := pm.ExecuteAsync(t.Context(), addRequest())
	require.Eventually(t, func() bool { return submitted(b) == 1 }, 20*time.Second, time.Millisecond)
	_, err = pm.Execute(t.Context(), addRequest(), driver.WithDeadline(time.Now().Add(1100*time.Millisecond)))
	requireStatus(t, nn.StatusMissedDeadlineTransient, err)
	close(gate)
	_, err = running.Wait()
	require.NoError(t, err)
}

// TestX6Timing is given where it was asked for, device within driver.
func TestX6Timing(t *testing.T) {
	pm := prepare(t, &null.Backend{Compute: add}, addModel())
	res, err := pm.Execute(t.Context(), addRequest())
	require.NoError(t, err)
	require.Zero(t, res.InDriver)
	require.Zero(t, res.OnDevice)
	res, err = pm.Execute(t.Context(), addRequest(), driver.WithTiming())
	require.NoError(t, err)
	require.Positive(t, res.InDriver)
	require.LessOrEqual(t, res.OnDevice, res.InDriver)
}

// TestCancelGivesUpAtTheNextSegment: what was submitted ends, the rest is not submitted.
func TestCancelGivesUpAtTheNextSegment(t *testing.T) {
	gate := make(chan struct{})
	b := &null.Backend{Compute: add, Gate: gate, Segments: 5}
	pm := prepare(t, b, addModel())
	ctx, cancel := context.WithCancel(t.Context())
	e := pm.ExecuteAsync(ctx, addRequest())
	require.Eventually(t, func() bool { return submitted(b) == 1 }, 20*time.Second, time.Millisecond)
	cancel()
	gate <- struct{}{}
	_, err := e.Wait()
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, submitted(b))
	require.NotContains(t, b.Calls(), "finish")
}

// TestClientBudget: RESOURCE_EXHAUSTED_PERSISTENT for what can never fit, TRANSIENT for what does not now.
func TestClientBudget(t *testing.T) {
	b := &null.Backend{Weights: 600}
	d, _ := open(t, b)
	small, err := d.NewClient("small", driver.WithClientBudget(500))
	require.NoError(t, err)
	_, err = small.PrepareModel(t.Context(), addModel())
	requireStatus(t, nn.StatusResourceExhaustedPersistent, err)
	c, err := d.NewClient("medium", driver.WithClientBudget(1000), driver.WithShare(2))
	require.NoError(t, err)
	first, err := c.PrepareModel(t.Context(), addModel())
	require.NoError(t, err)
	require.Equal(t, int64(600), c.Memory())
	_, err = c.PrepareModel(t.Context(), addModel())
	requireStatus(t, nn.StatusResourceExhaustedTransient, err)
	require.NoError(t, first.Close())
	require.Zero(t, c.Memory())
	_, err = c.PrepareModel(t.Context(), addModel())
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.Zero(t, c.Memory())
	_, err = d.NewClient("wrong", driver.WithClientBudget(-1))
	requireStatus(t, nn.StatusInvalidArgument, err)
}

// TestShareOutOfRange: what would starve others is refused, not cut to what would not.
func TestShareOutOfRange(t *testing.T) {
	d, _ := open(t, &null.Backend{})
	for _, share := range []float64{0, -1, math.NaN(), math.Inf(1), 1e308, 1024, qos.MaxShare * 1.01, qos.MinShare * 0.99, 1e-300} {
		c, err := d.NewClient("wrong", driver.WithShare(share))
		requireStatus(t, nn.StatusInvalidArgument, err)
		require.Nil(t, c)
	}
	for _, share := range []float64{qos.MinShare, 1, qos.MaxShare} {
		_, err := d.NewClient("right", driver.WithShare(share))
		require.NoError(t, err)
	}
}
