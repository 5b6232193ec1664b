package gpu

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// TestGauge: every ceiling that the device has can be read again and again, and lies where Measure finds it.
func TestGauge(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		b, ctx := openBackend(t, selector, Options{}), context.Background()
		_, err := b.Gauge(nil, CeilingF32) // it is refused
		require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
		for what, has := range map[Ceiling]bool{CeilingF32: true, CeilingF16: b.facts.Float16, CeilingInt8: b.facts.IntegerDot, CeilingMemory: true} {
			g, err := b.Gauge(ctx, what)
			if !has {
				require.ErrorIs(t, err, ErrNoCeiling, what)
				continue
			}
			require.NoError(t, err, what)
			for range 2 {
				rate, err := g.Rate(ctx)
				require.NoError(t, err, what)
				// From a processor that does other things to the fastest GPU.
				require.Greater(t, rate, 1e6, what)
				require.Less(t, rate, 1e16, what)
			}
			require.NoError(t, g.Close(), what)
		}
		_, err = b.Gauge(ctx, Ceiling(9))
		require.ErrorIs(t, err, ErrNoCeiling)
	}
	require.Equal(t, "Ceiling(9)", Ceiling(9).String())
}
