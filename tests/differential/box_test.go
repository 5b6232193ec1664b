package differential

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/driver/ops"
)

// boxType is the type and scale of boxes beside a tensor of type t.
func boxType(t nn.OperandType) (nn.OperandType, float32) {
	if t.IsQuant8() {
		return nn.TensorQuant16Asymm, ops.BoxScale
	}
	return t, 0
}

// pixels are numbers in units of an eighth, as values of type t.
func pixels(t nn.OperandType, eighths ...int) []byte {
	var b []byte
	for _, v := range eighths {
		if t == nn.TensorQuant16Asymm {
			b = binary.LittleEndian.AppendUint16(b, uint16(v))
		} else {
			b = append(b, floatsOf(t, float64(v)/8)...)
		}
	}
	return b
}

// randomBoxes are n of them in an image of that size, some beyond its edges, some of no size.
func randomBoxes(rng *rand.Rand, t nn.OperandType, n, height, width int) []byte {
	var all []int
	for range n {
		x, y := rng.IntN(8*width), rng.IntN(8*height)
		all = append(all, x, y, x+rng.IntN(8*width+8), y+rng.IntN(8*height+8))
	}
	return pixels(t, all...)
}

// boxTolerance is that of results that hang on few roundings, for those of 8 or 16 bits one step.
func boxTolerance(t nn.OperandType) Tolerance {
	if t.IsQuant8() {
		return OneStep
	}
	return ToleranceOf(t)
}

// TestRegions: both operations on cells of all sizes, boxes beyond the image and in images that there are none of, channels
// at the edges of quads, in both layouts. Where samples are is exact in float32: one at the edge of the image counts or not.
func TestRegions(t *testing.T) {
	eachType(t, asymmTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		for i, tc := range []struct {
			dims  nn.Dims // NHWC
			boxes int
			roi   layers.Roi
		}{
			{nn.Dims{1, 1, 1, 1}, 1, layers.Roi{Roi: ops.Roi{Size: [2]int{1, 1}, Ratio: [2]float32{1, 1}}, Samples: [2]int{1, 1}}},
			{nn.Dims{2, 5, 7, 3}, 11, layers.Roi{Roi: ops.Roi{Size: [2]int{2, 2}, Ratio: [2]float32{1, 1}}}},
			{nn.Dims{3, 13, 11, 4}, 7, layers.Roi{Roi: ops.Roi{Size: [2]int{4, 1}, Ratio: [2]float32{2, 4}}, Samples: [2]int{3, 0}}},
			{nn.Dims{1, 17, 9, 13}, 5, layers.Roi{Roi: ops.Roi{Size: [2]int{8, 4}, Ratio: [2]float32{0.5, 0.25}}, Samples: [2]int{2, 16}}},
			{nn.Dims{2, 41, 37, 2}, 3, layers.Roi{Roi: ops.Roi{Size: [2]int{1, 2}, Ratio: [2]float32{0.5, 1}}}},
		} {
			for _, nchw := range []bool{false, true} {
				for _, pooling := range []bool{false, true} {
					t.Run(fmt.Sprint(tc.dims, tc.roi, nchw, pooling), func(t *testing.T) {
						rng := rand.New(rand.NewPCG(uint64(i), 15))
						in := of(typ, 0, tc.dims)
						roi := tc.roi
						if roi.NCHW = nchw; nchw {
							in.dims = nn.Dims{tc.dims[0], tc.dims[3], tc.dims[1], tc.dims[2]}
						}
						box, scale := boxType(typ)
						var b layers.Builder
						x, n := b.Input(typ, in.dims, in.scale, in.zero), uint32(tc.boxes)
						boxes, images := b.Input(box, nn.Dims{n, 4}, scale, 0), b.Input(nn.TensorInt32, nn.Dims{n}, 0, 0)
						if pooling {
							b.Output(b.RoiPooling(x, boxes, images, roi))
						} else {
							b.Output(b.RoiAlign(x, boxes, images, roi))
						}
						var of []int32
						for range n {
							of = append(of, int32(rng.IntN(int(tc.dims[0])+2)-1))
						}
						size := func(k int) int { return int(math.Ceil(float64(tc.dims[1+k]) * float64(roi.Ratio[k]))) }
						CompareOn(t, d, nntest.Build(&b.Builder), [][]byte{
							RandomValue(typ, in.dims, rng), randomBoxes(rng, box, tc.boxes, size(0), size(1)), int32Bytes(of),
						}, boxTolerance(typ))
					})
				}
			}
		}
	})
}

