package driver_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

func TestDelayedCompilation(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), newPhased()
	b.hold = make(chan struct{})
	pm := prepareTen(t, openStoring(t, b, o), driver.WithDelayedCompilation())
	require.Equal(t, backend.Stats{}, pm.Stats())
	require.Zero(t, b.optimised.Load())
	require.Len(t, pm.NewOutputs(), 1)

	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			out := pm.NewOutputs()
			if _, err := pm.Run(context.Background(), [][]byte{{7, 7, 7, 7, 7}}, out); err != nil || out[0][0] != 10 {
				t.Errorf("%v, %v", out, err)
			}
		})
	}
	await(t, b.began)
	require.Zero(t, b.open.Load())
	close(b.hold)
	wg.Wait()
	require.EqualValues(t, 1, b.optimised.Load(), "once for all")
	require.Equal(t, optimisedPipelines, pm.Stats().Pipelines)

	hit := prepareTen(t, openStoring(t, b, o), driver.WithDelayedCompilation())
	require.Equal(t, driver.CacheOff, hit.Cached())
	require.NoError(t, hit.Ready(t.Context()))
	require.Equal(t, driver.CacheHit, hit.Cached())
	require.Equal(t, optimisedPipelines, hit.Stats().Pipelines)
	requireTen(t, hit)
	require.EqualValues(t, 1, b.optimised.Load(), "from the cache")
	require.Zero(t, warned.Load())

	idle := prepareTen(t, openStoring(t, b, o), driver.WithDelayedCompilation())
	require.NoError(t, idle.Close())
	_, err := idle.Run(t.Context(), [][]byte{{7, 7, 7, 7, 7}}, idle.NewOutputs())
	require.ErrorIs(t, err, driver.ErrClosed)
}

// TestDelayedChecks: what PrepareModel refuses, it refuses at once.
func TestDelayedChecks(t *testing.T) {
	b := &null.Backend{Refuse: func(op nn.OperationType) error {
		if op == nn.OpMul {
			return errors.New("no products")
		}
		return nil
	}}
	c := openStoring(t, b, uncached)
	_, err := c.PrepareModel(t.Context(), binaryModel(nn.OpMul, 3), driver.WithDelayedCompilation())
	require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
	require.ErrorContains(t, err, "no products")
	bad := binaryModel(nn.OpAdd, 3)
	bad.Main.Operations[0].Inputs = bad.Main.Operations[0].Inputs[1:]
	_, err = c.PrepareModel(t.Context(), bad, driver.WithDelayedCompilation())
	require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
	require.NotContains(t, b.Calls(), "compile")
}

// TestDelayedFailure is that of every execution that waits for it; the next one tries again.
func TestDelayedFailure(t *testing.T) {
	b := newPhased()
	b.hold = make(chan struct{})
	var broken atomic.Bool
	broken.Store(true)
	b.fail = func(backend.Options) error {
		if broken.Load() {
			return nn.Errorf(nn.StatusResourceExhaustedTransient, "model", "no memory")
		}
		return nil
	}
	pm := prepareTen(t, openStoring(t, b, uncached), driver.WithDelayedCompilation())
	run := func(ctx context.Context) error {
		_, err := pm.Run(ctx, [][]byte{{7, 7, 7, 7, 7}}, pm.NewOutputs())
		return err
	}
	errs := make(chan error)
	for range 4 {
		go func() { errs <- run(context.Background()) }()
	}
	await(t, b.began)
	close(b.hold)
	for range 4 {
		require.Equal(t, nn.StatusResourceExhaustedTransient, nn.StatusOf(<-errs))
	}
	require.Equal(t, backend.Stats{}, pm.Stats())
	broken.Store(false)
	requireTen(t, pm)
}

// TestDelayedContext: the context of the first execution bounds the compilation and is no harm to others.
func TestDelayedContext(t *testing.T) {
	b := newPhased()
	b.hold = make(chan struct{})
	pm := prepareTen(t, openStoring(t, b, uncached), driver.WithDelayedCompilation())
	run := func(ctx context.Context) chan error {
		err := make(chan error, 1)
		go func() {
			_, e := pm.Run(ctx, [][]byte{{7, 7, 7, 7, 7}}, pm.NewOutputs())
			err <- e
		}()
		return err
	}
	ctx, cancel := context.WithCancel(t.Context())
	first := run(ctx)
	await(t, b.began)
	impatient, leave := context.WithCancel(t.Context())
	waiting, leaving := run(t.Context()), run(impatient)
	leave()
	require.ErrorIs(t, <-leaving, context.Canceled)
	cancel()
	require.ErrorIs(t, <-first, context.Canceled)
	await(t, b.began) // another one goes on
	close(b.hold)
	require.NoError(t, <-waiting)
	requireTen(t, pm)
}

// TestC19DelayedFiles: the client closes its files after PrepareModel, long before they are written.
func TestC19DelayedFiles(t *testing.T) {
	for name, opts := range map[string][]driver.Option{
		"delayed": nil, "delayed and staged": {driver.WithStagedCompilation(1)},
	} {
		t.Run(name, func(t *testing.T) {
			var warned atomic.Int32
			o, b := cacheOptions(t, &warned), newPhased()
			dir, token := t.TempDir(), cache.Token{1}
			open := func(name string) []*os.File {
				f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600)
				require.NoError(t, err)
				return []*os.File{f}
			}
			used := func() int {
				return handlesOf(t, filepath.Join(dir, "model")) + handlesOf(t, filepath.Join(dir, "data"))
			}
			prepare := func() *driver.PreparedModel {
				model, data := open("model"), open("data")
				pm := prepareTen(t, openStoring(t, b, o), append(opts, driver.WithDelayedCompilation(), driver.WithCacheFiles(token, model, data))...)
				require.NoError(t, model[0].Close())
				require.NoError(t, data[0].Close())
				require.Equal(t, 2, used())
				return pm
			}
			require.NoError(t, prepare().Close())
			require.Zero(t, used(), "never compiled")

			pm := prepare()
			requireTen(t, pm)
			if name != "delayed" {
				await(t, b.quickClosed)
			}
			require.NoError(t, pm.Close())
			require.Zero(t, used())
			model, data := open("model"), open("data")
			defer model[0].Close()
			defer data[0].Close()
			loaded, err := openStoring(t, b, o).PrepareModelFromCache(t.Context(), token, model, data)
			require.NoError(t, err)
			require.Equal(t, optimisedPipelines, loaded.Stats().Pipelines)
			requireTen(t, loaded)
			require.Zero(t, warned.Load())
		})
	}
}

