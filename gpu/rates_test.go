package gpu

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

func TestMeasuredRates(t *testing.T) {
	for _, name := range vktest.Selectors() {
		t.Run(name, func(t *testing.T) {
			d := vktest.Open(t, name, vulkan.Options{})
			facts := d.Facts()
			r, err := measureRates(d, facts)
			require.NoError(t, err)
			t.Logf("%.1f GFLOP/s, depthwise %.1f, %.1f GB/s, %v a dispatch", r.FLOPS/1e9, r.Depthwise/1e9, r.Bandwidth/1e9, r.Dispatch)
			require.Greater(t, r.FLOPS, 1e8)
			require.Greater(t, r.Bandwidth, 1e7)
			require.Less(t, r.Dispatch, time.Second)
		})
	}
}

// TestForgedRates: a record that somebody else wrote moves the estimates within bounds.
func TestForgedRates(t *testing.T) {
	for _, class := range []plan.Class{plan.ClassCPU, plan.ClassGPU} {
		f := plan.Facts{Class: class}
		usual := f.Rates()
		for name, r := range map[string]plan.Rates{
			"nothing": {}, "below zero": {FLOPS: -1, Depthwise: -1, Bandwidth: -1, Dispatch: -1},
			"endless": {FLOPS: math.Inf(1), Depthwise: math.NaN(), Bandwidth: math.MaxFloat64, Dispatch: math.MaxInt64},
		} {
			got := f.Bounded(r)
			for _, pair := range [][2]float64{
				{got.FLOPS, usual.FLOPS}, {got.Depthwise, usual.Depthwise}, {got.Bandwidth, usual.Bandwidth},
				{float64(got.Dispatch), float64(usual.Dispatch)},
			} {
				require.LessOrEqual(t, pair[0], 32*pair[1], name)
				require.GreaterOrEqual(t, 32*pair[0], pair[1], name)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "record")
	want := testRecord{Key: "key", Rates: plan.Rates{FLOPS: 5e9, Depthwise: 1e9, Bandwidth: 2e9, Dispatch: 40 * time.Microsecond}}
	writeRecord(path, &want)
	got, ok := readRecord(path, "key")
	require.True(t, ok)
	require.Equal(t, want, got)
}