// TestTransformedBoxes: of one and of many classes, in images that there are none of.
func TestTransformedBoxes(t *testing.T) {
	eachType(t, asymmTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		for i, tc := range [][3]uint32{{1, 1, 1}, {7, 1, 2}, {5, 13, 3}, {131, 4, 1}} { // boxes, classes, images
			t.Run(fmt.Sprint(tc), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(i), 16))
				box, scale := boxType(typ)
				in := of(typ, 0, nn.Dims{tc[0], 4 * tc[1]})
				var b layers.Builder
				boxes, deltas := b.Input(box, nn.Dims{tc[0], 4}, scale, 0), b.Input(typ, in.dims, in.scale, in.zero)
				b.Output(b.TransformBoxes(boxes, deltas, b.Input(nn.TensorInt32, nn.Dims{tc[0]}, 0, 0), b.Input(box, nn.Dims{tc[2], 2}, scale, 0)))
				var of []int32
				var sizes []int
				for range tc[0] {
					of = append(of, int32(rng.IntN(int(tc[2])+2)-1))
				}
				for range 2 * tc[2] {
					sizes = append(sizes, 160+rng.IntN(160))
				}
				tol := boxTolerance(typ)
				if typ == nn.TensorFloat32 {
					tol = Tolerance{Abs: 1e-4, Rel: 1e-5}
				}
				CompareOn(t, d, nntest.Build(&b.Builder), [][]byte{
					randomBoxes(rng, box, int(tc[0]), 32, 32), RandomValue(typ, in.dims, rng), int32Bytes(of), pixels(box, sizes...),
				}, tol)
			})
		}
	})
}

// TestKeypoints: hills with their tops between elements, in the middle, at the edges and in the corners.
func TestKeypoints(t *testing.T) {
	eachType(t, asymmTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		for i, tc := range [][3]uint32{{1, 2, 1}, {3, 5, 3}, {2, 8, 4}, {5, 29, 13}} { // boxes, size, keypoints
			for _, nchw := range []bool{false, true} {
				t.Run(fmt.Sprint(tc, nchw), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(i), 17))
					s := int(tc[1])
					dims := nn.Dims{tc[0], tc[1], tc[1], tc[2]}
					if nchw {
						dims = nn.Dims{tc[0], tc[2], tc[1], tc[1]}
					}
					hill := make([]float64, int(tc[0])*s*s*int(tc[2]))
					for k := range int(tc[0] * tc[2]) {
						x, y := rng.IntN(s), rng.IntN(s)
						for p := range s * s {
							at := (k/int(tc[2])*s*s+p)*int(tc[2]) + k%int(tc[2])
							if nchw {
								at = k*s*s + p
							}
							dx, dy := float64(p%s-x)-0.1875, float64(p/s-y)+0.3125
							hill[at] = 2 - (dx*dx+dy*dy+dx*dy/2)/float64(s*s)
						}
					}
					var b layers.Builder
					in := of(typ, 0, dims)
					box, scale := boxType(typ)
					in.scale, in.zero = 0, 0
					x := floatsOf(typ, hill...)
					if typ.IsQuant8() {
						in.scale, in.zero, x = 1.0/64, 0, nil
						for _, v := range hill {
							x = append(x, byte(int8(v*63)))
						}
					}
					scores, places := b.HeatmapMaxKeypoint(b.Input(typ, in.dims, in.scale, in.zero), b.Input(box, nn.Dims{tc[0], 4}, scale, 0), nchw)
					b.Output(scores)
					b.Output(places)
					tol := boxTolerance(typ)
					if typ == nn.TensorFloat32 {
						tol = Tolerance{Abs: 1e-3, Rel: 1e-4} // a quotient of differences
					} else if typ == nn.TensorFloat16 {
						tol = Tolerance{Abs: 3e-2, Rel: 5e-3}
					}
					CompareOn(t, d, nntest.Build(&b.Builder), [][]byte{x, randomBoxes(rng, box, int(tc[0]), 16, 16)}, tol)
				})
			}
		}
	})
}