// TestC16LoadIsNeverDelayed: a load checks the files before it returns, whatever its options say.
func TestC16LoadIsNeverDelayed(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), newPhased()
	token := cache.Token{1}
	var files []*os.File
	for _, name := range []string{"model", "data"} {
		f, err := os.Create(filepath.Join(t.TempDir(), name))
		require.NoError(t, err)
		defer f.Close()
		files = append(files, f)
	}
	c := openStoring(t, b, o)
	prepareTen(t, c, driver.WithCacheFiles(token, files[:1], files[1:]))
	options := []driver.Option{driver.WithDelayedCompilation(), driver.WithStagedCompilation(0)}
	pm, err := c.PrepareModelFromCache(t.Context(), token, files[:1], files[1:], options...)
	require.NoError(t, err)
	require.Equal(t, optimisedPipelines, pm.Stats().Pipelines, "it is there")
	_, err = files[0].WriteAt([]byte{0}, 0)
	require.NoError(t, err)
	pm, err = c.PrepareModelFromCache(t.Context(), token, files[:1], files[1:], options...)
	require.Nil(t, pm)
	require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err))
}

// TestDelayedFilesThatCannotBeUsed cost the saving, not the model (C17).
func TestDelayedFilesThatCannotBeUsed(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), newPhased()
	closedFile, err := os.Create(filepath.Join(t.TempDir(), "model"))
	require.NoError(t, err)
	require.NoError(t, closedFile.Close())
	for _, files := range [][]*os.File{{closedFile}, {nil}} {
		for _, opts := range [][]driver.Option{nil, {driver.WithStagedCompilation(1)}} {
			for _, delay := range []driver.Option{driver.WithPriority(nn.PriorityLow), driver.WithDelayedCompilation()} {
				pm := prepareTen(t, openStoring(t, b, o), append(opts, delay, driver.WithCacheFiles(cache.Token{}, files, files))...)
				requireTen(t, pm)
				require.NoError(t, pm.Close())
			}
		}
	}
	require.NotZero(t, warned.Load())
}

// TestQ5DelayedDeadline: an execution waits for the compilation until its deadline; the compilation goes on, so that the
// next one finds the model.
func TestQ5DelayedDeadline(t *testing.T) {
	b := newPhased()
	b.hold = make(chan struct{})
	pm := prepareTen(t, openStoring(t, b, uncached), driver.WithDelayedCompilation())
	run := func(opts ...driver.ExecuteOption) error {
		_, err := pm.Run(t.Context(), [][]byte{{7, 7, 7, 7, 7}}, pm.NewOutputs(), opts...)
		return err
	}
	for range 2 {
		requireMissed(t, run(driver.WithDeadline(time.Now().Add(20*time.Millisecond))))
	}
	require.EqualValues(t, 1, b.optimised.Load())
	close(b.hold)
	require.NoError(t, run())
	require.EqualValues(t, 1, b.optimised.Load())
	requireTen(t, pm)

	// Closing waits for a compilation that nobody waits for any more.
	b.hold = make(chan struct{})
	pm = prepareTen(t, openStoring(t, b, uncached), driver.WithDelayedCompilation())
	requireMissed(t, run(driver.WithDeadline(time.Now().Add(20*time.Millisecond))))
	open := b.open.Load()
	go close(b.hold)
	require.NoError(t, pm.Close())
	require.Equal(t, open, b.open.Load())
}

// TestQ3DelayedDeadline: nothing is compiled, so that no compilation can be too long.
func TestQ3DelayedDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, c, _ := start(t, &null.Backend{})
		deadline := driver.WithPrepareDeadline(time.Now().Add(time.Millisecond))
		_, err := c.PrepareModel(t.Context(), binaryModel(nn.OpMul, 3), deadline)
		requireStatus(t, nn.StatusMissedDeadlineTransient, err)
		_, err = c.PrepareModel(t.Context(), binaryModel(nn.OpMul, 3), deadline, driver.WithDelayedCompilation())
		require.NoError(t, err)
		require.NoError(t, d.Close())
	})
}

// TestM13NotCompiled: a compilation that fails leaves buffers alone.
func TestM13NotCompiled(t *testing.T) {
	hold := make(chan struct{})
	b := &null.Backend{Compute: add, Hold: hold}
	_, c := open(t, b)
	pm, err := c.PrepareModel(t.Context(), addModel(), driver.WithDelayedCompilation())
	require.NoError(t, err)
	buffer := allocate(t, c, nil, nil, roleOf(pm, 0))
	require.NoError(t, buffer.CopyFrom(t.Context(), nn.HostMemory{1, 2, 3, 4, 5, 6}, nil))
	_, err = pm.Execute(t.Context(), bufferRequest(nil, nil, buffer), driver.WithDeadline(time.Now().Add(20*time.Millisecond)))
	requireMissed(t, err)
	require.Equal(t, []byte{1, 2, 3, 4, 5, 6}, read(t, buffer, 6))
	close(hold)
}
