package compile

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// extremeFacts are those of devices with very different limits.
var extremeFacts = map[string]plan.Facts{
	"lavapipe":    lavapipe,
	"swiftshader": swiftshader,
	// Limits of a discrete GPU of 2022.
	"gpu": {
		Class: plan.ClassGPU, MaxStorageRange: 1<<32 - 1, MaxTexelElements: 1 << 27, StorageAlign: 16, TexelAlign: 16,
		MaxLocal: [3]uint32{1024, 1024, 64}, MaxInvocations: 1024, MaxGroups: [3]uint32{1<<31 - 1, 65535, 65535}, SharedBytes: 48 << 10, SubgroupSize: 32,
		IntegerDot: true, IntegerDotFast: true, StorageTexelRGBA32F: true, TimestampPeriod: 1,
	},
	// The least that Vulkan 1.1 guarantees.
	"least": {
		Class: plan.ClassGPU, MaxStorageRange: 1 << 27, MaxTexelElements: 65536, StorageAlign: 256, TexelAlign: 256,
		MaxLocal: [3]uint32{128, 128, 64}, MaxInvocations: 128, MaxGroups: [3]uint32{65535, 65535, 65535}, SubgroupSize: 1, Unified: true,
	},
	// No device's, but models of ordinary size are lowered in pieces then.
	"small bindings": {
		Class: plan.ClassCPU, MaxStorageRange: 1 << 14, MaxTexelElements: 1 << 27, StorageAlign: 16, TexelAlign: 16,
		MaxLocal: [3]uint32{1024, 1024, 64}, MaxInvocations: 1024, MaxGroups: [3]uint32{65535, 65535, 65535}, SubgroupSize: 8, Unified: true,
	},
	"slow stores": {
		Class: plan.ClassCPU, MaxStorageRange: 1 << 30, MaxTexelElements: 1<<32 - 1, StorageAlign: 16, TexelAlign: 16,
		MaxLocal: [3]uint32{1024, 1024, 64}, MaxInvocations: 1024, MaxGroups: [3]uint32{65535, 65535, 65535}, SubgroupSize: 8,
		IntegerDot: true, StorageTexelRGBA32F: true, TexelStores: true, Unified: true, TimestampPeriod: 1,
	},
}

// compileExtreme takes m through the compiler for each device: what is supported compiles, or lacks memory;
// what compiles stays within bounds.
func compileExtreme(t *testing.T, m *nn.Model, contents uint64) (accepted bool) {
	t.Helper()
	if validate.Model(m) != nil {
		return false
	}
	for name, facts := range extremeFacts {
		refused, err := Supports(&facts, m)
		require.NoError(t, err, name)
		if NeedsTree(m) {
			_, err := TreeOf(&facts, m)
			require.Equal(t, errors.Join(refused...) == nil, err == nil, "%s: %v", name, err)
			continue
		}
		p, weights, err := Model(context.Background(), &facts, m, nil)
		if why := errors.Join(refused...); why != nil {
			require.Error(t, err, "%s accepts what it does not support: %v", name, why)
			continue
		}
		if nn.StatusOf(err) == nn.StatusResourceExhaustedPersistent {
			continue
		}
		require.NoError(t, err, "%s refuses what it supports", name)
		accepted = true
		require.NoError(t, checkBounds(&facts, p, weights, contents), name)
	}
	return accepted
}

// TestRandomExtremes is what fuzzing does, on the same models each time.
func TestRandomExtremes(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	accepted := 0
	for i := range 10_000 {
		data := make([]byte, 40+rng.IntN(160))
		for k := range data {
			data[k] = byte(rng.Uint32())
		}
		if compileExtreme(t, generate(data), uint64(i)) {
			accepted++
		}
	}
	require.Greater(t, accepted, 300, "the generator makes too few valid models")
}

// FuzzExtremes: no model makes the compiler panic, or a kernel leave its memory.
func FuzzExtremes(f *testing.F) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 64 {
		seed := make([]byte, 200)
		for i := range seed {
			seed[i] = byte(rng.Uint32())
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var contents uint64
		if len(data) > 0 {
			contents = uint64(data[0])
		}
		compileExtreme(t, generate(data), contents)
	})
}
