package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/gpu/internal/emit"
)

// TestSegment: loops stay short whatever is reduced.
func TestSegment(t *testing.T) {
	for _, n := range []int{1, 256, 257, 1024, 1025, 147456, 1 << 24, 1 << 29} {
		for _, columns := range []int{1, 8, 256, 1 << 20} {
			seg := segment(n, columns)
			require.LessOrEqual(t, seg, n)
			require.Less(t, seg, emit.MaxLoop)
			require.Less(t, (n+seg-1)/seg, emit.MaxLoop)
		}
	}
}
