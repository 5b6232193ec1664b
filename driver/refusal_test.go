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
	"github.com/nngpu/nngpu/qos"
)

const ms = time.Millisecond

// fencedEnd is how a fenced execution ends, be it at the call.
func fencedEnd(p *driver.PreparedModel, waits []*driver.Fence, o ...driver.ExecuteOption) error {
	e, err := p.ExecuteFenced(context.Background(), addRequest(), waits, o...)
	if err != nil {
		return err
	}
	return e.Fence().Wait(context.Background())
}

// TestQ8TimeLostInWaiting: what an idle device could have done in time, had it not waited for a fence, a buffer or a
// compilation, is TRANSIENT, for the same call may succeed the next time; and then it does.
func TestQ8TimeLostInWaiting(t *testing.T) {
	const work, given, lost = 50 * ms, 90 * ms, 60 * ms
	backend := func() *null.Backend {
		return &null.Backend{Compute: add, Segments: 5, SegmentTime: work / 5}
	}
	deadline := func() driver.ExecuteOption { return driver.WithDeadline(time.Now().Add(given)) }
	later := func(wait time.Duration, do func()) { time.AfterFunc(wait, do) }
	t.Run("fence", func(t *testing.T) {
		for _, more := range [][]driver.ExecuteOption{nil, {driver.WithDurationAfterFences(time.Second)}} {
			synctest.Test(t, func(t *testing.T) {
				d, _, pm := start(t, backend())
				for _, wait := range []time.Duration{lost, given + 1, 0} {
					f := driver.NewFence()
					later(wait, func() { f.Signal(nil) })
					err := fencedEnd(pm, []*driver.Fence{f}, append(more, deadline())...)
					if wait == 0 {
						require.NoError(t, err)
					} else {
						requireStatus(t, nn.StatusMissedDeadlineTransient, err)
						require.ErrorIs(t, err, context.DeadlineExceeded)
					}
				}
				require.NoError(t, d.Close())
			})
		}
	})
	t.Run("buffer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := backend()
			b.Gate = make(chan struct{})
			d, c, pm := start(t, b)
			z := allocate(t, c, nil, nil, []driver.BufferRole{{Model: pm, Index: 0, Probability: 1}})
			running := pm.ExecuteAsync(context.Background(), bufferRequest(nil, nil, z))
			synctest.Wait()
			later(lost, func() { close(b.Gate) })
			_, err := pm.Execute(context.Background(), bufferRequest(nil, nil, z), deadline())
			requireStatus(t, nn.StatusMissedDeadlineTransient, err)
			_, err = running.Wait()
			require.NoError(t, err)
			_, err = pm.Execute(context.Background(), bufferRequest(nil, nil, z), deadline())
			require.NoError(t, err)
			require.NoError(t, d.Close())
		})
	})
	t.Run("compilation", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := backend()
			b.Hold = make(chan struct{})
			d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}))
			c, err := d.NewClient("test")
			require.NoError(t, err)
			pm, err := c.PrepareModel(context.Background(), addModel(), driver.WithDelayedCompilation())
			require.NoError(t, err)
			later(lost, func() { close(b.Hold) })
			_, err = pm.Execute(context.Background(), addRequest(), deadline())
			requireStatus(t, nn.StatusMissedDeadlineTransient, err)
			_, err = pm.Execute(context.Background(), addRequest(), deadline())
			require.NoError(t, err)
			require.NoError(t, d.Close())
		})
	})
}

// TestQ8HopelessBehindFences: what no idle device could do in time is refused at the call, whatever is waited for.
func TestQ8HopelessBehindFences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &null.Backend{Compute: add, Segments: 5, SegmentTime: 100 * ms}
		d, _, pm := start(t, b)
		calls := len(b.Calls())
		never := []*driver.Fence{driver.NewFence()}
		for _, o := range [][]driver.ExecuteOption{
			{driver.WithDeadline(time.Now().Add(100 * ms))},
			{driver.WithDurationAfterFences(100 * ms)},
			{driver.WithDurationAfterFences(100 * ms), driver.WithDeadline(time.Now().Add(time.Hour))},
			{driver.WithDurationAfterFences(time.Hour), driver.WithDeadline(time.Now().Add(100 * ms))},
		} {
			e, err := pm.ExecuteFenced(context.Background(), addRequest(), never, o...)
			requireStatus(t, nn.StatusMissedDeadlinePersistent, err)
			require.ErrorIs(t, err, qos.ErrRefused)
			require.Nil(t, e)
		}
		require.Len(t, b.Calls(), calls)
		require.EqualValues(t, 4, d.Scheduling().Refused)
		bad := addRequest()
		bad.Inputs = bad.Inputs[:1]
		_, err := pm.ExecuteFenced(context.Background(), bad, never, driver.WithDeadline(time.Now().Add(100*ms)))
		requireStatus(t, nn.StatusInvalidArgument, err)
		require.NoError(t, d.Close())
	})
}

