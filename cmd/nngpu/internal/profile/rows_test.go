package profile

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/stats"
	"github.com/nngpu/nngpu/driver"
)

// profileOf is a run of that long with two steps of one operation, one of another, and a row of the host.
func profileOf(wall time.Duration) *driver.Profile {
	part := func(n time.Duration) time.Duration { return wall * n / 10 }
	step := func(name, kernel string, n time.Duration, segment int) driver.ProfileRow {
		return driver.ProfileRow{
			Name: name, Kind: driver.ProfileOp, Time: part(n), Uncertainty: part(n) / 10, Kernel: kernel, Why: "for " + name,
			Segment: segment, FLOP: 1e6, Bytes: 2e6, Ceiling: "f32", Least: part(n) / 2,
		}
	}
	return &driver.Profile{Wall: wall, Rows: []driver.ProfileRow{
		step("CONV_2D #0", "conv", 4, 0), step("CONV_2D #0", "conv", 2, 1), step("CONV_2D #1", "conv", 3, 1),
		{Name: "bind", Kind: driver.ProfileBind, Time: part(1)},
	}}
}

func TestProfileRows(t *testing.T) {
	var runs []*driver.Profile
	for i := range 21 {
		runs = append(runs, profileOf(time.Duration(i+90)*100*time.Microsecond))
	}
	runs = append(runs, profileOf(time.Second), profileOf(time.Microsecond)) // somebody was in the way
	for by, want := range map[string][]string{
		ByOp: {"CONV_2D #0", "CONV_2D #1", "bind"}, ByKernel: {"conv", "bind"}, BySegment: {"segment 0", "segment 1", "bind"},
	} {
		t.Run(by, func(t *testing.T) {
			var r Result
			r.Fill(runs, by)
			var names []string
			var sum, share float64
			for _, row := range r.Rows {
				names = append(names, row.Name)
				sum += row.MS
				share += row.Share
			}
			require.Equal(t, want, names)
			require.InDelta(t, 10, r.Wall, 0.01)
			require.InDelta(t, 10, r.Sum, 0.1)
			require.InDelta(t, r.Sum, sum, 1e-9)
			require.InDelta(t, 1, share, 1e-9)
		})
	}
	var r Result
	r.Fill(runs, ByOp)
	conv := r.Rows[0]
	require.InDelta(t, 6, conv.MS, 0.1)
	require.InDelta(t, 2e6/6e-3/1e9, conv.GFLOPS, 0.01)
	require.InDelta(t, 4e6/6e-3/1e9, conv.GBPS, 0.02)
	require.InDelta(t, 50, conv.Percent, 2)
	require.Equal(t, "f32", conv.Ceiling)
	require.Equal(t, "conv", conv.Kernel)
	require.Equal(t, "for CONV_2D #0", conv.Why)
	require.InDelta(t, math.Hypot(0.4, 0.2), conv.Uncertainty, 0.05)
	require.Equal(t, Row{Name: "bind", Kind: "bind", MS: r.Rows[2].MS, Uncertainty: r.Rows[2].Uncertainty, Share: r.Rows[2].Share}, r.Rows[2])

	for n := 1; n < 8; n++ { // also of few runs
		var r Result
		r.Fill(runs[:n], ByOp)
		require.Len(t, r.Rows, 3, n)
		require.InDelta(t, r.Wall, r.Sum, 1e-5)
	}
}

// TestProfileRowsUnderLoad: times that are anything but alike, because others use the machine, add up all the same.
func TestProfileRowsUnderLoad(t *testing.T) {
	for _, n := range []int{3, 10, 11, 50} {
		var runs []*driver.Profile
		wall := time.Millisecond
		for range n {
			runs = append(runs, profileOf(wall))
			wall += wall / 4
		}
		var r Result
		r.Fill(runs, ByOp)
		require.InEpsilon(t, r.Wall, r.Sum, 1e-4, n)
		require.Greater(t, r.Wall, stats.Milliseconds(runs[n/4].Wall))
		require.Less(t, r.Wall, stats.Milliseconds(runs[n-1-n/4].Wall)+1e-9)
	}
}
