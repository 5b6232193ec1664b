package driver_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

func wait(t *testing.T, f *driver.Fence) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err := f.Wait(ctx)
	require.NoError(t, ctx.Err(), "the fence was not signalled")
	return err
}

// TestX7FencedRunsAfterItsFences: nothing reaches the device before, and the fence comes after the outputs.
func TestX7FencedRunsAfterItsFences(t *testing.T) {
	b := &null.Backend{Compute: add}
	pm := prepare(t, b, addModel())
	own := driver.NewFence()
	file, err := driver.NewFence().File()
	require.NoError(t, err)
	defer file.Close()
	signal := driver.NewFence()
	event, err := signal.File()
	require.NoError(t, err)
	defer event.Close()
	imported, err := driver.ImportFence(event)
	require.NoError(t, err)

	r := addRequest()
	e, err := pm.ExecuteFenced(t.Context(), r, []*driver.Fence{own, imported}, driver.WithTiming())
	require.NoError(t, err)
	_, err = e.Result() // X8
	requireStatus(t, nn.StatusGeneralFailure, err)
	own.Signal(nil)
	time.Sleep(2 * time.Millisecond)
	require.NotContains(t, b.Calls(), "submit", "one fence is not signalled")
	signal.Signal(nil)
	require.NoError(t, wait(t, e.Fence()))
	res, err := e.Result()
	require.NoError(t, err)
	require.Positive(t, res.SinceFences)
	require.GreaterOrEqual(t, res.SinceLaunch, res.SinceFences)
	pool := r.Pools[0].(nn.HostMemory)
	require.Equal(t, pool[0]+pool[8], pool[16])

	// X9: the fence is a wait fence of the next.
	next, err := pm.ExecuteFenced(t.Context(), r, []*driver.Fence{e.Fence()})
	require.NoError(t, err)
	require.NoError(t, wait(t, next.Fence()))
	res, err = next.Result()
	require.NoError(t, err)
	require.Zero(t, res.SinceLaunch, "X6: not asked for")
	require.Zero(t, res.InDriver)
}

// TestX10WaitFenceFails at the call, and later.
func TestX10WaitFenceFails(t *testing.T) {
	b := &null.Backend{Compute: add}
	pm := prepare(t, b, addModel())
	bad := driver.NewFence()
	bad.Signal(errors.New("broken"))
	_, err := pm.ExecuteFenced(t.Context(), addRequest(), []*driver.Fence{bad})
	requireStatus(t, nn.StatusInvalidArgument, err)
	_, err = pm.ExecuteFenced(t.Context(), addRequest(), []*driver.Fence{nil}) // R2
	requireStatus(t, nn.StatusInvalidArgument, err)

	later := driver.NewFence()
	e, err := pm.ExecuteFenced(t.Context(), addRequest(), []*driver.Fence{later})
	require.NoError(t, err)
	broken := errors.New("broken")
	later.Signal(broken)
	require.ErrorIs(t, wait(t, e.Fence()), broken)
	_, err = e.Result()
	require.ErrorIs(t, err, broken)
	require.NotContains(t, b.Calls(), "submit")
}

// TestX10OneOfSeveralFails: the fence fails at once, whatever else is waited for, and nothing waits any longer.
func TestX10OneOfSeveralFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _, pm := start(t, &null.Backend{Compute: add})
		waits := []*driver.Fence{driver.NewFence(), driver.NewFence(), driver.NewFence()}
		e, err := pm.ExecuteFenced(context.Background(), addRequest(), waits)
		require.NoError(t, err)
		synctest.Wait()
		broken := errors.New("broken")
		waits[1].Signal(broken)
		synctest.Wait()
		require.ErrorIs(t, e.Fence().Err(), broken)
		require.ErrorContains(t, e.Fence().Err(), "wait fence 1")
		require.NoError(t, d.Close())
	})
}

// TestX4FencedWantsKnownOutputs, and a request that breaks a rule is refused at the call.
func TestX4FencedWantsKnownOutputs(t *testing.T) {
	m := addModel()
	m.Main.Operands[m.Main.Outputs[0]].Dims = nn.Dims{0, 3}
	pm := prepare(t, &null.Backend{Compute: add}, m)
	_, err := pm.ExecuteFenced(t.Context(), addRequest(), nil)
	requireStatus(t, nn.StatusInvalidArgument, err)
	r := addRequest()
	r.Outputs[0].Dims = nn.Dims{2, 3}
	e, err := pm.ExecuteFenced(t.Context(), r, nil)
	require.NoError(t, err)
	require.NoError(t, wait(t, e.Fence()))
	r.Inputs = r.Inputs[:1] // R1
	_, err = pm.ExecuteFenced(t.Context(), r, nil)
	requireStatus(t, nn.StatusInvalidArgument, err)
}

