package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/shaders/family"
)

// able is a device that has everything that kernels ask for.
var able = Facts{
	MaxLocal: [3]uint32{256, 128, 64}, MaxInvocations: 256, SharedBytes: 16 << 10, SubgroupSize: 8,
	SubgroupOps: family.SubgroupVote | family.SubgroupArithmetic, IntegerDot: true, IntegerDotFast: true, Float16: true,
	Int8: true, Matrices: []family.Matrix{{M: 16, N: 8, K: 16, In: "f16", Sum: "f32"}},
	StorageTexelRGBA32F: true, TexelStores: true, MaxBlocks: 1 << 10,
}

func TestLacks(t *testing.T) {
	for _, tc := range []struct {
		name  string
		needs family.Needs
		local [3]uint32
		says  string // empty: it runs
	}{
		{"nothing", family.Needs{}, Flat(64), ""},
		{"all that there is", family.Needs{IntegerDot: true, Float16: true, SharedBytes: 16 << 10, Subgroup: able.SubgroupOps, SubgroupSize: 8}, Flat(256), ""},
		{"three dimensions", family.Needs{}, [3]uint32{2, 2, 64}, ""},
		{"no invocations", family.Needs{}, [3]uint32{8, 0, 1}, "workgroup"},
		{"too long", family.Needs{}, Flat(257), "workgroup"},
		{"too wide", family.Needs{}, [3]uint32{1, 129, 1}, "workgroup"},
		{"too deep", family.Needs{}, [3]uint32{1, 1, 65}, "workgroup"},
		{"too many", family.Needs{}, [3]uint32{16, 16, 2}, "workgroup"},
		{"a product beyond 32 bits", family.Needs{}, [3]uint32{1 << 31, 1 << 31, 4}, "workgroup"},
		{"shared memory", family.Needs{SharedBytes: 16<<10 + 1}, Flat(1), "shared memory"},
		{"subgroup operations", family.Needs{Subgroup: family.SubgroupShuffle}, Flat(1), "subgroup operations"},
		{"a size of subgroups", family.Needs{SubgroupSize: 32}, Flat(1), "subgroups of 32"},
		{"subgroups of at least a size", family.Needs{LeastLanes: 32}, Flat(1), "subgroups of 32 or more"},
		{"cooperative matrices", family.Needs{Matrix: able.Matrices[0]}, Flat(1), ""},
		{"others", family.Needs{Matrix: family.Matrix{M: 16, N: 8, K: 16, In: "f16", Sum: "f16"}}, Flat(1), "cooperative matrices 16x8x16 f16 to f16"},
		{"8-bit storage", family.Needs{Storage8: true}, Flat(1), "storage"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := able.Lacks(&family.Info{Needs: tc.needs}, tc.local)
			if tc.says == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tc.says)
			}
		})
	}
}

func TestWithout(t *testing.T) {
	needs := map[string]family.Needs{
		"shared": {SharedBytes: 1}, "subgroup": {Subgroup: family.SubgroupVote}, "f16": {Float16: true}, "dot": {IntegerDot: true},
		"int8": {Int8: true}, "matrix": {Matrix: able.Matrices[0]}, "blocks": {BlockBytes: 1024},
	}
	for name, n := range needs {
		f := able
		require.NoError(t, f.Lacks(&family.Info{Needs: n}, Flat(1)))
		require.NoError(t, f.Without(name))
		require.Error(t, f.Lacks(&family.Info{Needs: n}, Flat(1)), name)
		for other, n := range needs {
			if other != name && !(name == "subgroup" && other == "matrix") { // which subgroups hold
				require.NoError(t, f.Lacks(&family.Info{Needs: n}, Flat(1)), "%s without %s", other, name)
			}
		}
	}
	f := able
	require.NoError(t, f.Without("dot, texel,int8"))
	require.False(t, f.IntegerDot || f.IntegerDotFast || f.StorageTexelRGBA32F || f.TexelStores || !f.BuffersOnly)
	f = able
	require.NoError(t, f.Without(""))
	require.Equal(t, able, f)
	require.ErrorContains(t, f.Without("dot,texels"), `"texels"; known are shared, subgroup`)
}
