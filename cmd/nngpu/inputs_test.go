package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAssignInputs(t *testing.T) {
	for _, tc := range []struct {
		name        string
		names, args []string
		want        []string // nil: an error
	}{
		{"in order", []string{"a", "b"}, []string{"1", "2"}, []string{"1", "2"}},
		{"by name", []string{"a", "b"}, []string{"b=2", "a=1"}, []string{"1", "2"}},
		{"a name takes its place first", []string{"a", "b", "c"}, []string{"1", "a=0", "2"}, []string{"0", "1", "2"}},
		{"the longest name", []string{"a", "a=b"}, []string{"a=b=1", "a=2"}, []string{"2", "1"}},
		{"equal names", []string{"x", "x"}, []string{"x=1", "x=2"}, []string{"1", "2"}},
		{"no name", []string{"", "b"}, []string{"=1", "b=2"}, []string{"1", "2"}},
		{"a path with =", []string{"a"}, []string{"./k=v.bin"}, []string{"./k=v.bin"}},
		{"nothing to give", nil, nil, []string{}},
		{"too few", []string{"a", "b"}, []string{"1"}, nil},
		{"too many", []string{"a"}, []string{"1", "2"}, nil},
		{"too many by name", []string{"a"}, []string{"a=1", "2"}, nil},
		{"twice", []string{"a", "b"}, []string{"a=1", "a=2"}, nil},
		{"no file", []string{"a"}, []string{"a="}, nil},
		{"empty", []string{"a"}, []string{""}, nil},
		{"unknown name", []string{"a"}, []string{"z=1"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := assignInputs(tc.names, tc.args)
			if tc.want == nil {
				var e *exitError
				require.ErrorAs(t, err, &e)
				require.Equal(t, exitUsage, e.code)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestBest(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	require.Equal(t, []topEntry{{1, "b", 3}, {3, "", 3}, {2, "c", 2}}, best([]float32{1, 3, 2, 3}, []string{"a", "b", "c"}, 3))
	require.Len(t, best([]float32{1, 2}, nil, 10), 2)
	require.Empty(t, best(nil, nil, 5))
	require.Equal(t, []topEntry{{2, "", math.MaxFloat64}, {1, "", 0}, {3, "", -math.MaxFloat64}}, best([]float32{nan, 0, inf, -inf}, nil, 9))
}
