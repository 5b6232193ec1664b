package lower

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPadding(t *testing.T) {
	for _, tc := range []struct {
		name   string
		shape  []int
		pads   [][2]int
		mirror bool
		short  []int
		joined [][2]int
	}{
		{name: "image", shape: []int{2, 5, 7, 3}, pads: [][2]int{{}, {1, 2}, {3, 4}, {}}, short: []int{2, 5, 7, 3}, joined: [][2]int{{}, {1, 2}, {3, 4}, {}}},
		{name: "rows only", shape: []int{2, 5, 7, 3}, pads: [][2]int{{}, {1, 2}, {}, {}}, short: []int{2, 35, 3}, joined: [][2]int{{}, {7, 14}, {}}},
		{name: "mirrored rows only", shape: []int{2, 5, 7, 3}, pads: [][2]int{{}, {1, 2}, {}, {}}, mirror: true, short: []int{2, 5, 7, 3}, joined: [][2]int{{}, {1, 2}, {}, {}}},
		{name: "innermost", shape: []int{2, 5, 7, 3}, pads: [][2]int{{}, {}, {}, {1, 0}}, mirror: true, short: []int{70, 3}, joined: [][2]int{{}, {1, 0}}},
		{name: "scalar", short: []int{1}, joined: [][2]int{{}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPadding(tc.shape, tc.pads, tc.mirror)
			require.Equal(t, tc.short, p.shape)
			require.Equal(t, tc.joined, p.pads)
		})
	}
}
