package qos

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/memory"
	"github.com/nngpu/nngpu/tests/internal/devices"
)

// TestReusableAllocatesNothing on a device: over host memory, over memory that is used in place, and over buffers.
func TestReusableAllocatesNothing(t *testing.T) {
	for _, name := range devices.Names() {
		t.Run(name, func(t *testing.T) {
			x := openTiny(t, name)
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
		})
	}
}