// TestRefusedBeforeAnyWork: a request that is refused has converted no image, read no file, mapped no pool and waited
// for no buffer.
func TestRefusedBeforeAnyWork(t *testing.T) {
	const each = time.Hour
	soon := func() driver.ExecuteOption { return driver.WithDeadline(time.Now().Add(each / 5)) } // less than the cost model could be wrong by
	behind := func() driver.ExecuteOption { return driver.WithDeadline(time.Now().Add(each * 3 / 2)) }
	past := func() driver.ExecuteOption { return driver.WithDeadline(time.Now()) }
	cases := []struct {
		name   string
		option func() driver.ExecuteOption
		want   nn.Status
	}{
		{"past", past, nn.StatusMissedDeadlinePersistent},
		{"hopeless", soon, nn.StatusMissedDeadlinePersistent},
		{"behind others", behind, nn.StatusMissedDeadlineTransient},
	}
	busy := func(t *testing.T, b *null.Backend, c *driver.Client) {
		pm := prepareOn(t, c, addModel())
		running := pm.ExecuteAsync(t.Context(), addRequest())
		t.Cleanup(func() {
			close(b.Gate)
			_, err := running.Wait()
			require.NoError(t, err)
		})
		require.Eventually(t, func() bool { return submitted(b) == 1 }, 20*time.Second, time.Millisecond)
	}
	newBackend := func() *null.Backend {
		return &null.Backend{SegmentTime: each, Gate: make(chan struct{})}
	}
	for _, tc := range cases {
		t.Run("image, "+tc.name, func(t *testing.T) {
			b := newBackend()
			_, c := open(t, b)
			busy(t, b, c)
			pm := prepareOn(t, c, imageModel(nn.TensorQuant8Asymm, 2))
			calls := len(b.Calls())
			_, err := pm.Execute(t.Context(), imageRequest(picture{pictureLayout, make(nn.HostMemory, 40)}), tc.option())
			requireStatus(t, tc.want, err)
			require.Len(t, b.Calls(), calls)
		})
		t.Run("file, "+tc.name, func(t *testing.T) {
			b := newBackend()
			_, c := open(t, b)
			busy(t, b, c)
			pm := prepareOn(t, c, addModel())
			r := addRequest()
			r.Pools[0] = untouched{}
			calls := len(b.Calls())
			_, err := pm.Execute(t.Context(), r, tc.option())
			requireStatus(t, tc.want, err)
			_, err = pm.Burst().Execute(t.Context(), r, []int32{0}, tc.option())
			requireStatus(t, tc.want, err)
			require.Len(t, b.Calls(), calls)
		})
		t.Run("pool, "+tc.name, func(t *testing.T) {
			b := newBackend()
			_, c := open(t, b)
			busy(t, b, c)
			pm := prepareOn(t, c, addModel())
			r := addRequest()
			r.Pools[0] = unmapped{}
			_, err := pm.Execute(t.Context(), r, tc.option())
			requireStatus(t, tc.want, err)
		})
		t.Run("buffer, "+tc.name, func(t *testing.T) { // does not wait for half an hour
			b := newBackend()
			_, c := open(t, b)
			pm := prepareOn(t, c, addModel())
			z := allocate(t, c, nil, nil, []driver.BufferRole{{Model: pm, Index: 0, Probability: 1}})
			running := pm.ExecuteAsync(t.Context(), bufferRequest(nil, nil, z))
			require.Eventually(t, func() bool { return submitted(b) == 1 }, 20*time.Second, time.Millisecond)
			_, err := pm.Execute(t.Context(), bufferRequest(nil, nil, z), tc.option())
			requireStatus(t, tc.want, err)
			close(b.Gate)
			_, err = running.Wait()
			require.NoError(t, err)
		})
	}
}

