package emit

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/pack"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

func TestRanges(t *testing.T) {
	for _, tc := range []struct {
		name                   string
		size, most, start, big int // a run of more than most does not fit, nor does position big-1
		want                   [][2]int
	}{
		{"one", 7, 7, 1, 0, [][2]int{{0, 7}}},
		{"several", 10, 4, 1, 0, [][2]int{{0, 4}, {4, 8}, {8, 10}}},
		{"aligned", 40, 15, 8, 0, [][2]int{{0, 8}, {8, 16}, {16, 24}, {24, 32}, {32, 40}}},
		{"the last is not", 37, 30, 8, 0, [][2]int{{0, 24}, {24, 37}}},
		{"no place to begin", 40, 15, 16, 0, nil},
		{"one does not fit", 10, 4, 1, 6, [][2]int{{0, 4}, {4, 5}, {5, 6}, {6, 10}}},
		{"none fits", 3, 0, 1, 0, [][2]int{{0, 1}, {1, 2}, {2, 3}}},
		{"too many", MaxRanges + 1, 1, 1, 0, nil},
		{"nothing", 0, 1, 1, 0, nil},
		{"far", 1<<31 - 1, 1 << 30, 256, 0, [][2]int{{0, 1 << 30}, {1 << 30, 1<<31 - 1}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fits := func(from, to int) bool {
				return to-from <= tc.most && (tc.big == 0 || to < tc.big || from >= tc.big)
			}
			require.Equal(t, tc.want, Ranges(tc.size, fits, func(at int) bool { return at%tc.start == 0 }))
		})
	}
}

// TestReshapeRanges: runs cover all elements, begin where bindings may and fit.
func TestReshapeRanges(t *testing.T) {
	layout := func(elem int, dims ...int) pack.Layout {
		l := pack.Layout{Dims: dims, Rows: ir.Product(dims[:len(dims)-1]), C: dims[len(dims)-1], Elem: elem}
		l.Quads = (l.C + 3) / 4
		return l
	}
	for _, tc := range []struct {
		to, from pack.Layout
		limit    int64
		fails    bool
	}{
		{layout(4, 1000, 3), layout(4, 3000), 4096, false},
		{layout(1, 1000, 3), layout(1, 3000), 1024, false},
		{layout(2, 999, 5), layout(2, 4995), 4096, false},
		{layout(4, 3003), layout(4, 1001, 3), 4096, false},
		{layout(4, 999, 7), layout(4, 7*37, 27), 16384, false},
		{layout(4, 1000, 7), layout(4, 250, 28), 4096, false},
		{layout(4, 997, 7), layout(4, 7, 997), 16384, true}, // the rows begin nowhere together
		{layout(1, 3, 9999), layout(1, 3*9999), 4096, true}, // a row does not fit
	} {
		t.Run(fmt.Sprint(tc.to.Dims, tc.from.Dims, tc.to.Elem), func(t *testing.T) {
			runs := reshapeRanges(&plan.Facts{MaxStorageRange: tc.limit}, tc.to, tc.from)
			require.Equal(t, tc.fails, runs == nil)
			at := 0
			for _, r := range runs {
				require.Equal(t, at, r[0])
				for _, l := range []pack.Layout{tc.to, tc.from} {
					s := stretchOf(l, r[0], r[1])
					require.Zero(t, s.at%plan.Align)
					require.LessOrEqual(t, s.layout.Bytes(), tc.limit)
					require.LessOrEqual(t, s.at+s.layout.Bytes(), l.Bytes())
					require.Equal(t, r[1]-r[0], s.layout.Rows*s.layout.C)
				}
				at = r[1]
			}
			if !tc.fails {
				require.Greater(t, len(runs), 1)
				require.Equal(t, tc.to.Rows*tc.to.C, at)
			}
		})
	}
}
