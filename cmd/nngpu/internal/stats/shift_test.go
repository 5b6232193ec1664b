package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBounds: critical values of Wilcoxon's tests, two-sided 5 %, from the tables of Hollander, Wolfe and Chicken.
func TestBounds(t *testing.T) {
	for n, want := range map[int]int{5: -1, 6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 15: 25, 20: 52} {
		require.Equal(t, want, signedRankBound(n), "signed ranks of %d", n)
	}
	for _, tc := range [][3]int{{3, 4, -1}, {4, 4, 0}, {5, 5, 2}, {6, 6, 5}, {8, 8, 13}, {10, 10, 23}, {5, 8, 6}, {8, 5, 6}, {20, 20, 127}} {
		require.Equal(t, tc[2], rankSumBound(tc[0], tc[1]), "rank sum of %v", tc[:2])
	}
	exact, near := signedRankBound(60), float64(60*61)/4-normalQuantile*math.Sqrt(60*61*121/24.)
	require.InDelta(t, near, exact, 2, "where the approximation begins")
}
