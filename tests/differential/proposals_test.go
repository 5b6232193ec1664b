package differential

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/internal/devices"
)

// deltaScale and deltaZero are those of 8-bit deltas.
const deltaScale, deltaZero = 0.25, 3

// proposals is a model of one GENERATE_PROPOSALS of images of positions [height, width] with so many anchors.
func proposals(typ nn.OperandType, images, height, width, anchors int, a ops.Proposals) *nn.Model {
	var b layers.Builder
	n, h, w, each := uint32(images), uint32(height), uint32(width), uint32(anchors)
	scores, deltas := nn.Dims{n, h, w, each}, nn.Dims{n, h, w, 4 * each}
	if a.NCHW {
		scores, deltas = nn.Dims{n, each, h, w}, nn.Dims{n, 4 * each, h, w}
	}
	var scale, byDelta float32
	zero, box, about := int32(0), typ, typ
	var boxScale float32
	if typ.IsQuant8() {
		scale, byDelta, zero, box, about, boxScale = 1.0/64, deltaScale, deltaZero, nn.TensorQuant16Asymm, nn.TensorQuant16Symm, ops.BoxScale
	}
	kept, at, of := b.GenerateProposals(b.Input(typ, scores, scale, zero), b.Input(typ, deltas, byDelta, zero),
		b.Input(about, nn.Dims{each, 4}, boxScale, 0), b.Input(box, nn.Dims{n, 2}, boxScale, 0), a)
	for _, y := range []uint32{kept, at, of} {
		b.Output(y)
	}
	return nntest.Build(&b.Builder)
}

// proposalInputs are boxes of few places and sizes, some beyond the image, some too small: how they overlap is exact.
func proposalInputs(rng *rand.Rand, typ nn.OperandType, images, height, width, anchors int, nchw bool) [][]byte {
	all := images * height * width * anchors
	var scores []float64
	var bytes, moved []byte
	steps := make([]float64, 4*all)
	for i := range all {
		scores = append(scores, float64(rng.IntN(97)-9)/64)
		bytes = append(bytes, byte(rng.IntN(100)))
		for k := range 2 {
			at := 4*i + k
			if nchw { // channels of an image follow one another
				n, p := i/(height*width*anchors), i%(height*width*anchors)
				anchor, position := p%anchors, p/anchors
				at = (n*4*anchors+4*anchor+k)*height*width + position
			}
			steps[at] = float64(rng.IntN(9)-4) / 4
		}
	}
	for _, v := range steps {
		moved = append(moved, byte(int8(v/deltaScale)+deltaZero))
	}
	var at, sizes []int
	for range anchors {
		x, y := -8*rng.IntN(5), -8*rng.IntN(5)
		at = append(at, x, y, x+16*(1+rng.IntN(4)), y+16*(1+rng.IntN(4)))
	}
	for range images {
		sizes = append(sizes, 8*(4*height-rng.IntN(4)), 8*(4*width-rng.IntN(4)))
	}
	if !typ.IsQuant8() {
		return [][]byte{floatsOf(typ, scores...), floatsOf(typ, steps...), pixels(typ, at...), pixels(typ, sizes...)}
	}
	return [][]byte{bytes, moved, pixels(nn.TensorQuant16Asymm, at...), pixels(nn.TensorQuant16Asymm, sizes...)}
}

// TestProposals: candidates below, at and above a round of 128, of one image and of many, with and without limits, in both
// layouts; equal scores; boxes that are all too small.
func TestProposals(t *testing.T) {
	eachType(t, asymmTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		ratio := [2]float32{4, 4}
		for i, tc := range []struct {
			images, height, width, anchors int
			ops.Proposals
		}{
			{1, 2, 1, 1, ops.Proposals{Overlap: 0.5, Smallest: -1}},
			{2, 3, 5, 3, ops.Proposals{Overlap: 0.3, Smallest: 2}},
			{1, 8, 8, 2, ops.Proposals{Overlap: 0.5, Before: 40, Most: 7}},
			{3, 7, 5, 5, ops.Proposals{Overlap: 0.6, Before: 129, Smallest: 1}},
			{2, 11, 13, 4, ops.Proposals{Overlap: 0, Most: 300, Smallest: 2}},
			{5, 3, 3, 6, ops.Proposals{Overlap: 1, Most: 50}},
			{2, 5, 5, 3, ops.Proposals{Overlap: 0.5, Smallest: 1000}},
		} {
			for _, tc.NCHW = range []bool{false, true} {
				tc.Ratio = ratio
				t.Run(fmt.Sprint(tc), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(i), 21))
					m := proposals(typ, tc.images, tc.height, tc.width, tc.anchors, tc.Proposals)
					pm, _ := prepared(t, d, m)
					all := tc.images * tc.height * tc.width * tc.anchors
					dims := compareUnknown(t, pm, m, proposalInputs(rng, typ, tc.images, tc.height, tc.width, tc.anchors, tc.NCHW), 16*all, boxTolerance(typ))
					require.Equal(t, tc.Smallest == 1000, dims[0][0] == 0)
				})
			}
		}
	})
}

// TestHostileProposals: NaN, infinities and inverted anchors anywhere; the count is bounded, scores are in order.
func TestHostileProposals(t *testing.T) {
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat32, 1e-45, math.Copysign(0, -1), 1, -1, 7}
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		const images, height, width, anchors, most = 2, 9, 7, 4, 30
		m := proposals(nn.TensorFloat32, images, height, width, anchors, ops.Proposals{Ratio: [2]float32{1, 1}, Overlap: 0.5, Before: 200, Most: most})
		pm, _ := prepared(t, d, m)
		for seed := range uint64(4) {
			rng := rand.New(rand.NewPCG(seed, 22))
			var inputs [][]byte
			for _, n := range []int{1, 4} {
				var v []float64
				for range n * images * height * width * anchors {
					v = append(v, special[rng.IntN(len(special))])
				}
				inputs = append(inputs, floatsOf(nn.TensorFloat32, v...))
			}
			var at []float64
			for range 4 * anchors {
				at = append(at, special[rng.IntN(len(special))])
			}
			inputs = append(inputs, floatsOf(nn.TensorFloat32, at...), floatsOf(nn.TensorFloat32, 40, 50, math.Inf(1), math.NaN()))
			dims, got := runUnknown(t, pm, inputs, 16*images*most)
			n := int(dims[0][0])
			require.LessOrEqual(t, n, images*most)
			require.Equal(t, nn.Dims{uint32(n), 4}, dims[1])
			scores, err := nn.Values[float32](got[0][:4*n])
			require.NoError(t, err)
			of := got[2][:4*n]
			for i := range n {
				image := int(of[4*i])
				require.True(t, image < images && !math.IsNaN(float64(scores[i])), "%v of image %d", scores[i], image)
				if i > 0 && of[4*i-4] == of[4*i] {
					require.GreaterOrEqual(t, scores[i-1], scores[i])
				}
			}
		}
	})
}
