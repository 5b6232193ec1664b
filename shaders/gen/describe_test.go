package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/shaders"
)

// TestDescribe: what is read from the code of each kernel is what the registry says.
func TestDescribe(t *testing.T) {
	for k := shaders.Kernel(1); k.Valid(); k++ {
		code, err := os.ReadFile(filepath.Join("..", "spv", k.String()+".spv"))
		require.NoError(t, err)
		info, err := describe(code)
		require.NoError(t, err, k)
		want := *k.Info()
		info.Name, info.Cost, info.Subgroups = want.Name, want.Cost, want.Subgroups
		info.Needs.SubgroupSize, info.Needs.LeastLanes = want.Needs.SubgroupSize, want.Needs.LeastLanes
		require.Equal(t, want, info)
	}
}
