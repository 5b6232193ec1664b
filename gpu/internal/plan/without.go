package plan

import (
	"fmt"
	"slices"
	"strings"
)

// features are what can be taken away from a device, by name.
var features = []struct {
	name   string
	remove func(*Facts)
}{
	{"shared", func(f *Facts) { f.SharedBytes = 0 }},
	{"subgroup", func(f *Facts) { f.SubgroupSize, f.SubgroupOps, f.Matrices = 1, 0, nil }},
	{"matrix", func(f *Facts) { f.Matrices = nil }},
	{"int8", func(f *Facts) { f.Int8 = false }},
	{"f16", func(f *Facts) { f.Float16 = false }},
	{"dot", func(f *Facts) { f.IntegerDot, f.IntegerDotFast = false, false }},
	{"blocks", func(f *Facts) { f.MaxBlocks = 0 }},
	{"texel", func(f *Facts) { f.BuffersOnly, f.StorageTexelRGBA32F, f.TexelStores = true, false, false }},
}

// Without removes from f the features that a comma-separated list names: shared memory, subgroups, cooperative
// matrices, 8-bit and 16-bit float arithmetic, packed dot products, arrays of storage buffers, texel buffers for tensors. The empty list names
// none.
func (f *Facts) Without(list string) error {
	if list == "" {
		return nil
	}
	var names []string
	for _, feature := range features {
		names = append(names, feature.name)
	}
	for _, name := range strings.Split(list, ",") {
		i := slices.Index(names, strings.TrimSpace(name))
		if i < 0 {
			return fmt.Errorf("no feature %q; known are %s", name, strings.Join(names, ", "))
		}
		features[i].remove(f)
	}
	return nil
}
