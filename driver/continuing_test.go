package driver_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

// looping is a backend whose executions have parts of one segment, which is expected to take a millisecond.
type looping struct {
	*null.Backend
	parts int           // after the first
	limit time.Duration // that the last execution was given
	asked int           // calls of Next
	err   error         // of Next
}

func (b *looping) Compile(ctx context.Context, m *nn.Model, o backend.Options) (backend.Executable, error) {
	exe, err := b.Backend.Compile(ctx, m, o)
	return &loopingExecutable{exe, b}, err
}

type loopingExecutable struct {
	backend.Executable
	b *looping
}

func (e *loopingExecutable) Later() time.Duration { return time.Duration(e.b.parts) * time.Millisecond }

func (e *loopingExecutable) Begin(ctx context.Context, inputs, outputs []backend.Binding) (backend.Execution, error) {
	x, err := e.Executable.Begin(ctx, inputs, outputs)
	return &loopingExecution{Execution: x, b: e.b, left: e.b.parts}, err
}

type loopingExecution struct {
	backend.Execution
	b    *looping
	left int
}

func (x *loopingExecution) LimitLoops(d time.Duration) { x.b.limit = d }

func (x *loopingExecution) Next(context.Context) ([]time.Duration, time.Duration, error) {
	x.b.asked++
	if x.left == 0 || x.b.err != nil {
		return nil, 0, x.b.err
	}
	x.left--
	return []time.Duration{time.Millisecond}, time.Duration(x.left) * time.Millisecond, nil
}

// TestContinuing: an execution goes on until its backend says that it has ended, whatever form it has; loops have the
// limit of the option; what comes later counts for deadlines.
func TestContinuing(t *testing.T) {
	for name, opts := range map[string][]driver.Option{"plain": nil, "delayed": {driver.WithDelayedCompilation()}, "staged": {driver.WithStagedCompilation(100)}} {
		t.Run(name, func(t *testing.T) {
			b := &looping{Backend: &null.Backend{SegmentTime: time.Millisecond, Quick: name == "staged"}, parts: 7}
			d := driver.NewDevice(b)
			t.Cleanup(func() { require.NoError(t, d.Close()) })
			c, err := d.NewClient(name)
			require.NoError(t, err)
			pm, err := c.PrepareModel(t.Context(), addModel(), opts...)
			require.NoError(t, err)
			if name == "delayed" {
				_, err = pm.Execute(t.Context(), addRequest()) // compiles it
				require.NoError(t, err)
				b.asked = 0
			}
			run := func(opts ...driver.ExecuteOption) (*driver.Result, error) {
				return pm.Execute(t.Context(), addRequest(), opts...)
			}
			res, err := run()
			require.NoError(t, err)
			require.Equal(t, 8, b.asked)
			require.Equal(t, 2*time.Second, b.limit)
			require.Equal(t, 8, res.Schedule.Submissions)
			_, err = run(driver.WithLoopTimeout(5*time.Millisecond), driver.WithProfile())
			require.NoError(t, err)
			require.Equal(t, 5*time.Millisecond, b.limit)

			e, err := pm.NewExecution(addRequest(), driver.WithLoopTimeout(time.Second))
			require.NoError(t, err)
			for range 3 {
				res, err := e.Run(t.Context())
				require.NoError(t, err)
				require.Equal(t, 8, res.Schedule.Submissions)
				require.Equal(t, time.Second, b.limit)
			}
			require.GreaterOrEqual(t, res.Predicted, time.Millisecond)
			b.parts = 100_000
			_, err = run(driver.WithDeadline(time.Now().Add(50 * time.Millisecond)))
			requireStatus(t, nn.StatusMissedDeadlineTransient, err)
			b.parts, b.err = 3, nn.Errorf(nn.StatusMissedDeadlineTransient, "loop", "too long")
			f, err := pm.ExecuteFenced(t.Context(), addRequest(), nil, driver.WithSyncFile())
			require.NoError(t, err)
			requireStatus(t, nn.StatusMissedDeadlineTransient, f.Fence().Wait(t.Context()))
		})
	}
}

// capturing is a backend that keeps the options of the last compilation.
type capturing struct {
	*null.Backend
	o backend.Options
}

func (b *capturing) Compile(ctx context.Context, m *nn.Model, o backend.Options) (backend.Executable, error) {
	b.o = o
	return b.Backend.Compile(ctx, m, o)
}

// TestPauseWithin: what an execution has compiled gives way to others for a tenth of a second, not to itself; what is urgent
// gives way to nobody.
func TestPauseWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &capturing{Backend: &null.Backend{Gate: make(chan struct{})}}
		d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
		c, err := d.NewClient("test")
		require.NoError(t, err)
		_, err = c.PrepareModel(t.Context(), addModel(), driver.WithPriority(nn.PriorityHigh))
		require.NoError(t, err)
		require.Nil(t, b.o.PauseWithin)
		pm, err := c.PrepareModel(t.Context(), addModel())
		require.NoError(t, err)
		pause := func() time.Duration {
			from := time.Now()
			require.NoError(t, b.o.PauseWithin(t.Context()))
			return time.Since(from)
		}
		require.Zero(t, pause())
		first := pm.ExecuteAsync(t.Context(), addRequest())
		synctest.Wait()
		require.Zero(t, pause(), "it is the one that waits")
		second := pm.ExecuteAsync(t.Context(), addRequest())
		synctest.Wait()
		require.Equal(t, 100*time.Millisecond, pause())
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, b.o.PauseWithin(ended), context.Canceled)
		close(b.Gate)
		for _, e := range []*driver.Execution{first, second} {
			_, err := e.Wait()
			require.NoError(t, err)
		}
		require.NoError(t, d.Close())
	})
}
