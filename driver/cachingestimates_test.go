package driver_test

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
)

func estimates(d time.Duration) []time.Duration { return []time.Duration{d} }

// TestKeepEstimates: the next process starts with what this one learned, whether it compiled the model or found it, in
// one stage or two, at once or later.
func TestKeepEstimates(t *testing.T) {
	for name, opts := range map[string][]driver.Option{
		"plain": nil, "staged": {driver.WithStagedCompilation(1)}, "delayed": {driver.WithDelayedCompilation()},
	} {
		t.Run(name, func(t *testing.T) {
			var warned atomic.Int32
			o, b := cacheOptions(t, &warned), newPhased()
			for _, learned := range []time.Duration{20, 3000, 77} {
				pm := prepareTen(t, openStoring(t, b, o), opts...)
				requireTen(t, pm)
				if name == "staged" && learned == 20 {
					await(t, b.quickClosed)
				}
				pm.KeepEstimates(estimates(learned))
				pm.KeepEstimates(estimates(learned + 1)) // too late, once is all
				require.NoError(t, pm.Close())

				next := prepareTen(t, openStoring(t, b, o))
				require.Equal(t, driver.CacheHit, next.Cached())
				require.Equal(t, estimates(learned), next.Estimates())
				requireTen(t, next)
			}
			require.EqualValues(t, 1, b.optimised.Load())
			require.Zero(t, warned.Load())
		})
	}
}

// TestKeepEstimatesLeavesAlone what others made of the entry, and what was not learned.
func TestKeepEstimatesLeavesAlone(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), newPhased()
	first, second := prepareTen(t, openStoring(t, b, o)), prepareTen(t, openStoring(t, b, o))
	first.KeepEstimates(nil)
	second.KeepEstimates(estimates(50))
	first.KeepEstimates(estimates(60)) // knows of the entry before that one's
	require.Equal(t, estimates(50), prepareTen(t, openStoring(t, b, o)).Estimates())

	removed := prepareTen(t, openStoring(t, b, o))
	require.NoError(t, os.RemoveAll(o.Dir))
	removed.KeepEstimates(estimates(70))
	require.NoDirExists(t, o.Dir)

	off := prepareTen(t, openStoring(t, b, uncached))
	off.KeepEstimates(estimates(80))
	require.Zero(t, warned.Load())

	damaged := prepareTen(t, openStoring(t, b, o))
	damageEntries(t, o.Dir, "model", func(b []byte) []byte { b[len(b)-1] ^= 1; return b })
	damaged.KeepEstimates(estimates(90))
	require.Zero(t, warned.Load())
	require.Equal(t, driver.CacheRejected, prepareTen(t, openStoring(t, b, o)).Cached())
	require.EqualValues(t, 1, warned.Load(), "of the damage")
}

// TestKeepEstimatesWithoutRoom: what cannot be noted is lost, with the cache's one warning.
func TestKeepEstimatesWithoutRoom(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), newPhased()
	pm := prepareTen(t, openStoring(t, b, o))
	tmp := filepath.Join(o.Dir, "tmp")
	require.NoError(t, os.RemoveAll(tmp))
	require.NoError(t, os.WriteFile(tmp, nil, 0o600)) // nowhere to write
	pm.KeepEstimates(estimates(50))
	requireTen(t, pm)
	require.EqualValues(t, 1, warned.Load())
}
