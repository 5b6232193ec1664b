package caching

import (
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const toctouRounds = 100

// hostile writes other over the file from another goroutine, again and again, until stop has returned.
func hostile(t *testing.T, path string, other []byte) (stop func()) {
	t.Helper()
	f := handles(t, os.O_RDWR, path)[0]
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for k := 0; ; k++ {
			select {
			case <-done:
				return
			default:
			}
			// Whole, without its head, and cut: whatever mix the driver may see.
			from := k % 3 * len(other) / 3
			_, _ = f.WriteAt(other[from:], int64(from))
			if k%16 == 0 {
				_ = f.Truncate(int64(len(other)))
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

// requireOursOrNothing loads: an error with no model, or the right results; never those of the other model.
func requireOursOrNothing(t *testing.T, b *bed, e *entry) (loaded bool) {
	t.Helper()
	pm, err := b.load(t, e)
	if err != nil {
		requireGeneralFailure(t, err)
		return false
	}
	requireResult(t, pm, addResult)
	require.NoError(t, pm.Close())
	return true
}

func TestC9OverwrittenWhileSaving(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bed) {
		other := content(t, b.saved(t, 2, mulChain(), mulResult).model[0])
		e, loaded := b.newEntry(t, 1), 0
		model, data := handles(t, os.O_RDWR, e.model...), handles(t, os.O_RDWR, e.data...)
		for range toctouRounds {
			stop := hostile(t, e.model[0], other)
			b.save(t, addChain(), e, model, data, addResult)
			stop()
			if requireOursOrNothing(t, b, e) {
				loaded++
			}
		}
		t.Logf("%d of %d loads gave a model", loaded, toctouRounds)
	})
}

func TestC10OverwrittenWhileLoading(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bed) {
		other := content(t, b.saved(t, 2, mulChain(), mulResult).model[0])
		e, loaded := b.saved(t, 1, addChain(), addResult), 0
		ours := content(t, e.model[0])
		for range toctouRounds {
			overwrite(t, e.model[0], ours)
			stop := hostile(t, e.model[0], other)
			if requireOursOrNothing(t, b, e) {
				loaded++
			}
			stop()
		}
		t.Logf("%d of %d loads gave a model", loaded, toctouRounds)
		overwrite(t, e.model[0], ours)
		b.loads(t, e, addResult)
	})
}
