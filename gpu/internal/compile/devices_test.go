package compile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/layers/layerstest"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders/family"
)

// deviceClasses are devices of each class, with all features that kernels ask for and without any. Limits are those that Vulkan
// guarantees.
func deviceClasses() []struct {
	name  string
	facts plan.Facts
} {
	floor := plan.Facts{
		MaxStorageRange: 128 << 20, MaxTexelElements: 65536, StorageAlign: 256, TexelAlign: 256, MaxLocal: [3]uint32{128, 128, 64},
		MaxInvocations: 128, MaxGroups: [3]uint32{65535, 65535, 65535}, SubgroupSize: 1, BuffersOnly: true,
	}
	full := lavapipe
	full.Float16, full.IntegerDotFast, full.SharedBytes, full.SubgroupSize = true, true, 48<<10, 8
	full.SubgroupOps = family.SubgroupVote | family.SubgroupArithmetic | family.SubgroupBallot | family.SubgroupShuffle
	of := func(f plan.Facts, c plan.Class) plan.Facts { f.Class = c; return f }
	return []struct {
		name  string
		facts plan.Facts
	}{
		{"software", of(full, plan.ClassCPU)}, {"software floor", of(floor, plan.ClassCPU)},
		{"GPU", of(full, plan.ClassGPU)}, {"GPU floor", of(floor, plan.ClassGPU)},
	}
}

// features are what the kernels of a plan ask of a device.
func features(p *plan.Plan) []string {
	has := [4]bool{}
	for _, s := range p.Pipelines() {
		n := s.Kernel.Info().Needs
		for i, is := range []bool{n.IntegerDot, n.SharedBytes > 0, n.Subgroup != 0, n.Float16} {
			has[i] = has[i] || is
		}
	}
	var list []string
	for i, name := range []string{"dot products", "shared memory", "subgroups", "16-bit floats"} {
		if has[i] {
			list = append(list, name)
		}
	}
	return list
}

// TestDevices: which class of devices runs an example of each operation in each type, and which features its kernels use where
// they are there. docs/operators.md is made of testdata/devices.txt, which `go test -update` writes.
func TestDevices(t *testing.T) {
	var b strings.Builder
	for _, e := range layerstest.All() {
		if e.Model == nil {
			t.Logf("no example of %v in driver/layers/layerstest", e.Op)
			continue
		}
		var cells []string
		for _, c := range deviceClasses() {
			refused, err := Supports(&c.facts, e.Model)
			require.NoError(t, err)
			cell := "-"
			for _, r := range refused {
				if r != nil {
					cell = "no: " + r.Error()
				}
			}
			if cell == "-" && !NeedsTree(e.Model) { // of a tree each region has a plan of its own
				p, _, err := Model(t.Context(), &c.facts, e.Model, nil)
				require.NoError(t, err, "%v of %v on %s", e.Op, e.Type, c.name)
				if list := features(p); list != nil {
					cell = strings.Join(list, ", ")
				}
				if strings.HasSuffix(c.name, "floor") {
					require.Equal(t, "-", cell, "%v of %v uses what the device lacks", e.Op, e.Type)
				}
			}
			cells = append(cells, cell)
		}
		fmt.Fprintf(&b, "%v\t%v\t%s\n", e.Op, e.Type, strings.Join(cells, "\t"))
	}
	path := filepath.Join("testdata", "devices.txt")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "go test ./gpu/internal/compile -run TestDevices -update, and make generate")
}
