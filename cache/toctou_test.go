package cache

import (
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hostile overwrites the model file with other again and again, through a handle of its own, until stopped.
func hostile(t *testing.T, path string, other []byte) (stop func()) {
	f := openMode(t, path, os.O_RDWR)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		rng := rand.New(rand.NewPCG(uint64(len(path)), 1))
		for {
			select {
			case <-done:
				return
			default:
			}
			from := 0
			if rng.IntN(2) == 0 {
				from = rng.IntN(len(other))
			}
			_, _ = f.WriteAt(other[from:], int64(from))
			if rng.IntN(8) == 0 {
				_ = f.Truncate(int64(rng.IntN(len(other))))
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

// toctou runs the two races: whatever a load returns under the token of ours, it is ours.
func toctou(t *testing.T, duringSave bool) {
	const rounds = 100
	m := openMap(t, options(t))
	ours, theirs, data := noise(1, 40_000), noise(2, 40_000), noise(3, 1000)
	b := newFiles(t, 1, 1)
	require.NoError(t, m.Save(Token{2}, theirs, data, b.model, b.data))
	other := content(t, b.model[0])
	loaded := 0
	check := func(f *files) {
		e, err := m.Load(Token{1}, f.model, f.data)
		if err != nil {
			require.True(t, errors.Is(err, ErrRejected), "%v", err)
			return
		}
		loaded++
		requireEntry(t, e, ours, data)
	}
	a := newFiles(t, 1, 1)
	for round := range rounds {
		if duringSave {
			stop := hostile(t, a.model[0].Name(), other)
			time.Sleep(time.Duration(round) * 10 * time.Microsecond)
			require.NoError(t, m.Save(Token{1}, ours, data, a.model, a.data))
			if round%2 == 0 {
				stop()
				check(a)
			} else {
				check(a)
				stop()
			}
			continue
		}
		require.NoError(t, m.Save(Token{1}, ours, data, a.model, a.data))
		stop := hostile(t, a.model[0].Name(), other)
		for range 5 {
			check(a)
		}
		stop()
	}
	t.Logf("%d loads came through", loaded)
}

// TestC9WriterDuringSave: another thread overwrites the model file while it is saved.
func TestC9WriterDuringSave(t *testing.T) { toctou(t, true) }

// TestC10WriterDuringLoad: the same while it is loaded.
func TestC10WriterDuringLoad(t *testing.T) { toctou(t, false) }
