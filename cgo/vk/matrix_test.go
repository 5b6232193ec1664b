package vk

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMatrices: what a device lists is whole. Software devices may list nothing.
func TestMatrices(t *testing.T) {
	inst := openAll(t)
	list, err := inst.PhysicalDevices()
	require.NoError(t, err)
	require.NotEmpty(t, list)
	for _, p := range list {
		for _, m := range p.Matrices() {
			require.True(t, m.M > 0 && m.N > 0 && m.K > 0, "%+v", m)
			for _, name := range []string{m.A, m.B, m.C, m.Result} {
				require.NotEmpty(t, name, "%+v", m)
			}
			require.Contains(t, scopes, m.Scope)
		}
	}
	require.Empty(t, inst.Messages())
}

// TestMatrixNames: numbers of types and scopes that came later are told as they are.
func TestMatrixNames(t *testing.T) {
	require.Equal(t, "f16", nameOf(componentTypes, 0))
	require.Equal(t, "u64", nameOf(componentTypes, 10))
	require.Equal(t, "1000491000", nameOf(componentTypes, 1000491000))
	require.Equal(t, "subgroup", nameOf(scopes, 3))
	require.Equal(t, "0", nameOf(scopes, 0))
}
