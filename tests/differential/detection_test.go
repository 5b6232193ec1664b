package differential

import (
	"context"
	"encoding/binary"
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

// detections is a model of one DETECTION_POSTPROCESSING of scores [images, anchors, classes] and deltas of that many numbers.
func detections(typ nn.OperandType, images, anchors, classes, deltas uint32, d ops.Detection) *nn.Model {
	var b layers.Builder
	scores, boxes, labels, counts := b.DetectionPostprocessing(b.Input(typ, nn.Dims{images, anchors, classes}, 0, 0),
		b.Input(typ, nn.Dims{images, anchors, deltas}, 0, 0), b.Input(typ, nn.Dims{anchors, 4}, 0, 0), d)
	for _, y := range []uint32{scores, boxes, labels, counts} {
		b.Output(y)
	}
	return nntest.Build(&b.Builder)
}

// detectionInputs are scores of which many are equal, and boxes of few places and sizes: how they overlap is exact.
func detectionInputs(rng *rand.Rand, typ nn.OperandType, images, anchors, classes, deltas int) [][]byte {
	var scores, moved, at []float64
	for range images * anchors * classes {
		scores = append(scores, float64(rng.IntN(23)-3)/16)
	}
	for range images * anchors {
		moved = append(moved, float64(rng.IntN(5))/4, -float64(rng.IntN(5))/4, 0, 0)
		for range deltas - 4 {
			moved = append(moved, rng.Float64())
		}
	}
	for range anchors {
		at = append(at, float64(rng.IntN(24))/2, float64(rng.IntN(16))/2, float64(rng.IntN(4)), float64(1+rng.IntN(4)))
	}
	return [][]byte{floatsOf(typ, scores...), floatsOf(typ, moved...), floatsOf(typ, at...)}
}

// TestDetections: in each class and by the best class; anchors below, at and above a round of 128, more places than there are
// detections, and fewer; equal scores; boxes of no height.
func TestDetections(t *testing.T) {
	eachType(t, floatTypes[:2], func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		scale := [4]float32{1, 2, 5, 5}
		for i, tc := range []struct {
			images, anchors, classes, deltas uint32
			ops.Detection
		}{
			{1, 1, 2, 4, ops.Detection{Detections: 1, ClassesPerBox: 1, Overlap: 0.5}},
			{2, 7, 3, 5, ops.Detection{Detections: 3, ClassesPerBox: 1, Overlap: 0.3, Score: 0.25, Background: true}},
			{3, 127, 5, 4, ops.Detection{Detections: 50, ClassesPerBox: 3, Overlap: 0.5, Score: -1}},
			{1, 128, 9, 7, ops.Detection{Detections: 9, ClassesPerBox: 20, Overlap: 0.25}},
			{2, 129, 4, 4, ops.Detection{Detections: 200, ClassesPerBox: 2, Overlap: 1}},
			{1, 1009, 21, 4, ops.Detection{Detections: 300, ClassesPerBox: 1, Overlap: 0.6, Score: 0.5}},
			{5, 300, 2, 4, ops.Detection{Detections: 10, ClassesPerBox: 1, Overlap: 0}},
			{1, 1, 2, 4, ops.Detection{Regular: true, Detections: 1, DetectionsPerClass: 1, Overlap: 0.5}},
			{2, 13, 3, 4, ops.Detection{Regular: true, Detections: 7, DetectionsPerClass: 2, Overlap: 0.3, Background: true}},
			{1, 130, 6, 6, ops.Detection{Regular: true, Detections: 11, DetectionsPerClass: 300, Overlap: 0.5, Score: 0.25}},
			{3, 257, 4, 4, ops.Detection{Regular: true, Detections: 1000, DetectionsPerClass: 90, Overlap: 0.4, Score: -1}},
			{1, 600, 13, 4, ops.Detection{Regular: true, Detections: 100, DetectionsPerClass: 100, Overlap: 0.6, Score: 5}},
		} {
			tc.Scale = scale
			t.Run(fmt.Sprint(tc), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(i), 18))
				m := detections(typ, tc.images, tc.anchors, tc.classes, tc.deltas, tc.Detection)
				CompareOn(t, d, m, detectionInputs(rng, typ, int(tc.images), int(tc.anchors), int(tc.classes), int(tc.deltas)), ToleranceOf(typ))
			})
		}
	})
}

// TestDetectionsGrow: boxes whose sizes are powers of e, which overlap or do not by far.
func TestDetectionsGrow(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, regular := range []bool{false, true} {
			const anchors, classes = 211, 4
			rng := rand.New(rand.NewPCG(1, 19))
			m := detections(nn.TensorFloat32, 1, anchors, classes, 4, ops.Detection{Scale: [4]float32{10, 10, 5, 5}, Regular: regular,
				Detections: 40, ClassesPerBox: 1, DetectionsPerClass: 40, Overlap: 0.5, Score: 0.125})
			var at []float64
			for range anchors { // groups of boxes that are nearly the same
				at = append(at, 100*float64(rng.IntN(7))+rng.Float64(), 100*float64(rng.IntN(9))+rng.Float64(), 30, 40)
			}
			inputs := [][]byte{RandomValue(nn.TensorFloat32, nn.Dims{anchors * classes}, rng), RandomValue(nn.TensorFloat32, nn.Dims{anchors * 4}, rng),
				floatsOf(nn.TensorFloat32, at...)}
			CompareOn(t, d, m, inputs, Tolerance{Abs: 1e-3, Rel: 1e-5})
		}
	})
}

// TestHostileDetections: NaN, infinities and inverted boxes anywhere. What is chosen is among what was there, and in order.
func TestHostileDetections(t *testing.T) {
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat32, -math.MaxFloat32, 1e-45, math.Copysign(0, -1), 1, -1}
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, regular := range []bool{false, true} {
			const images, anchors, classes, places = 2, 200, 5, 37
			m := detections(nn.TensorFloat32, images, anchors, classes, 4, ops.Detection{Scale: [4]float32{1, 1, 1, 1}, Regular: regular,
				Detections: places, ClassesPerBox: 1, DetectionsPerClass: 20, Overlap: 0.5})
			rng := rand.New(rand.NewPCG(5, 20))
			var inputs [][]byte
			for _, n := range []int{images * anchors * classes, images * anchors * 4, anchors * 4} {
				var v []float64
				for range n {
					v = append(v, special[rng.IntN(len(special))])
				}
				inputs = append(inputs, floatsOf(nn.TensorFloat32, v...))
			}
			client, err := d.NewClient(t.Name())
			require.NoError(t, err)
			defer func() { require.NoError(t, client.Close()) }()
			pm, err := client.PrepareModel(context.Background(), m)
			require.NoError(t, err)
			outputs := pm.NewOutputs()
			_, err = pm.Run(context.Background(), inputs, outputs)
			require.NoError(t, err)
			for n := range images {
				count := int(binary.LittleEndian.Uint32(outputs[3][4*n:]))
				require.Positive(t, count)
				require.LessOrEqual(t, count, places)
				last := math.Inf(1)
				for i := range places {
					score := float64(math.Float32frombits(binary.LittleEndian.Uint32(outputs[0][4*(n*places+i):])))
					label := int32(binary.LittleEndian.Uint32(outputs[2][4*(n*places+i):]))
					if i >= count {
						require.Zero(t, score)
						require.Zero(t, label)
						continue
					}
					require.Greater(t, score, 0.0)
					require.LessOrEqual(t, score, last)
					require.True(t, label >= 0 && label < classes-1, label)
					last = score
				}
			}
		}
	})
}
