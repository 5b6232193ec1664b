package driver_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

// sumRows is what rows of a kind, or all, take together.
func sumRows(p *driver.Profile, kind driver.ProfileKind) (sum time.Duration) {
	for _, r := range p.Rows {
		if kind == "" || r.Kind == kind {
			sum += r.Time
		}
	}
	return sum
}

// row is the row of a name, zero where there is none.
func row(p *driver.Profile, name string) (found driver.ProfileRow) {
	for _, r := range p.Rows {
		if r.Name == name {
			found = r
		}
	}
	return found
}

var nullSteps = []backend.Step{
	{Kind: backend.StepConvertsInput, Label: "input", Kernel: "reshape"},
	{Label: "ADD #0", Kernel: "add", Why: "there is no other", FLOP: 6, Bytes: 18, Ceiling: "memory", Least: time.Microsecond},
	{Kind: backend.StepCopies, Label: "output", Kernel: "copy", Segment: 1},
}

// TestProfileAddsUp: rows add up to the time of the call, and say where it went: to the device where that works, to the
// queue behind others.
func TestProfileAddsUp(t *testing.T) {
	b := &null.Backend{Compute: add, Gate: make(chan struct{}), Segments: 2, Steps: nullSteps}
	p := prepare(t, b, addModel())
	slow := func(n int) { // the device takes its time
		for range n {
			time.Sleep(20 * time.Millisecond)
			b.Gate <- struct{}{}
		}
	}
	for _, opt := range []driver.ExecuteOption{driver.WithProfile(), driver.WithStepProfile()} {
		go slow(2)
		begin := time.Now()
		res, err := p.Execute(t.Context(), addRequest(), opt)
		wall := time.Since(begin)
		require.NoError(t, err)
		f := res.Profile()
		require.NotNil(t, f)
		require.InEpsilon(t, f.Wall, sumRows(f, ""), 0.001)
		require.LessOrEqual(t, f.Wall, wall)
		require.False(t, f.Began.Before(begin))
		require.GreaterOrEqual(t, row(f, "ADD #0").Time, 10*time.Millisecond)
		require.Equal(t, driver.ProfileRow{
			Name: "ADD #0", Kind: driver.ProfileOp, Time: row(f, "ADD #0").Time, Uncertainty: row(f, "ADD #0").Uncertainty,
			Runs: 1, Kernel: "add", Why: "there is no other", FLOP: 6, Bytes: 18, Ceiling: "memory", Least: time.Microsecond,
		}, row(f, "ADD #0"))
		require.Equal(t, driver.ProfileConversion, row(f, "input").Kind)
		require.Equal(t, driver.ProfileCopy, row(f, "output").Kind)
		require.Positive(t, row(f, "bind").Time)
		require.Positive(t, row(f, "finish").Time)
		for i, s := range f.Spans {
			require.True(t, i == 0 || !s.From.Before(f.Spans[i-1].From), "in order")
			require.False(t, s.To.After(f.Began.Add(f.Wall).Add(time.Millisecond)))
		}
	}

	// One that waits for another says so.
	go slow(4)
	first := p.ExecuteAsync(t.Context(), addRequest())
	time.Sleep(5 * time.Millisecond)
	res, err := p.Execute(t.Context(), addRequest(), driver.WithProfile())
	require.NoError(t, err)
	_, err = first.Wait()
	require.NoError(t, err)
	waited := row(res.Profile(), "queue").Time + row(res.Profile(), "preempted").Time
	require.GreaterOrEqual(t, waited, 10*time.Millisecond)
	require.InEpsilon(t, res.Profile().Wall, sumRows(res.Profile(), ""), 0.001)
}

// TestProfileOfABackendThatTellsNothing: the device's time is one row.
func TestProfileOfABackendThatTellsNothing(t *testing.T) {
	b := &null.Backend{Compute: add}
	res, err := prepare(t, b, addModel()).Execute(t.Context(), addRequest(), driver.WithProfile())
	require.NoError(t, err)
	require.InEpsilon(t, res.Profile().Wall, sumRows(res.Profile(), ""), 0.001)
	require.Equal(t, "device", res.Profile().Rows[0].Name)
}

// TestNoProfile: nobody gets one who did not ask, nor whose execution failed.
func TestNoProfile(t *testing.T) {
	b := &null.Backend{Compute: add, Steps: nullSteps}
	p := prepare(t, b, addModel())
	res, err := p.Execute(t.Context(), addRequest())
	require.NoError(t, err)
	require.Nil(t, res.Profile())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res, err = p.Execute(ctx, addRequest(), driver.WithProfile())
	require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err))
	require.Nil(t, res)
}

// TestProfileOfFenced: a fenced execution has one too, from when its fences were signalled.
func TestProfileOfFenced(t *testing.T) {
	p := prepare(t, &null.Backend{Compute: add, Steps: nullSteps}, addModel())
	wait := driver.NewFence()
	e, err := p.ExecuteFenced(t.Context(), addRequest(), []*driver.Fence{wait}, driver.WithProfile())
	require.NoError(t, err)
	const waited = 500 * time.Millisecond
	time.Sleep(waited)
	wait.Signal(nil)
	require.NoError(t, e.Fence().Wait(t.Context()))
	res, err := e.Result()
	require.NoError(t, err)
	require.Less(t, res.Profile().Wall, waited)
	require.NotZero(t, row(res.Profile(), "ADD #0"))
}
