package driver

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// queued starts a call of lock and returns where it tells its result.
func queued(ctx context.Context, l *rwLock, write bool) chan error {
	done := make(chan error, 1)
	go func() { done <- l.lock(ctx, write) }()
	synctest.Wait()
	return done
}

func waits(c chan error) bool {
	synctest.Wait()
	return len(c) == 0
}

func TestRWLockIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		var l rwLock
		first, second := queued(ctx, &l, false), queued(ctx, &l, false)
		require.False(t, waits(first))
		require.False(t, waits(second))
		writer, late, other := queued(ctx, &l, true), queued(ctx, &l, false), queued(ctx, &l, true)
		require.True(t, waits(writer))
		require.True(t, waits(late), "behind the writer")
		l.unlock(false)
		require.True(t, waits(writer))
		l.unlock(false)
		require.False(t, waits(writer))
		require.True(t, waits(late))
		l.unlock(true)
		require.False(t, waits(late))
		require.True(t, waits(other))
		l.unlock(false)
		require.False(t, waits(other))
		l.unlock(true)
		require.NoError(t, l.lock(ctx, true))
	})
}

func TestRWLockWaitsAsLongAsItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l rwLock
		require.NoError(t, l.lock(context.Background(), false))
		ctx, cancel := context.WithCancel(context.Background())
		writer, reader := queued(ctx, &l, true), queued(context.Background(), &l, false)
		require.True(t, waits(reader))
		cancel()
		require.ErrorIs(t, <-writer, context.Canceled)
		require.NoError(t, <-reader, "nobody is before it any more")
		l.unlock(false)
		l.unlock(false)
		require.NoError(t, l.lock(context.Background(), true))
	})
}

func TestHammerRWLock(t *testing.T) {
	var l rwLock
	var readers, writers atomic.Int32
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				write := (g+i)%3 == 0
				ctx, cancel := context.WithCancel(context.Background())
				if i%5 == 0 {
					go cancel()
				}
				if l.lock(ctx, write) == nil {
					if write {
						if writers.Add(1) != 1 || readers.Load() != 0 {
							t.Error("a writer is not alone")
						}
						writers.Add(-1)
					} else {
						readers.Add(1)
						if writers.Load() != 0 {
							t.Error("a reader beside a writer")
						}
						readers.Add(-1)
					}
					l.unlock(write)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if l.readers != 0 || l.writing || len(l.queue) != 0 {
		t.Errorf("%+v", &l)
	}
}
