package vulkan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWatchdog follows submissions at times that the test makes up.
func TestWatchdog(t *testing.T) {
	const ms = time.Millisecond
	start := func(least time.Duration) *watchdog {
		w := &watchdog{}
		w.init(least)
		return w
	}
	// looks calls look each 100 ms from one time to another and returns when it struck, -1 if it did not.
	looks := func(w *watchdog, reached uint64, from, to time.Duration) time.Duration {
		for at := from; at <= to; at += 100 * ms {
			if err := w.look(reached, at); err != nil {
				require.ErrorIs(t, err, ErrAbandoned)
				return at
			}
		}
		return -1
	}
	t.Run("default", func(t *testing.T) {
		w := start(0)
		w.add(1, 0, 0)
		require.Equal(t, leastPatience, looks(w, 0, 0, time.Hour))
	})
	t.Run("off", func(t *testing.T) {
		w := start(-1)
		w.add(1, 0, 0)
		require.Equal(t, -1*time.Nanosecond, looks(w, 0, 0, time.Minute))
		require.Empty(t, w.queue)
	})
	t.Run("estimate", func(t *testing.T) {
		w := start(200 * ms)
		w.add(1, 20*ms, 0)
		require.Equal(t, patienceFactor*20*ms, looks(w, 0, 0, time.Minute))
	})
	t.Run("after what was before", func(t *testing.T) {
		w := start(300 * ms)
		w.add(1, 10*ms, 0)
		w.add(2, 0, 0)
		w.add(3, 0, 0)
		require.Negative(t, looks(w, 0, 0, 400*ms))
		w.ended(1, 450*ms)
		require.Negative(t, looks(w, 1, 500*ms, 700*ms))
		require.Negative(t, looks(w, 2, 740*ms, 1000*ms), "the second ended unseen")
		require.Equal(t, 1040*ms, looks(w, 2, 1040*ms, time.Minute))
	})
	t.Run("order", func(t *testing.T) {
		w := start(300 * ms)
		w.add(2, 0, 0)
		w.add(1, 20*ms, 0) // the submitters were not in order
		require.Negative(t, looks(w, 0, 0, 900*ms))
		require.Negative(t, looks(w, 1, 950*ms, 1200*ms))
		require.Positive(t, looks(w, 1, 1250*ms, time.Minute))
	})
	t.Run("idle", func(t *testing.T) {
		w := start(300 * ms)
		w.add(1, 0, 0)
		require.Negative(t, looks(w, 1, 100*ms, time.Minute))
		w.add(2, 0, time.Hour)
		require.Equal(t, time.Hour+300*ms, looks(w, 1, time.Hour, 2*time.Hour))
	})
	t.Run("stopped process", func(t *testing.T) {
		w := start(time.Second)
		w.add(1, 0, 0)
		require.NoError(t, w.look(0, 10*ms))
		require.NoError(t, w.look(0, time.Hour), "counts a little")
		require.Equal(t, time.Hour+800*ms, looks(w, 0, time.Hour+100*ms, 2*time.Hour))
	})
	t.Run("nothing piles up", func(t *testing.T) {
		w := start(0)
		for i := range uint64(1000) {
			w.add(i+1, 0, 0)
			w.ended(i+1, 0)
			require.Empty(t, w.queue)
		}
		require.Less(t, cap(w.queue), 16)
	})
}
