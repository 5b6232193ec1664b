package qos

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu"
	"github.com/nngpu/nngpu/memory"
)

// timings are whose clock may time executions: with that of the device, a software device goes the way of a GPU.
var timings = map[string]gpu.Timing{"usual": gpu.TimingUsual, "device": gpu.TimingDevice, "host": gpu.TimingHost}

// TestReusableAllocatesNothing on a device: over host memory, over memory that is used in place, and over buffers.
func TestReusableAllocatesNothing(t *testing.T) {
	for _, name := range nntest.Devices() {
		for clock, timing := range timings {
			t.Run(name+"/"+clock, func(t *testing.T) { allocatesNothing(t, openTiny(t, name, gpu.Options{Timing: timing})) })
		}
	}
}

func allocatesNothing(t *testing.T, x *tiny) {
	shared := *x.request
	shared.Pools = nil
	for _, p := range x.request.Pools {
		m, err := memory.NewAshmem("nngpu-test", p.Size())
		require.NoError(t, err)
		defer func() { require.NoError(t, m.Close()) }()
		shared.Pools = append(shared.Pools, m)
	}
	role := []driver.BufferRole{{Model: x.prepared, Probability: 1}}
	in, err := x.client.Allocate(driver.BufferDesc{}, role, nil)
	require.NoError(t, err)
	out, err := x.client.Allocate(driver.BufferDesc{}, nil, role)
	require.NoError(t, err)
	require.NoError(t, in.CopyFrom(t.Context(), make(nn.HostMemory, len(x.inputs[0])), nil))
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for where, r := range map[string]*nn.Request{
		"host memory": x.request, "used in place": &shared,
		"buffers": {
			Inputs: make([]nn.RequestArgument, 1), Outputs: []nn.RequestArgument{{Location: nn.Location{PoolIndex: 1}}},
			Pools: []nn.Memory{in.Token(), out.Token()},
		},
	} {
		e, err := x.prepared.NewExecution(r, driver.WithTimeout(time.Minute), driver.WithTiming())
		require.NoError(t, err)
		run := func() {
			if _, err := e.Run(ctx); err != nil {
				t.Error(err)
			}
		}
		for range 30 {
			run()
		}
		require.Zero(t, testing.AllocsPerRun(500, run), where)
	}
}

// TestReusableProfiles: each run of a reusable execution has a profile of its own, which adds up, tells of every step and
// stays as it is when the next run begins, whoever's clock it is by.
func TestReusableProfiles(t *testing.T) {
	for _, name := range nntest.Devices() {
		for clock, timing := range timings {
			t.Run(name+"/"+clock, func(t *testing.T) {
				x := openTiny(t, name, gpu.Options{Timing: timing})
				for what, opt := range map[string]driver.ExecuteOption{"some": driver.WithProfile(), "every": driver.WithStepProfile()} {
					e, err := x.prepared.NewExecution(x.request, opt)
					require.NoError(t, err)
					var profiles []*driver.Profile
					var kept []string
					for range 5 {
						began := time.Now()
						res, err := e.Run(t.Context())
						require.NoError(t, err)
						p := res.Profile()
						require.Same(t, p, res.Profile())
						require.False(t, p.Began.Before(began))
						require.WithinRange(t, p.Began.Add(p.Wall), began, time.Now())
						checkProfile(t, p, what == "every" && timing != gpu.TimingHost)
						profiles, kept = append(profiles, p), append(kept, fmt.Sprintf("%+v", *p))
					}
					for i, p := range profiles {
						require.Equal(t, kept[i], fmt.Sprintf("%+v", *p))
					}
					res, err := e.Run(t.Context(), driver.WithExecutionPriority(nn.PriorityLow))
					require.NoError(t, err)
					checkProfile(t, res.Profile(), false)
				}
				// Of one run alone, and none of the next.
				e, err := x.prepared.NewExecution(x.request)
				require.NoError(t, err)
				res, err := e.Run(t.Context(), driver.WithProfile())
				require.NoError(t, err)
				checkProfile(t, res.Profile(), false)
				res, err = e.Run(t.Context())
				require.NoError(t, err)
				require.Nil(t, res.Profile())
				fenced, err := e.RunFenced(t.Context(), nil, driver.WithProfile())
				require.NoError(t, err)
				require.NoError(t, fenced.Fence().Wait(t.Context()))
				late, err := fenced.Result()
				require.NoError(t, err)
				checkProfile(t, late.Profile(), false)
			})
		}
	}
}

// checkProfile wants rows that add up, and one for each operation; all timed where every is set.
func checkProfile(t *testing.T, p *driver.Profile, every bool) {
	t.Helper()
	var sum time.Duration
	ops := 0
	for _, r := range p.Rows {
		sum += r.Time
		if r.Kernel != "" {
			require.Positive(t, r.Time, r.Name)
			require.True(t, r.Measured || !every, "%s was not timed", r.Name)
		}
		if r.Kind == driver.ProfileOp {
			ops++
		}
	}
	require.Equal(t, 3, ops)
	require.InDelta(t, p.Wall, sum, float64(100*time.Nanosecond))
}
