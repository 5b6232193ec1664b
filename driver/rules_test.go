package driver_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

// TestR1EveryForm: an input or an output too few is refused whatever the way to execute, and never reaches the device.
func TestR1EveryForm(t *testing.T) {
	b := &null.Backend{Compute: add}
	pm := prepare(t, b, addModel())
	for name, change := range map[string]func(*nn.Request){
		"input":   func(r *nn.Request) { r.Inputs = r.Inputs[:1] },
		"inputs":  func(r *nn.Request) { r.Inputs = nil },
		"output":  func(r *nn.Request) { r.Outputs = nil },
		"surplus": func(r *nn.Request) { r.Inputs = append(r.Inputs, r.Inputs[0]) },
	} {
		t.Run(name, func(t *testing.T) {
			r := addRequest()
			change(r)
			refuseForms(t, nn.StatusInvalidArgument, pm, r)
			x, err := pm.NewExecution(r)
			require.Nil(t, x)
			requireStatus(t, nn.StatusInvalidArgument, err)
		})
	}
	_, err := pm.NewExecution(nil)
	requireStatus(t, nn.StatusInvalidArgument, err)
	_, err = pm.ExecuteFenced(t.Context(), nil, nil)
	requireStatus(t, nn.StatusInvalidArgument, err)
	_, err = pm.ExecuteAsync(t.Context(), nil).Wait()
	requireStatus(t, nn.StatusInvalidArgument, err)
	require.NotContains(t, b.Calls(), "begin")
}

// TestR9FailureAtRunTime gives an error and neither shapes nor times.
func TestR9FailureAtRunTime(t *testing.T) {
	broken := errors.New("the device is on fire")
	pm := prepare(t, &null.Backend{Compute: func(_, _ [][]byte) error { return broken }}, addModel())
	res, err := pm.Execute(t.Context(), addRequest(), driver.WithTiming())
	require.ErrorIs(t, err, broken)
	require.Nil(t, res)
	res, err = pm.ExecuteAsync(t.Context(), addRequest(), driver.WithTiming()).Wait()
	require.ErrorIs(t, err, broken)
	require.Nil(t, res)
	res, err = pm.Burst().Execute(t.Context(), addRequest(), []int32{0}, driver.WithTiming())
	require.ErrorIs(t, err, broken)
	require.Nil(t, res)
	e, err := pm.ExecuteFenced(t.Context(), addRequest(), nil, driver.WithTiming())
	require.NoError(t, err)
	require.ErrorIs(t, wait(t, e.Fence()), broken)
	fenced, err := e.Result()
	require.ErrorIs(t, err, broken)
	require.Nil(t, fenced)
}

// TestX1Async: the launch returns at once, the end is told once and to everybody, an error of the launch as well.
func TestX1Async(t *testing.T) {
	b := &null.Backend{Compute: add, Gate: make(chan struct{})}
	pm := prepare(t, b, addModel())
	e := pm.ExecuteAsync(t.Context(), addRequest())
	select {
	case <-e.Done():
		t.Fatal("it ended before the device")
	default:
	}
	close(b.Gate)
	for range 2 {
		res, err := e.Wait()
		require.NoError(t, err)
		require.Len(t, res.Shapes, 1)
		<-e.Done()
	}
	bad := pm.ExecuteAsync(t.Context(), nil)
	<-bad.Done()
	_, err := bad.Wait()
	requireStatus(t, nn.StatusInvalidArgument, err)
	require.NoError(t, pm.Close())
	late := pm.ExecuteAsync(t.Context(), addRequest())
	<-late.Done()
	_, err = late.Wait()
	require.ErrorIs(t, err, driver.ErrClosed)
}

// TestX3ShapesOfKnownOutputs: one for each output, sufficient.
func TestX3ShapesOfKnownOutputs(t *testing.T) {
	pm := prepare(t, &null.Backend{Compute: add}, addModel())
	want := []nn.OutputShape{{Dims: nn.Dims{2, 3}, IsSufficient: true}}
	res, err := pm.Execute(t.Context(), addRequest())
	require.NoError(t, err)
	require.Equal(t, want, res.Shapes)
	res.Shapes[0].Dims[0] = 77 // they are the caller's
	res, err = pm.Burst().Execute(t.Context(), addRequest(), []int32{0})
	require.NoError(t, err)
	require.Equal(t, want, res.Shapes)
	e, err := pm.ExecuteFenced(t.Context(), addRequest(), nil)
	require.NoError(t, err)
	require.NoError(t, wait(t, e.Fence()))
	fenced, err := e.Result()
	require.NoError(t, err)
	require.Equal(t, want, fenced.Shapes)
}

// TestX5FencedRefusesOpenOutputs however much room they have, where others say what is needed.
func TestX5FencedRefusesOpenOutputs(t *testing.T) {
	pm := prepare(t, &null.Backend{}, openModel(nn.Dims{0, 3}, nn.Dims{0, 3}))
	r := openRequest()
	r.Outputs[0].Location.Length, r.Outputs[0].Location.Padding = 5, 1
	for name, run := range forms(t, pm) {
		want := nn.StatusOutputInsufficientSize
		if name == "fenced" {
			want = nn.StatusInvalidArgument
		}
		require.Equal(t, want, nn.StatusOf(run(r)), name)
	}
}

// TestX14Padding belongs to the pool and holds no data.
func TestX14Padding(t *testing.T) {
	pm := prepare(t, &null.Backend{Compute: add}, addModel())
	r := addRequest()
	pool := r.Pools[0].(nn.HostMemory)
	for _, a := range []*nn.RequestArgument{&r.Inputs[0], &r.Inputs[1], &r.Outputs[0]} {
		a.Location.Padding = 2
	}
	for name, run := range forms(t, pm) {
		require.NoError(t, run(r), name)
		require.Equal(t, []byte{10, 12, 14, 16, 18, 20, 23, 24}, []byte(pool[16:]), name)
	}
	r.Outputs[0].Location.Padding = 3
	refuseForms(t, nn.StatusInvalidArgument, pm, r)
}

// TestX21Threads: ten at one compilation, and ten with their own.
func TestX21Threads(t *testing.T) {
	const threads, rounds = 10, 20
	b := &null.Backend{Compute: add, Segments: 3}
	_, c := open(t, b)
	shared := prepareOn(t, c, addModel())
	run := func(pm *driver.PreparedModel, seed byte) {
		for i := range byte(rounds) {
			out := make([]byte, 6)
			_, err := pm.Run(t.Context(), [][]byte{{seed, i, 3, 4, 5, 6}, {1, 1, 1, 1, 1, 1}}, [][]byte{out})
			assert.NoError(t, err)
			assert.Equal(t, []byte{seed + 1, i + 1, 4, 5, 6, 7}, out)
		}
	}
	var wg sync.WaitGroup
	for i := range byte(threads) {
		wg.Go(func() { run(shared, i) })
		wg.Go(func() {
			own, err := c.PrepareModel(t.Context(), addModel())
			if assert.NoError(t, err) {
				run(own, i+100)
				assert.NoError(t, own.Close())
			}
		})
	}
	wg.Wait()
	require.NoError(t, shared.Close())
	require.Zero(t, c.Memory())
}
