package gpu

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
	"github.com/nngpu/nngpu/shaders/family"
)

// TestGauge: every ceiling that the device has can be read again and again, and lies where Measure finds it.
func TestGauge(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		b, ctx := openBackend(t, selector, Options{}), context.Background()
		//lint:ignore SA1012 it is refused
		_, err := b.Gauge(nil, CeilingF32)
		require.Equal(t, nn.StatusInvalidArgument, nn.StatusOf(err))
		measured, err := b.Measure(ctx)
		require.NoError(t, err)
		for what, has := range map[Ceiling]bool{
			CeilingF32: true, CeilingF16: b.facts.Float16, CeilingInt8: b.facts.IntegerDot, CeilingMemory: true,
			CeilingMatrixF16: hasMatrix(&b.facts, "f16"), CeilingMatrixInt8: hasMatrix(&b.facts, "s8"),
		} {
			g, err := b.Gauge(ctx, what)
			if !has {
				require.ErrorIs(t, err, ErrNoCeiling, what)
				continue
			}
			require.NoError(t, err, what)
			best := map[Ceiling]float64{
				CeilingF32: measured.FMA32, CeilingF16: measured.FMA16, CeilingInt8: measured.Dot8, CeilingMemory: measured.Memory,
				CeilingMatrixF16: measured.MatrixF16, CeilingMatrixInt8: measured.MatrixInt8,
			}[what]
			for range 3 {
				rate, err := g.Rate(ctx)
				require.NoError(t, err, what)
				// Within what a busy machine changes from one moment to another.
				require.Greater(t, rate, best/100, what)
				require.Less(t, rate, 5*best, what)
			}
			require.NoError(t, g.Close(), what)
		}
		_, err = b.Gauge(ctx, Ceiling(9))
		require.ErrorIs(t, err, ErrNoCeiling)
	}
	require.Equal(t, "Ceiling(9)", Ceiling(9).String())
}

// hasMatrix reports whether a device lists matrices of a type.
func hasMatrix(f *plan.Facts, in string) bool {
	return slices.ContainsFunc(f.Matrices, func(m family.Matrix) bool { return m.In == in })
}
