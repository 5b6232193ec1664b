package lower

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMoves(t *testing.T) {
	for _, tc := range []struct {
		name         string
		shape, perm  []int
		short, order []int // the shortest form
		identity     bool
	}{
		{name: "NHWC to NCHW", shape: []int{2, 5, 7, 3}, perm: []int{0, 3, 1, 2}, short: []int{2, 5, 7, 3}, order: []int{0, 3, 1, 2}},
		{name: "NCHW to NHWC", shape: []int{1, 3, 5, 7}, perm: []int{0, 2, 3, 1}, short: []int{3, 5, 7}, order: []int{1, 2, 0}},
		{name: "neighbours stay together", shape: []int{2, 3, 4, 5, 6}, perm: []int{2, 3, 0, 1, 4}, short: []int{6, 20, 6}, order: []int{1, 0, 2}},
		{name: "ones between", shape: []int{4, 1, 3, 2, 8}, perm: []int{3, 1, 0, 2, 4}, short: []int{12, 2, 8}, order: []int{1, 0, 2}},
		{name: "only ones move", shape: []int{1, 9, 1, 7}, perm: []int{0, 2, 1, 3}, short: []int{9, 7}, order: []int{0, 1}, identity: true},
		{name: "one column", shape: []int{1, 5, 7, 1}, perm: []int{0, 3, 1, 2}, short: []int{5, 7, 1}, order: []int{2, 0, 1}, identity: true},
		{name: "reversed", shape: []int{2, 3, 2, 3, 2, 3}, perm: []int{5, 4, 3, 2, 1, 0}, short: []int{2, 3, 2, 3, 2, 3}, order: []int{5, 4, 3, 2, 1, 0}},
		{name: "scalar", identity: true, short: []int{}, order: []int{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMoves(tc.shape, tc.perm)
			require.Equal(t, tc.short, m.shape)
			require.Equal(t, tc.order, m.perm)
			require.Equal(t, tc.identity, m.identity())
		})
	}
}