// TestRefusedWithItsConversion: making an input of an image counts, once one like it was made.
func TestRefusedWithItsConversion(t *testing.T) {
	b := &null.Backend{Compute: copyOut, SegmentTime: time.Hour}
	_, c := open(t, b)
	pm := prepareOn(t, c, imageModel(nn.TensorQuant8Asymm, 2))
	r := imageRequest(picture{pictureLayout, make(nn.HostMemory, 40)})
	one := func() driver.ExecuteOption { return driver.WithDeadline(time.Now().Add(90 * time.Minute)) }
	_, err := pm.Execute(t.Context(), imageRequest(picture{pictureLayout, make(nn.HostMemory, 40)}), one())
	require.NoError(t, err, "it took no time, and nothing was known of it")

	// The model is quick by now; what converting takes is not measured.
	calls := len(b.Calls())
	_, err = pm.Execute(t.Context(), r, driver.WithDeadline(time.Now().Add(30*time.Minute)))
	requireStatus(t, nn.StatusMissedDeadlineTransient, err)
	require.Len(t, b.Calls(), calls)
	_, err = pm.Execute(t.Context(), r, one())
	require.NoError(t, err)
}

// TestRefusalsAreDoubted: estimates that are far too long do not refuse for ever, and what they refuse is said to be worth
// another try.
func TestRefusalsAreDoubted(t *testing.T) {
	for _, rate := range []time.Duration{30 * ms, 100 * ms} {
		synctest.Test(t, func(t *testing.T) {
			b := &null.Backend{Compute: add, SegmentTime: 100 * time.Second}
			d, _, pm := start(t, b)
			fresh := driver.NewDevice(&null.Backend{}, driver.WithCache(driver.CacheOptions{Off: true}))
			c, err := fresh.NewClient("test")
			require.NoError(t, err)
			for name, run := range map[string]func() error{
				"execution": func() error {
					_, err := pm.Execute(context.Background(), addRequest(), driver.WithDeadline(time.Now().Add(time.Minute)))
					return err
				},
				"preparation": func() error { // a pipeline is expected to take 30 ms
					_, err := c.PrepareModel(context.Background(), addModel(), driver.WithPrepareDeadline(time.Now().Add(25*ms)))
					return err
				},
			} {
				began, refused := time.Now(), 0
				for err := run(); err != nil; err = run() {
					requireStatus(t, nn.StatusMissedDeadlineTransient, err)
					refused++
					time.Sleep(rate)
				}
				require.Less(t, time.Since(began), time.Second, name)
				require.Greater(t, refused, 4, name)
			}
			require.EqualValues(t, 1, d.Scheduling().Trials)
			require.Zero(t, d.Scheduling().LateTrials)
			require.NoError(t, errors.Join(d.Close(), fresh.Close()))
		})
	}
}

// unmapped is memory that must not be mapped.
type unmapped struct{}

func (unmapped) Size() int64            { return 24 }
func (unmapped) Bytes() ([]byte, error) { panic("the pool was mapped") }

// TestManySegments: an execution of any number of segments runs, with and without a deadline.
func TestManySegments(t *testing.T) {
	pm := prepare(t, &null.Backend{Compute: add, Segments: 1<<16 + 100}, addModel())
	_, err := pm.Execute(t.Context(), addRequest(), driver.WithDeadline(time.Now().Add(time.Hour)))
	require.NoError(t, err)
	require.NoError(t, pm.Close())
}

