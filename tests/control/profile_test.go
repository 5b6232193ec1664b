package control

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/internal/devices"
)

// TestProfileOfLoops: each operation of the main graph and of the referenced ones has its row, which says how often it ran
// and what it took in all; rows add up to the time of the call.
func TestProfileOfLoops(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		pm := prepare(t, d, counting(4, 2))
		defer func() { require.NoError(t, pm.Close()) }()
		for _, option := range []driver.ExecuteOption{driver.WithProfile(), driver.WithStepProfile()} {
			for _, n := range []int32{1, 30, 1500} {
				out := pm.NewOutputs()
				res, err := pm.Run(t.Context(), countingInputs(4, n), out, option, unhurried)
				require.NoError(t, err)
				require.Equal(t, ints(n), out[0])
				p, sum, runs := res.Profile(), int64(0), map[string]int{}
				for _, row := range p.Rows {
					sum += int64(row.Time)
					if row.Kind == driver.ProfileOp {
						require.NotEmpty(t, row.Kernel, row.Name)
						runs[row.Name] += row.Runs
					}
				}
				require.InDelta(t, int64(p.Wall), sum, float64(p.Wall)/100)
				require.Equal(t, int(n)+1, runs["LESS #0 of graph 0"], "%v", runs)
				require.Equal(t, int(n), runs["ADD #0 of graph 1"], "%v", runs)
			}
		}
	})
}
