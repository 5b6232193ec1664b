package differential

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/internal/devices"
)

// wildFloats are what boxes, their deltas and sizes of images may be and never should.
var wildFloats = []float64{
	math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat32, -math.MaxFloat32, 1e30, -1e30, 1 << 31, -1 << 31, 1 << 24, -65504, 1e-40, -0.5,
}

// wildIndices are images that there are none of, but the last.
var wildIndices = []int32{-1 << 31, 1<<31 - 1, -1, 2, 1 << 30, -65536, 0}

// TestWildBoxes: boxes of any numbers and images that there are none of neither hang a device nor change what becomes of others.
func TestWildBoxes(t *testing.T) {
	const n = 64 // boxes, of which every other is tame
	roi := func(samples int) layers.Roi {
		return layers.Roi{Roi: ops.Roi{Size: [2]int{3, 2}, Ratio: [2]float32{1, 2}}, Samples: [2]int{samples, samples}}
	}
	type b = *layers.Builder
	f32 := func(b b, d ...uint32) uint32 { return b.Input(nn.TensorFloat32, d, 0, 0) }
	i32 := func(b b) uint32 { return b.Input(nn.TensorInt32, nn.Dims{n}, 0, 0) }
	for name, tc := range map[string]struct {
		model func(b b) []uint32
		wild  []int // inputs with a row for each box
	}{
		"ROI_ALIGN": {func(b b) []uint32 {
			return []uint32{b.RoiAlign(f32(b, 2, 13, 11, 5), f32(b, n, 4), i32(b), roi(0))}
		}, []int{1, 2}},
		"ROI_ALIGN of many samples": {func(b b) []uint32 {
			return []uint32{b.RoiAlign(f32(b, 2, 13, 11, 5), f32(b, n, 4), i32(b), roi(1<<16))}
		}, []int{1, 2}},
		"ROI_POOLING": {func(b b) []uint32 {
			return []uint32{b.RoiPooling(f32(b, 2, 13, 11, 5), f32(b, n, 4), i32(b), roi(0))}
		}, []int{1, 2}},
		"AXIS_ALIGNED_BBOX_TRANSFORM": {func(b b) []uint32 {
			return []uint32{b.TransformBoxes(f32(b, n, 4), f32(b, n, 8), i32(b), f32(b, 2, 2))}
		}, []int{0, 1, 2}},
		"HEATMAP_MAX_KEYPOINT": {func(b b) []uint32 {
			scores, places := b.HeatmapMaxKeypoint(f32(b, n, 7, 7, 3), f32(b, n, 4), false)
			return []uint32{scores, places}
		}, []int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var b layers.Builder
			for _, y := range tc.model(&b) {
				b.Output(y)
			}
			m, err := b.Build()
			require.NoError(t, err)
			devices.Each(t, func(t *testing.T, d *driver.Device) {
				rng := rand.New(rand.NewPCG(1, 2))
				tame := RandomInputs(m, rng)
				var wild [][]byte
				for i, x := range m.Main.Inputs {
					o := m.Main.Operands[x]
					if o.Type == nn.TensorInt32 {
						tame[i] = int32Bytes(indicesOf(rng, n, 2))
					} else if len(o.Dims) == 2 {
						tame[i] = randomBoxes(rng, o.Type, len(tame[i])/16, 13, 11)
					}
					wild = append(wild, append([]byte(nil), tame[i]...))
				}
				for _, i := range tc.wild {
					isIndex := m.Main.Operands[m.Main.Inputs[i]].Type == nn.TensorInt32
					row := len(wild[i]) / n
					for k := 0; k < n; k += 2 {
						for at := k * row; at < (k+1)*row; at += 4 {
							v := floatsOf(nn.TensorFloat32, wildFloats[rng.IntN(len(wildFloats))])
							if isIndex {
								v = int32Bytes(wildIndices[rng.IntN(len(wildIndices)):][:1])
							}
							copy(wild[i][at:], v)
						}
					}
				}
				client, err := d.NewClient(t.Name())
				require.NoError(t, err)
				defer client.Close()
				pm, err := client.PrepareModel(t.Context(), m)
				require.NoError(t, err)
				want, got := pm.NewOutputs(), pm.NewOutputs()
				_, err = pm.Run(t.Context(), tame, want)
				require.NoError(t, err)
				began := time.Now()
				_, err = pm.Run(t.Context(), wild, got)
				require.NoError(t, err)
				require.Less(t, time.Since(began), 20*time.Second) // some milliseconds; other tests have the machine, too
				for i := range got {
					row := len(got[i]) / n
					for k := 1; k < n; k += 2 {
						require.Equal(t, want[i][k*row:(k+1)*row], got[i][k*row:(k+1)*row], "box %d", k)
					}
				}
			})
		})
	}
}
