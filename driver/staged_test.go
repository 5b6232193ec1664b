package driver_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/tests/logtest"
)

func TestStagedCompilation(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), newPhased()
	pm := prepareTen(t, openStoring(t, b, o), driver.WithStagedCompilation(2))
	require.Equal(t, driver.CacheMiss, pm.Cached())
	requireTen(t, pm)
	require.Equal(t, quickPipelines, pm.Stats().Pipelines)
	require.EqualValues(t, []int32{1, 0}, []int32{b.quick.Load(), b.optimised.Load()})
	requireTen(t, pm)
	await(t, b.quickClosed)
	require.Equal(t, optimisedPipelines, pm.Stats().Pipelines)
	for range 5 {
		requireTen(t, pm)
	}
	require.EqualValues(t, []int32{1, 1}, []int32{b.quick.Load(), b.optimised.Load()}, "once is enough")
	require.EqualValues(t, 1, b.open.Load())

	for range 2 { // the next process finds the optimised form, whatever it asks for, and no other entry
		for _, opts := range [][]driver.Option{nil, {driver.WithStagedCompilation(0)}} {
			pm := prepareTen(t, openStoring(t, b, o), opts...)
			require.Equal(t, driver.CacheHit, pm.Cached())
			require.Equal(t, optimisedPipelines, pm.Stats().Pipelines)
			requireTen(t, pm)
		}
	}
	store, err := cache.Open(cache.Options{Dir: o.Dir, StateDir: o.StateDir})
	require.NoError(t, err)
	infos, err := store.List()
	require.NoError(t, err)
	require.Len(t, infos, 1)
	require.EqualValues(t, 1, b.optimised.Load())
	require.Zero(t, warned.Load())
}

// TestStagedGoesOn: a process that ended too early left the quick form. Only a staged compilation finds it.
func TestStagedGoesOn(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), newPhased()
	requireTen(t, prepareTen(t, openStoring(t, b, o), driver.WithStagedCompilation(100)))

	pm := prepareTen(t, openStoring(t, b, o), driver.WithStagedCompilation(1))
	require.Equal(t, driver.CacheHit, pm.Cached())
	require.Equal(t, quickPipelines, pm.Stats().Pipelines)
	requireTen(t, pm)
	await(t, b.quickClosed)
	require.Equal(t, optimisedPipelines, pm.Stats().Pipelines)
	requireTen(t, pm)
	require.EqualValues(t, 1, b.quick.Load())

	o = cacheOptions(t, &warned)
	requireTen(t, prepareTen(t, openStoring(t, b, o), driver.WithStagedCompilation(100)))
	pm = prepareTen(t, openStoring(t, b, o))
	require.Equal(t, driver.CacheMiss, pm.Cached())
	require.Equal(t, optimisedPipelines, pm.Stats().Pipelines)
	require.Zero(t, warned.Load())
}

// TestStagedInFlight: an execution ends on what it began on, which is closed then and not before.
func TestStagedInFlight(t *testing.T) {
	b := newPhased()
	b.hold, b.finish = make(chan struct{}), make(chan struct{})
	pm := prepareTen(t, openStoring(t, b, uncached), driver.WithStagedCompilation(0))
	await(t, b.began)
	out := pm.NewOutputs()
	r := &nn.Request{Pools: []nn.Memory{nn.HostMemory{7, 7, 7, 7, 7}, nn.HostMemory(out[0])}}
	r.Inputs = []nn.RequestArgument{{Location: nn.Location{PoolIndex: 0, Length: 5}}}
	r.Outputs = []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: 5}}}
	old := pm.ExecuteAsync(t.Context(), r)
	for b.beginnings.Load() == 0 { // ends, or the test's time does
		time.Sleep(time.Millisecond)
	}
	close(b.hold)
	for pm.Stats().Pipelines != optimisedPipelines {
		time.Sleep(time.Millisecond)
	}
	requireTen(t, pm)
	require.Empty(t, b.quickClosed, "an execution is on it")
	require.EqualValues(t, 2, b.open.Load())
	close(b.finish)
	_, err := old.Wait()
	require.NoError(t, err)
	require.Equal(t, byte(10), out[0][0])
	await(t, b.quickClosed)
}

// TestStagedCloseGivesUp: Close ends a compilation in the background, and one that waits for its turn.
func TestStagedCloseGivesUp(t *testing.T) {
	var warned atomic.Int32
	b := newPhased()
	b.hold = make(chan struct{}) // never closed
	c := openStoring(t, b, cacheOptions(t, &warned))
	first := prepareTen(t, c, driver.WithStagedCompilation(0))
	await(t, b.began)
	second := prepareTen(t, c, driver.WithStagedCompilation(0), driver.WithPreference(nn.LowPower))
	idle := prepareTen(t, c, driver.WithStagedCompilation(1), driver.WithPreference(nn.SustainedSpeed))
	for _, pm := range []*driver.PreparedModel{second, first, idle} {
		require.NoError(t, pm.Close())
	}
	require.Zero(t, b.open.Load())
	require.Zero(t, warned.Load(), "nothing failed")
}

