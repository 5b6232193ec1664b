package driver_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
)

// allocations is the number of allocations of a run, in steady state.
func allocations(t *testing.T, run func() error) float64 {
	t.Helper()
	return testing.AllocsPerRun(1000, func() {
		if err := run(); err != nil {
			t.Error(err)
		}
	})
}

// TestReusableAllocatesNothing, whatever memory the arguments lie in, with and without a deadline.
func TestReusableAllocatesNothing(t *testing.T) {
	b := &null.Backend{Compute: copyOut, Segments: 3}
	d, c := open(t, b)
	_ = d
	pm := prepareOn(t, c, addModel())
	both := append(roleOf(pm, 0), roleOf(pm, 1)...)
	x := allocate(t, c, nil, both, nil)
	z := allocate(t, c, nil, nil, roleOf(pm, 0))
	require.NoError(t, x.CopyFrom(t.Context(), make(nn.HostMemory, 6), nil))
	in := func(p nn.Memory) *nn.Request {
		r := addRequest()
		r.Pools[0] = p
		return r
	}
	mapped, _ := ashmem(t, 24)
	constant := prepareOn(t, c, constantModel(newPinned(make([]byte, 24))))
	constantRequest := in(mapped)
	constantRequest.Inputs = constantRequest.Inputs[:1]
	urgent, err := c.PrepareModel(t.Context(), addModel(), driver.WithPriority(nn.PriorityHigh))
	require.NoError(t, err)
	delayed, err := c.PrepareModel(t.Context(), addModel(), driver.WithDelayedCompilation())
	require.NoError(t, err)
	staged, err := c.PrepareModel(t.Context(), addModel(), driver.WithStagedCompilation(1))
	require.NoError(t, err)
	open := growModel(make(nn.HostMemory, 16))
	open.Main.Operands[open.Main.Inputs[0]].Dims = nn.Dims{0, 6}
	openDims := prepareOn(t, c, open)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for name, tc := range map[string]struct {
		model   *driver.PreparedModel
		request *nn.Request
		opts    []driver.ExecuteOption
	}{
		"host memory":   {pm, addRequest(), nil},
		"used in place": {pm, in(mapped), nil},
		"a file":        {pm, in(newFile(make([]byte, 24))), nil},
		"buffers":       {pm, bufferRequest(x, x, z), nil},
		"constants":     {constant, constantRequest, nil},
		"urgent":        {urgent, addRequest(), nil},
		"delayed":       {delayed, addRequest(), nil},
		"staged":        {staged, addRequest(), nil},
		"open dimensions": {openDims, &nn.Request{
			Inputs:  []nn.RequestArgument{{Location: nn.Location{Length: 12}, Dims: nn.Dims{2, 6}}},
			Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1, Length: 12}}},
			Pools:   []nn.Memory{make(nn.HostMemory, 12), make(nn.HostMemory, 12)},
		}, nil},
		"options": {pm, addRequest(), []driver.ExecuteOption{driver.WithTimeout(time.Hour), driver.WithTiming(), driver.WithLoopTimeout(time.Second)}},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := tc.model.NewExecution(tc.request, tc.opts...)
			require.NoError(t, err)
			for range 10 {
				_, err := e.Run(ctx)
				require.NoError(t, err)
			}
			for name, ctx := range map[string]context.Context{"no deadline": context.Background(), "deadline": ctx} {
				require.Zero(t, allocations(t, func() error { _, err := e.Run(ctx); return err }), name)
			}
		})
	}
}

// TestBurstSavesAllocations: a request that came before is bound already.
func TestBurstSavesAllocations(t *testing.T) {
	pm := prepare(t, &null.Backend{Compute: add}, addModel())
	r := addRequest()
	r.Pools[0], _ = ashmem(t, 24)
	burst := pm.Burst()
	plain := allocations(t, func() error { _, err := pm.Execute(context.Background(), r); return err })
	bound := allocations(t, func() error { _, err := burst.Execute(context.Background(), r, []int32{0}); return err })
	require.LessOrEqual(t, bound, 5.0, "the result")
	require.Less(t, bound, plain)
}

