package ref

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTopK(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, tc := range map[string]struct {
		shape           []int
		k               int
		x, values, want []float64
	}{
		"rows":     {[]int{2, 3}, 2, []float64{1, 3, 2, 6, 5, 4}, []float64{3, 2, 6, 5}, []float64{1, 2, 0, 1}},
		"ties":     {[]int{5}, 4, []float64{1, 2, 1, 2, 1}, []float64{2, 2, 1, 1}, []float64{1, 3, 0, 2}},
		"one":      {[]int{3, 1}, 1, []float64{7, 8, 9}, []float64{7, 8, 9}, []float64{0, 0, 0}},
		"zeros":    {[]int{2}, 2, []float64{math.Copysign(0, -1), 0}, []float64{math.Copysign(0, -1), 0}, []float64{0, 1}},
		"infinity": {[]int{4}, 4, []float64{-inf, 1, inf, -1}, []float64{inf, 1, -1, -inf}, []float64{2, 1, 3, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			values, indices := TopK(f32(t, tc.shape, tc.x...), tc.k)
			require.Equal(t, tc.values, values.V)
			require.Equal(t, tc.want, indices.V)
		})
	}
	_, indices := TopK(f32(t, []int{4}, inf, nan, 1, nan), 4)
	require.Equal(t, []float64{1, 3, 0, 2}, indices.V, "NaN is above infinity")
	for _, k := range []int{0, -1, 4} {
		mustRefuse(t, func() { TopK(f32(t, []int{3}, 1, 2, 3), k) })
	}
}
