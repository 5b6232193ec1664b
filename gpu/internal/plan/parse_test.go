package plan

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// parsed are facts that ParseFacts takes.
var parsed = Facts{
	Class: ClassGPU, MaxStorageRange: 1<<32 - 1, MaxTexelElements: 1 << 27, StorageAlign: 16, TexelAlign: 16,
	MaxLocal: [3]uint32{1024, 1024, 64}, MaxInvocations: 1024, MaxGroups: [3]uint32{1<<31 - 1, 65535, 65535},
	SharedBytes: 48 << 10, SubgroupSize: 32, ComputeUnits: 132, Float16: true, TimestampPeriod: 1,
}

func TestParseFacts(t *testing.T) {
	data, err := json.Marshal(&parsed)
	require.NoError(t, err)
	f, err := ParseFacts(data)
	require.NoError(t, err)
	require.Equal(t, &parsed, f)
}

func TestFactsThatNoDeviceHas(t *testing.T) {
	change := func(do func(*Facts)) string {
		f := parsed
		do(&f)
		data, err := json.Marshal(&f)
		require.NoError(t, err)
		return string(data)
	}
	for _, tc := range []struct{ name, text, says string }{
		{"nothing", ``, "EOF"},
		{"a name that is none", `{"Class": "gpu", "Vendor": "x"}`, "Vendor"},
		{"a number as text", `{"MaxInvocations": "128"}`, "MaxInvocations"},
		{"no class", `{}`, "Class"},
		{"more behind", change(func(*Facts) {}) + `{}`, "more follows"},
		{"no workgroups", change(func(f *Facts) { f.MaxInvocations = 0 }), "MaxInvocations is from 128"},
		{"few groups", change(func(f *Facts) { f.MaxGroups[1] = 1 }), "MaxGroups[1]"},
		{"small bindings", change(func(f *Facts) { f.MaxStorageRange = 1 << 20 }), "MaxStorageRange"},
		{"a wide alignment", change(func(f *Facts) { f.StorageAlign = 512 }), "StorageAlign"},
		{"no subgroups", change(func(f *Facts) { f.SubgroupSize = 0 }), "SubgroupSize"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ParseFacts([]byte(tc.text))
			require.ErrorContains(t, err, tc.says)
		})
	}
}
