package vulkan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/shaders"
)

func TestBinaries(t *testing.T) {
	for _, selector := range []string{Lavapipe, SwiftShader} {
		t.Run(selector, func(t *testing.T) {
			d := openOrSkip(t, selector, Options{Validation: true})
			defer func() {
				require.Empty(t, d.ValidationMessages())
				require.NoError(t, d.Close())
			}()
			list := []plan.Pipeline{{Kernel: shaders.UnaryAbsF32, Local: plan.Flat(64)}}
			require.NoError(t, d.Prepare(t.Context(), list))
			b, err := d.Binaries()
			require.NoError(t, err)
			require.Nil(t, b, "a header says nothing")

			header, err := d.dev.PipelineCacheData(d.pipelines.cache)
			require.NoError(t, err)
			require.True(t, binariesFit(d.props, header))
			require.False(t, binariesFit(d.props, header[:binariesHeader-1]))
			for i := range binariesHeader {
				foreign := slices.Clone(header)
				foreign[i] ^= 0x10
				require.False(t, binariesFit(d.props, foreign), "byte %d", i)
			}

			// A body without entries, handed over while others compile.
			full := append(slices.Clone(header[:binariesHeader]), make([]byte, 100)...)
			var wg sync.WaitGroup
			errs := make([]error, 8)
			for i := range uint32(8) {
				more := []plan.Pipeline{{Kernel: shaders.UnaryNegF32, Local: plan.Flat(8 * (i + 1))}}
				wg.Go(func() {
					if i%2 == 0 {
						errs[i] = d.AddBinaries(full, more)
						return
					}
					errs[i] = d.Prepare(context.Background(), more)
				})
			}
			wg.Wait()
			require.NoError(t, errors.Join(errs...))
			for _, data := range [][]byte{nil, header, make([]byte, 1000), make([]byte, maxBinaries+1)} {
				require.NoError(t, d.AddBinaries(data, []plan.Pipeline{{Kernel: shaders.UnarySinF32, Local: plan.Flat(8)}}))
			}
			require.True(t, d.pipelines.has(list))
			require.False(t, d.pipelines.has([]plan.Pipeline{list[0], {Kernel: shaders.UnarySinF32, Local: plan.Flat(8)}}))
		})
	}
}

// TestDamagedPlansAreJudged flips every bit of an encoded plan: what decodes is judged by the device without
// harm.
func TestDamagedPlansAreJudged(t *testing.T) {
	d := &Device{props: &vk.Properties{MaxAllocation: 512, MaxGroups: [3]uint32{2, 1, 1}}}
	d.info.Facts = plan.Facts{MaxStorageRange: 1 << 20, MaxTexelElements: 1 << 12, MaxLocal: [3]uint32{8, 1, 1}, MaxInvocations: 8}
	k := shaders.ConvGemmF32X8x8TexelStore
	p := &plan.Plan{
		ArenaBytes: 512, WeightBytes: 512, HostBytes: 512,
		Inputs: []plan.IO{{Name: "x", Size: 48, DeviceBytes: 48}}, Outputs: []plan.IO{{Offset: 256, Size: 48, DeviceBytes: 48}},
		Steps: []plan.Step{{
			Kernel: k, Local: plan.Flat(8), Groups: [3]uint32{2, 1, 1}, Push: make([]uint32, k.Info().PushWords), Label: "CONV_2D #0",
			Bindings: []plan.Binding{
				{Buffer: plan.Host, Size: 48, Format: plan.FormatRGBA32F}, {Buffer: plan.Weights, Size: 256, Format: plan.FormatRGBA32F},
				{Buffer: plan.Weights, Offset: 256, Size: 64}, {Buffer: plan.Arena, Size: 48, Format: plan.FormatRGBA32F, Write: true},
			},
		}, {
			Kernel: shaders.Copy, Barrier: true, Label: "output",
			Bindings: []plan.Binding{{Buffer: plan.Arena, Size: 48}, {Buffer: plan.Host, Offset: 256, Size: 48, Write: true}},
		}},
		Segments: []int{1, 2},
	}
	require.ErrorContains(t, d.checkPlan(p), "cannot write texels")
	d.info.Facts.StorageTexelRGBA32F = true
	require.NoError(t, d.checkPlan(p))
	limit := d.props.MaxAllocation
	d.props.MaxAllocation = 1
	require.NotContains(t, fmt.Errorf("plan: %w", d.checkPlan(p)).Error(), "plan: plan: ", "callers say which plan")
	d.props.MaxAllocation = limit
	data := plan.Encode(p)
	refused, judged, accepted := 0, 0, 0
	for i := range data {
		for bit := range 8 {
			data[i] ^= 1 << bit
			switch q, err := plan.Decode(data); {
			case err != nil:
				refused++
			case d.checkPlan(q) != nil:
				judged++
			default:
				accepted++
			}
			data[i] ^= 1 << bit
		}
	}
	t.Logf("%d refused by the decoder, %d by the device, %d accepted", refused, judged, accepted)
	require.NotZero(t, judged)
}