// TestQueueLimitByPriority: in a full queue a HIGH execution gets in, in the place of the last LOW one of its client,
// which ends with RESOURCE_EXHAUSTED_TRANSIENT, its fence too, and its buffer keeps what it holds.
func TestQueueLimitByPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &null.Backend{Compute: add, Gate: make(chan struct{})}
		d := driver.NewDevice(b, driver.WithCache(driver.CacheOptions{Off: true}), driver.WithScheduling(driver.SchedulingOptions{QueueLimit: 4}))
		c, err := d.NewClient("test")
		require.NoError(t, err)
		pm, err := c.PrepareModel(context.Background(), addModel(), driver.WithPriority(nn.PriorityHigh))
		require.NoError(t, err)
		low := driver.WithExecutionPriority(nn.PriorityLow)
		var all []*driver.Execution
		for range 4 {
			all = append(all, pm.ExecuteAsync(context.Background(), addRequest(), low))
			synctest.Wait()
		}
		buffer := allocate(t, c, nil, nil, roleOf(pm, 0))
		require.NoError(t, buffer.CopyFrom(context.Background(), nn.HostMemory{1, 2, 3, 4, 5, 6}, nil))
		last, err := pm.ExecuteFenced(context.Background(), bufferRequest(nil, nil, buffer), nil, low)
		require.NoError(t, err)
		synctest.Wait()
		requireStatus(t, nn.StatusResourceExhaustedTransient, pm.CanMeet(time.Time{}, low))
		require.NoError(t, pm.CanMeet(time.Time{}))
		_, err = pm.Execute(context.Background(), addRequest(), low)
		requireStatus(t, nn.StatusResourceExhaustedTransient, err)
		high := pm.ExecuteAsync(context.Background(), addRequest())
		requireStatus(t, nn.StatusResourceExhaustedTransient, last.Fence().Wait(context.Background()))
		_, err = last.Result()
		requireStatus(t, nn.StatusResourceExhaustedTransient, err)
		require.Equal(t, []byte{1, 2, 3, 4, 5, 6}, read(t, buffer, 6))
		close(b.Gate)
		for _, e := range append(all, high) {
			_, err := e.Wait()
			require.NoError(t, err)
		}
		require.NoError(t, d.Close())
	})
}

// TestExecutionPriority: lower than that of the model, or as high; what is higher is a mistake in every form.
func TestExecutionPriority(t *testing.T) {
	_, c := open(t, &null.Backend{Compute: add})
	pm, err := c.PrepareModel(t.Context(), addModel(), driver.WithPriority(nn.PriorityMedium))
	require.NoError(t, err)
	for _, tc := range []struct {
		priority nn.Priority
		want     nn.Status
	}{{nn.PriorityLow, nn.StatusNone}, {nn.PriorityMedium, nn.StatusNone}, {nn.PriorityHigh, nn.StatusInvalidArgument}, {3, nn.StatusInvalidArgument}} {
		o := driver.WithExecutionPriority(tc.priority)
		_, err := pm.Execute(t.Context(), addRequest(), o)
		require.Equal(t, tc.want, nn.StatusOf(err))
		_, err = pm.ExecuteAsync(t.Context(), addRequest(), o).Wait()
		require.Equal(t, tc.want, nn.StatusOf(err))
		require.Equal(t, tc.want, nn.StatusOf(fencedEnd(pm, nil, o)))
		require.Equal(t, tc.want, nn.StatusOf(pm.CanMeet(time.Now().Add(time.Hour), o)))
	}
}

// TestCanMeet says what a call would be told, and does nothing.
func TestCanMeet(t *testing.T) {
	b := &null.Backend{Compute: add, SegmentTime: time.Hour}
	d, c := open(t, b)
	pm := prepareOn(t, c, addModel())
	calls := len(b.Calls())
	for _, tc := range []struct {
		name     string
		deadline time.Time
		want     nn.Status
	}{
		{"none", time.Time{}, nn.StatusNone},
		{"far", time.Now().Add(2 * time.Hour), nn.StatusNone},
		{"expected to be late", time.Now().Add(time.Hour / 2), nn.StatusMissedDeadlineTransient},
		{"hopeless", time.Now().Add(time.Minute), nn.StatusMissedDeadlinePersistent},
		{"past", time.Now(), nn.StatusMissedDeadlinePersistent},
	} {
		require.Equal(t, tc.want, nn.StatusOf(pm.CanMeet(tc.deadline)))
		if !tc.deadline.IsZero() {
			require.Equal(t, tc.want, nn.StatusOf(pm.CanMeet(farFuture, driver.WithDeadline(tc.deadline))))
		}
	}
	require.Len(t, b.Calls(), calls)
	require.Zero(t, d.Scheduling().Refused)
	require.NoError(t, pm.Close())
	require.ErrorIs(t, pm.CanMeet(time.Time{}), driver.ErrClosed)
}
