package driver_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
)

// tuning is phased with what it was asked for.
type tuning struct {
	*phased
	plain, tuned atomic.Int32 // compilations
	budget       atomic.Int64 // of the last one that was tuned
}

func (b *tuning) Compile(ctx context.Context, m *nn.Model, o backend.Options) (backend.Executable, error) {
	switch {
	case o.Tuning > 0 && !o.Quick:
		b.tuned.Add(1)
		b.budget.Store(int64(o.Tuning))
	case !o.Quick:
		b.plain.Add(1)
	}
	return b.phased.Compile(ctx, m, o)
}

// TestTunedInCache: a tuned form is made once, and then taken by who asks for one and by who does not; one that was not
// tuned is not taken by who asks.
func TestTunedInCache(t *testing.T) {
	const budget = 7 * time.Second
	for name, opts := range map[string][]driver.Option{
		"cache":  nil,
		"folder": {driver.WithCaching(t.TempDir(), cache.Token{3})},
	} {
		t.Run(name, func(t *testing.T) {
			var warned atomic.Int32
			o, b := cacheOptions(t, &warned), &tuning{phased: newPhased()}
			prepare := func(want driver.CacheStatus, plain, tuned int32, more ...driver.Option) {
				t.Helper()
				pm := prepareTen(t, openStoring(t, b, o), append(more, opts...)...)
				requireTen(t, pm)
				require.Equal(t, want, pm.Cached())
				require.Equal(t, plain, b.plain.Load())
				require.Equal(t, tuned, b.tuned.Load())
			}
			again := driver.CacheMiss
			if name == "folder" { // where the form that is not tuned lies
				again = driver.CacheRejected
			}
			prepare(driver.CacheMiss, 1, 0)
			prepare(driver.CacheHit, 1, 0)
			prepare(again, 1, 1, driver.WithTuning(budget))
			require.EqualValues(t, budget, b.budget.Load())
			prepare(driver.CacheHit, 1, 1, driver.WithTuning(time.Minute))
			prepare(driver.CacheHit, 1, 1)
			prepare(driver.CacheHit, 1, 1, driver.WithTuning(0))
			require.Zero(t, warned.Load())
		})
	}
}

// TestTunedStage: of two stages the second is tuned, and it is what lies in the cache then.
func TestTunedStage(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), &tuning{phased: newPhased()}
	pm := prepareTen(t, openStoring(t, b, o), driver.WithStagedCompilation(1), driver.WithTuning(time.Second))
	requireTen(t, pm)
	await(t, b.quickClosed)
	require.EqualValues(t, 1, b.quick.Load())
	require.EqualValues(t, 1, b.tuned.Load())
	require.Zero(t, b.plain.Load())
	require.Eventually(t, func() bool { saved, _ := pm.Saved(); return saved }, time.Minute, time.Millisecond)
	next := prepareTen(t, openStoring(t, b, o))
	require.Equal(t, driver.CacheHit, next.Cached())
	require.EqualValues(t, 1, b.tuned.Load())
}

// TestTuningRefused: a budget below 0, and one for which the deadline has no room.
func TestTuningRefused(t *testing.T) {
	b := &tuning{phased: newPhased()}
	c := openStoring(t, b, storingOptions{CacheOptions: driver.CacheOptions{Off: true}})
	_, err := c.PrepareModel(t.Context(), binaryModel(nn.OpAdd, 3), driver.WithTuning(-1))
	require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
	requireTen(t, prepareTen(t, c, driver.WithPrepareDeadline(time.Now().Add(time.Minute)), driver.WithTuning(time.Second)))
	_, err = c.PrepareModel(t.Context(), binaryModel(nn.OpAdd, 3),
		driver.WithPrepareDeadline(time.Now().Add(time.Minute)), driver.WithTuning(time.Hour))
	require.Equal(t, nn.StatusMissedDeadlinePersistent, nn.StatusOf(err))
	require.EqualValues(t, 1, b.tuned.Load())
}
