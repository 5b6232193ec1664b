package compile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// TestHostileDataStaysWithinBounds: kernels that find by their data where they read, or how long they loop, with boxes, indices and
// numbers of every kind: NaN, infinities, huge and random ones. Every invocation ends, and none leaves its tensors.
func TestHostileDataStaysWithinBounds(t *testing.T) {
	defer func(l bounds) { limits = l }(limits)
	limits = bounds{invocation: 2_000_000, step: 4_000_000, end: true}
	type b = *layers.Builder
	f32 := func(b b, d ...uint32) uint32 { return b.Input(nn.TensorFloat32, d, 0, 0) }
	i32 := func(b b, d ...uint32) uint32 { return b.Input(nn.TensorInt32, d, 0, 0) }
	roi := func(samples int) layers.Roi {
		return layers.Roi{Roi: ops.Roi{Size: [2]int{2, 3}, Ratio: [2]float32{0.5, 4}}, Samples: [2]int{samples, samples}}
	}
	for name, make := range map[string]func(b b) []uint32{
		"ROI_ALIGN": func(b b) []uint32 {
			return []uint32{b.RoiAlign(f32(b, 2, 9, 7, 5), f32(b, 6, 4), i32(b, 6), roi(0))}
		},
		"ROI_ALIGN of many samples": func(b b) []uint32 {
			return []uint32{b.RoiAlign(f32(b, 2, 9, 7, 5), f32(b, 6, 4), i32(b, 6), roi(1<<20))}
		},
		"ROI_POOLING": func(b b) []uint32 {
			return []uint32{b.RoiPooling(f32(b, 2, 9, 7, 5), f32(b, 6, 4), i32(b, 6), roi(0))}
		},
		"AXIS_ALIGNED_BBOX_TRANSFORM": func(b b) []uint32 {
			return []uint32{b.TransformBoxes(f32(b, 7, 4), f32(b, 7, 12), i32(b, 7), f32(b, 3, 2))}
		},
		"HEATMAP_MAX_KEYPOINT": func(b b) []uint32 {
			scores, places := b.HeatmapMaxKeypoint(f32(b, 5, 6, 6, 3), f32(b, 5, 4), false)
			return []uint32{scores, places}
		},
		"LSH_PROJECTION": func(b b) []uint32 {
			return []uint32{b.LSHProjection(ops.LSHSparse, f32(b, 3, 5), i32(b, 4, 19), f32(b, 4))}
		},
		"RANDOM_MULTINOMIAL": func(b b) []uint32 { return []uint32{b.RandomMultinomial(f32(b, 3, 13), 9, i32(b, 2))} },
		"HASHTABLE_LOOKUP": func(b b) []uint32 {
			y, hits := b.Temp(nn.TensorFloat32, nn.Dims{9, 3}, 0, 0), b.Temp(nn.TensorQuant8Asymm, nn.Dims{9}, 1, 0)
			b.Op(nn.OpHashtableLookup, []uint32{i32(b, 9), i32(b, 5), f32(b, 5, 3)}, []uint32{y, hits})
			return []uint32{y, hits}
		},
		"GATHER": func(b b) []uint32 {
			return []uint32{b.Gather(f32(b, 5, 3), 0, i32(b, 9)), b.Gather(f32(b, 5, 3), 1, i32(b, 9))}
		},
	} {
		for _, device := range []string{"swiftshader", "gpu"} {
			facts := extremeFacts[device]
			t.Run(name+" on "+device, func(t *testing.T) {
				var b layers.Builder
				for _, y := range make(&b) {
					b.Output(y)
				}
				m, err := b.Build()
				require.NoError(t, err)
				p, weights, err := Model(t.Context(), &facts, m, nil)
				require.NoError(t, err)
				for contents := range uint64(10) {
					require.NoError(t, checkBounds(&facts, p, weights, contents))
				}
			})
		}
	}
}