// TestStagedOneAtATime: models of a device are optimised after each other.
func TestStagedOneAtATime(t *testing.T) {
	b := newPhased()
	c := openStoring(t, b, uncached)
	const models = 8
	for range models {
		prepareTen(t, c, driver.WithStagedCompilation(0))
	}
	for range models {
		await(t, b.quickClosed)
	}
	require.EqualValues(t, 1, b.most.Load())
	require.EqualValues(t, models, b.optimised.Load())
}

// TestStagedFailure changes nothing and is told once of each model.
func TestStagedFailure(t *testing.T) {
	var warned atomic.Int32
	b := newPhased()
	b.fail = func(o backend.Options) error {
		if !o.Quick {
			return nn.Errorf(nn.StatusResourceExhaustedTransient, "model", "no memory")
		}
		return nil
	}
	o := cacheOptions(t, &warned)
	told := make(chan error, 100)
	o.warn = func(w logtest.Warning) { told <- w.Err }
	c := openStoring(t, b, o)
	var list []*driver.PreparedModel
	for _, p := range []nn.Preference{nn.LowPower, nn.FastSingleAnswer} {
		list = append(list, prepareTen(t, c, driver.WithStagedCompilation(1), driver.WithPreference(p)))
	}
	for _, pm := range list {
		for range 3 {
			requireTen(t, pm)
		}
		await(t, b.began)
	}
	for _, pm := range list {
		require.ErrorContains(t, <-told, "no memory")
		requireTen(t, pm)
		require.Equal(t, quickPipelines, pm.Stats().Pipelines)
		require.NoError(t, pm.Close()) // waits for what goes on
	}
	require.Empty(t, told)
	require.EqualValues(t, 2, b.optimised.Load(), "nobody tries again")

	b.fail = func(backend.Options) error { return errors.New("no device") }
	_, err := c.PrepareModel(t.Context(), binaryModel(nn.OpMul, 3), driver.WithStagedCompilation(1))
	require.ErrorContains(t, err, "no device")
	require.Zero(t, b.open.Load())
}

// TestStagedOutgrowsTheBudget: a better form that takes more than the client may have is there already, and must not
// cost the client a model that worked. What comes after it is refused.
func TestStagedOutgrowsTheBudget(t *testing.T) {
	b := newPhased()
	b.quickBytes, b.optimisedBytes = 60, 150
	var warnings []logtest.Warning
	log := logtest.New(func(w logtest.Warning) { warnings = append(warnings, w) })
	d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}), driver.WithLogger(log))
	defer d.Close()
	c, err := d.NewClient("small", driver.WithClientBudget(100))
	require.NoError(t, err)
	pm := prepareTen(t, c, driver.WithStagedCompilation(1))
	require.EqualValues(t, 60, c.Memory())
	requireTen(t, pm)
	await(t, b.quickClosed)
	requireTen(t, pm)
	require.EqualValues(t, 150, c.Memory())
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0].Message, "outgrown its client's budget")
	_, err = c.PrepareModel(t.Context(), binaryModel(nn.OpAdd, 3), driver.WithStagedCompilation(1))
	requireStatus(t, nn.StatusResourceExhaustedTransient, err)
	require.NoError(t, pm.Close())
	require.Zero(t, c.Memory())

	// One that is compiled late was never accepted.
	late := prepareTen(t, c, driver.WithDelayedCompilation())
	_, err = late.Run(t.Context(), [][]byte{{7, 7, 7, 7, 7}}, late.NewOutputs())
	requireStatus(t, nn.StatusResourceExhaustedPersistent, err)
	require.NoError(t, late.Close())
	require.Zero(t, c.Memory())
}

// TestStagedHammer executes while the form changes.
func TestStagedHammer(t *testing.T) {
	b := newPhased()
	c := openStoring(t, b, uncached)
	for range 30 {
		pm := prepareTen(t, c, driver.WithStagedCompilation(5))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 10 {
					out := pm.NewOutputs()
					if _, err := pm.Run(context.Background(), [][]byte{{7, 7, 7, 7, 7}}, out); err != nil || out[0][4] != 10 {
						t.Errorf("%v, %v", out, err)
					}
					_ = pm.Stats()
				}
			})
		}
		wg.Wait()
		await(t, b.quickClosed)
		require.NoError(t, pm.Close())
	}
	require.Zero(t, b.open.Load())
}

