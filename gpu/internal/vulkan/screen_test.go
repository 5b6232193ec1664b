package vulkan

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMiddle(t *testing.T) {
	for _, tc := range []struct{ size, room, first, seen, at int }{
		{768, 768, 0, 768, 0}, {300, 400, 0, 300, 50}, {300, 401, 0, 300, 50}, {400, 300, 50, 300, 0}, {401, 300, 50, 300, 0}, {1, 3, 0, 1, 1},
	} {
		first, seen, at := middle(tc.size, tc.room)
		require.Equal(t, []int{tc.first, tc.seen, tc.at}, []int{first, seen, at}, "%d in %d", tc.size, tc.room)
		require.LessOrEqual(t, first+seen, tc.size)
		require.LessOrEqual(t, at+seen, tc.room)
	}
}