// TestReusableBetweenRuns: what happens between two runs is found by the next.
func TestReusableBetweenRuns(t *testing.T) {
	b := &null.Backend{Compute: add}
	_, c := open(t, b)
	pm := prepareOn(t, c, addModel())
	z := allocate(t, c, nil, nil, roleOf(pm, 0))
	r := addRequest()
	mapped, data := ashmem(t, 24)
	r.Pools = []nn.Memory{mapped, z.Token()}
	r.Outputs[0].Location = nn.Location{PoolIndex: 1}
	e, err := pm.NewExecution(r, driver.WithTimeout(time.Minute))
	require.NoError(t, err)
	*r = nn.Request{} // it was copied
	run := func() []byte {
		t.Helper()
		for i := range data {
			data[i]++
		}
		res, err := e.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, []nn.OutputShape{{Dims: nn.Dims{2, 3}, IsSufficient: true}}, res.Shapes)
		got := make(nn.HostMemory, 6)
		require.NoError(t, z.CopyTo(t.Context(), got))
		return got
	}
	require.Equal(t, []byte{2, 2, 2, 2, 2, 2}, run())
	require.Equal(t, []byte{4, 4, 4, 4, 4, 4}, run(), "the bytes changed")
	b.Lose()
	require.Equal(t, []byte{6, 6, 6, 6, 6, 6}, run(), "memory is imported and allocated again")
	require.Equal(t, 2, count(b.Calls(), "import"))
	fenced, err := e.RunFenced(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, fenced.Fence().Wait(t.Context()))
	kept, err := fenced.Result()
	require.NoError(t, err)
	require.Equal(t, []byte{8, 8, 8, 8, 8, 8}, run())
	require.Equal(t, nn.Dims{2, 3}, kept.Shapes[0].Dims)
	_, err = e.Run(t.Context(), driver.WithDeadline(time.Now()))
	requireStatus(t, nn.StatusMissedDeadlinePersistent, err)
	require.Equal(t, []byte{10, 10, 10, 10, 10, 10}, run(), "options of one run alone")
	require.NoError(t, z.Close())
	_, err = e.Run(t.Context())
	requireStatus(t, nn.StatusInvalidArgument, err)

	other := addRequest()
	other.Pools[0] = mapped
	e, err = pm.NewExecution(other)
	require.NoError(t, err)
	_, err = e.Run(t.Context())
	require.NoError(t, err)
	require.NoError(t, mapped.Close())
	_, err = e.Run(t.Context())
	requireStatus(t, nn.StatusInvalidArgument, err)
	require.NoError(t, pm.Close())
	_, err = e.Run(t.Context())
	require.ErrorIs(t, err, driver.ErrClosed)
}

// TestTimeout counts from each call.
func TestTimeout(t *testing.T) {
	pm := prepare(t, &null.Backend{Compute: add}, addModel())
	for d, want := range map[time.Duration]nn.Status{
		0: nn.StatusInvalidArgument, -1: nn.StatusInvalidArgument,
		time.Nanosecond: nn.StatusMissedDeadlineTransient, time.Hour: nn.StatusNone,
	} {
		_, err := pm.Execute(t.Context(), addRequest(), driver.WithTimeout(d))
		require.Equal(t, want, nn.StatusOf(err), "%v: %v", d, err)
		e, err := pm.NewExecution(addRequest(), driver.WithTimeout(d))
		if d <= 0 {
			requireStatus(t, nn.StatusInvalidArgument, err)
			continue
		}
		require.NoError(t, err)
		for range 3 {
			_, err := e.Run(t.Context())
			require.Equal(t, want, nn.StatusOf(err), "%v: %v", d, err)
			time.Sleep(time.Millisecond)
		}
	}
}