// TestX11DurationAfterFences begins when the fences are signalled; the nearer of it and the deadline counts.
func TestX11DurationAfterFences(t *testing.T) {
	gate := make(chan struct{})
	b := &null.Backend{Compute: add, Gate: gate, Segments: 2, SegmentTime: time.Microsecond}
	pm := prepare(t, b, addModel())
	start := driver.NewFence()
	e, err := pm.ExecuteFenced(t.Context(), addRequest(), []*driver.Fence{start}, driver.WithDurationAfterFences(30*time.Millisecond))
	require.NoError(t, err)
	time.Sleep(40 * time.Millisecond) // does not count yet
	require.NoError(t, e.Fence().Err())
	start.Signal(nil)
	require.Eventually(t, func() bool { return submitted(b) == 1 }, 20*time.Second, time.Millisecond)
	time.Sleep(40 * time.Millisecond)
	gate <- struct{}{} // the first segment ends: too late for the second
	err = wait(t, e.Fence())
	require.Contains(t, []nn.Status{nn.StatusMissedDeadlineTransient, nn.StatusMissedDeadlinePersistent}, nn.StatusOf(err), "%v", err)
	require.Equal(t, 1, submitted(b))

	_, err = pm.ExecuteFenced(t.Context(), addRequest(), nil, driver.WithDurationAfterFences(-1))
	requireStatus(t, nn.StatusInvalidArgument, err)
	never := driver.NewFence()
	e, err = pm.ExecuteFenced(t.Context(), addRequest(), []*driver.Fence{never}, driver.WithDeadline(time.Now().Add(20*time.Millisecond)))
	require.NoError(t, err)
	requireStatus(t, nn.StatusMissedDeadlineTransient, wait(t, e.Fence()))
}

func submitted(b *null.Backend) (n int) {
	for _, c := range b.Calls() {
		if c == "submit" {
			n++
		}
	}
	return n
}

// TestFencedCloses: closing the model waits for an execution that waits, and ends when that is given up.
func TestFencedCloses(t *testing.T) {
	pm := prepare(t, &null.Backend{Compute: add}, addModel())
	ctx, cancel := context.WithCancel(t.Context())
	e, err := pm.ExecuteFenced(ctx, addRequest(), []*driver.Fence{driver.NewFence()})
	require.NoError(t, err)
	cancel()
	require.NoError(t, pm.Close())
	require.ErrorIs(t, wait(t, e.Fence()), context.Canceled)
	_, err = pm.ExecuteFenced(t.Context(), addRequest(), nil)
	require.ErrorIs(t, err, driver.ErrClosed)
}

// TestX15ReusableExecution runs a request again, one run at a time.
func TestX15ReusableExecution(t *testing.T) {
	gate := make(chan struct{})
	b := &null.Backend{Compute: add, Gate: gate}
	pm := prepare(t, b, addModel())
	bad := addRequest()
	bad.Inputs = bad.Inputs[:1]
	_, err := pm.NewExecution(bad)
	requireStatus(t, nn.StatusInvalidArgument, err)

	r := addRequest()
	pool := r.Pools[0].(nn.HostMemory)
	x, err := pm.NewExecution(r)
	require.NoError(t, err)
	first, err := x.RunFenced(t.Context(), nil)
	require.NoError(t, err)
	_, err = x.Run(t.Context())
	requireStatus(t, nn.StatusGeneralFailure, err)
	_, err = x.RunFenced(t.Context(), nil)
	requireStatus(t, nn.StatusGeneralFailure, err)
	close(gate)
	require.NoError(t, wait(t, first.Fence()))
	require.Equal(t, pool[0]+pool[8], pool[16])
	pool[0], pool[16] = 77, 0
	_, err = x.Run(t.Context(), driver.WithDeadline(time.Now().Add(time.Hour)))
	require.NoError(t, err)
	require.Equal(t, 77+pool[8], pool[16])
}