// TestC19StagedFiles: the client closes its files after the preparation; the optimised form is saved in them later.
func TestC19StagedFiles(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), newPhased()
	token, dir := cache.Token{1}, t.TempDir()
	open := func() (model, data []*os.File) {
		for _, name := range []string{"model", "data"} {
			f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600)
			require.NoError(t, err)
			model, data = data, []*os.File{f}
		}
		return model, data
	}
	load := func() *driver.PreparedModel {
		model, data := open()
		defer model[0].Close()
		defer data[0].Close()
		pm, err := openStoring(t, b, o).PrepareModelFromCache(t.Context(), token, model, data)
		require.NoError(t, err)
		requireTen(t, pm)
		return pm
	}
	model, data := open()
	pm := prepareTen(t, openStoring(t, b, o), driver.WithStagedCompilation(1), driver.WithCacheFiles(token, model, data))
	require.NoError(t, model[0].Close())
	require.NoError(t, data[0].Close())
	require.Equal(t, 1, handlesOf(t, filepath.Join(dir, "model")))
	require.Equal(t, quickPipelines, load().Stats().Pipelines, "the next process has to do with that")

	requireTen(t, pm)
	await(t, b.quickClosed)
	require.NoError(t, pm.Close())
	for _, name := range []string{"model", "data"} {
		require.Zero(t, handlesOf(t, filepath.Join(dir, name)))
	}
	require.Equal(t, optimisedPipelines, load().Stats().Pipelines)
	require.Zero(t, warned.Load())
}

// TestC24StagedFolder is WithCaching with both forms.
func TestC24StagedFolder(t *testing.T) {
	var warned atomic.Int32
	o, b := cacheOptions(t, &warned), newPhased()
	dir := t.TempDir()
	prepare := func(opts ...driver.Option) *driver.PreparedModel {
		pm := prepareTen(t, openStoring(t, b, o), append(opts, driver.WithCaching(dir, cache.Token{1}))...)
		requireTen(t, pm)
		return pm
	}
	require.Equal(t, driver.CacheMiss, prepare(driver.WithStagedCompilation(100)).Cached())
	pm := prepare(driver.WithStagedCompilation(1))
	require.Equal(t, driver.CacheHit, pm.Cached())
	await(t, b.quickClosed)
	require.NoError(t, pm.Close())
	pm = prepare()
	require.Equal(t, driver.CacheHit, pm.Cached())
	require.Equal(t, optimisedPipelines, pm.Stats().Pipelines)

	dir = t.TempDir() // a preparation in full takes no quick form
	require.Equal(t, driver.CacheMiss, prepare(driver.WithStagedCompilation(100)).Cached())
	pm = prepare()
	require.Equal(t, driver.CacheRejected, pm.Cached())
	require.Equal(t, optimisedPipelines, pm.Stats().Pipelines)
	require.Equal(t, driver.CacheHit, prepare().Cached())
	require.Zero(t, warned.Load())
}

// TestStagedFormsAreExpectedApart: what the quick form takes says nothing of the optimised one, neither to deadlines nor
// in the cache.
func TestStagedFormsAreExpectedApart(t *testing.T) {
	b := newPhased()
	b.quickTime, b.optimisedTime, b.hold = time.Hour, time.Millisecond, make(chan struct{})
	var warned atomic.Int32
	o := cacheOptions(t, &warned)
	pm := prepareTen(t, openStoring(t, b, o), driver.WithStagedCompilation(0))
	execute := func() error {
		out := pm.NewOutputs()
		_, err := pm.Run(t.Context(), [][]byte{{7, 7, 7, 7, 7}}, out, driver.WithDeadline(time.Now().Add(time.Minute)))
		return err
	}
	requireStatus(t, nn.StatusMissedDeadlinePersistent, execute())
	for range 6 {
		requireTen(t, pm) // in no time, which is news
	}
	close(b.hold)
	await(t, b.quickClosed)
	require.NoError(t, execute())
	require.NoError(t, pm.Close())

	next := prepareTen(t, openStoring(t, b, o))
	require.Equal(t, driver.CacheHit, next.Cached())
	require.Equal(t, estimates(time.Millisecond), next.Estimates(), "one execution is not enough to say otherwise")
	require.Zero(t, warned.Load())
}

// TestStagedCloseKeepsTheRightForm: Close gives up the optimised form before it keeps what was learned of the quick one.
func TestStagedCloseKeepsTheRightForm(t *testing.T) {
	b := newPhased()
	b.quickTime, b.hold = time.Hour, make(chan struct{})
	var warned atomic.Int32
	o := cacheOptions(t, &warned)
	pm := prepareTen(t, openStoring(t, b, o), driver.WithStagedCompilation(1))
	for range 6 {
		requireTen(t, pm)
	}
	await(t, b.began)
	require.NoError(t, pm.Close())
	_, err := pm.Execute(t.Context(), nil)
	require.ErrorIs(t, err, driver.ErrClosed)

	next := prepareTen(t, openStoring(t, b, o), driver.WithStagedCompilation(100))
	require.Equal(t, quickPipelines, next.Stats().Pipelines)
	require.Less(t, next.Estimates()[0], time.Minute)
	require.Zero(t, warned.Load())
}
