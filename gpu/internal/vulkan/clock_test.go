package vulkan

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClockCounts: timestamps that wrap around are counted on, also where they come a little out of order.
func TestClockCounts(t *testing.T) {
	const mask = 1<<8 - 1
	var c clock
	for i, tc := range []struct{ stamp, want uint64 }{
		{200, 200}, {250, 250}, {4, 260}, {251, 251}, {4, 260}, {130, 386}, {200, 456}, {2, 514}, {2, 514}, {250, 506},
		{0xabc00 + 3, 515}, // bits above the mask mean nothing
	} {
		require.Equal(t, tc.want, c.count(tc.stamp, mask), "%d", i)
	}
	var whole clock
	require.Equal(t, uint64(1)<<63+5, whole.count(1<<63+5, ^uint64(0)))
	require.Equal(t, uint64(1)<<63+2, whole.count(1<<63+2, ^uint64(0)), "before the last one")
	require.Equal(t, ^uint64(0), whole.count(^uint64(0), ^uint64(0)))
}
