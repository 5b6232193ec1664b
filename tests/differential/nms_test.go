package differential

import (
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
	"github.com/nngpu/nngpu/internal/conformancedata"
	"github.com/nngpu/nngpu/internal/devices"
	"github.com/nngpu/nngpu/tests/internal/ref"
)

// scoreScale is that of 8-bit scores, so that they reach 1 from 0 on.
const scoreScale = 1.0 / 255

// suppression is a model of one BOX_WITH_NMS_LIMIT.
func suppression(typ nn.OperandType, rows, classes int, a ops.BoxNMS) *nn.Model {
	var b layers.Builder
	box, boxScale := boxType(typ)
	r, c := uint32(rows), uint32(classes)
	var scale float32
	if typ.IsQuant8() {
		scale = scoreScale
	}
	zero := int32(0)
	if typ == nn.TensorQuant8AsymmSigned {
		zero = -128
	}
	scores, boxes, of, images := b.NonMaxSuppression(b.Input(typ, nn.Dims{r, c}, scale, zero), b.Input(box, nn.Dims{r, 4 * c}, boxScale, 0),
		b.Input(nn.TensorInt32, nn.Dims{r}, 0, 0), a)
	for _, y := range []uint32{scores, boxes, of, images} {
		b.Output(y)
	}
	return nntest.Build(&b.Builder)
}

// scoresOf are n of them, from 0 to 1, in no order, of which 8-bit types have equal ones.
func scoresOf(typ nn.OperandType, n int, rng *rand.Rand) []byte {
	var b []byte
	for _, i := range rng.Perm(n) {
		v := float64(i) / float64(n)
		switch typ {
		case nn.TensorQuant8Asymm:
			b = append(b, byte(v/scoreScale))
		case nn.TensorQuant8AsymmSigned:
			b = append(b, byte(int8(v/scoreScale-128)))
		default:
			b = append(b, floatsOf(typ, v)...)
		}
	}
	return b
}

// runUnknown runs m, of whose outputs the data tells the dimensions, with room for as many bytes in each.
func runUnknown(t *testing.T, pm *driver.PreparedModel, inputs [][]byte, room int) ([]nn.Dims, [][]byte) {
	t.Helper()
	q := &nn.Request{}
	add := func(data []byte) nn.RequestArgument {
		q.Pools = append(q.Pools, nn.HostMemory(data))
		return nn.RequestArgument{Location: nn.Location{PoolIndex: uint32(len(q.Pools) - 1), Length: uint32(len(data))}}
	}
	for _, data := range inputs {
		q.Inputs = append(q.Inputs, add(data))
	}
	var outputs [][]byte
	for range pm.Outputs() {
		outputs = append(outputs, make([]byte, room))
		q.Outputs = append(q.Outputs, add(outputs[len(outputs)-1]))
	}
	res, err := pm.Execute(t.Context(), q)
	require.NoError(t, err)
	var dims []nn.Dims
	for _, s := range res.Shapes {
		dims = append(dims, s.Dims)
	}
	return dims, outputs
}

// compareUnknown runs pm, which was made of m, and compares what comes out, and of how much there is, with the oracle's.
func compareUnknown(t *testing.T, pm *driver.PreparedModel, m *nn.Model, inputs [][]byte, room int, tol Tolerance) []nn.Dims {
	t.Helper()
	want, err := ref.Evaluate(m, inputs, ref.Options{Arithmetic: ref.ArithmeticOf(m)})
	require.NoError(t, err, "oracle")
	dims, got := runUnknown(t, pm, inputs, room)
	for i, y := range want.Outputs {
		data := y.Bytes()
		require.Equal(t, fmt.Sprint(y.Shape), fmt.Sprint(dims[i]), "output %d", i)
		require.NoError(t, conformancedata.CompareValues(y.Type, tol, got[i][:len(data)], data), "output %d", i)
	}
	return dims
}

// TestSuppression: of one box and of many, of one class and of many, of images of one box and of many, with all kernels, with
// and without limits that cut off what others have more of.
func TestSuppression(t *testing.T) {
	eachType(t, asymmTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		for _, tc := range []struct {
			rows, classes, images, side int
			a                           ops.BoxNMS
		}{
			{1, 2, 1, 8, ops.BoxNMS{Score: -1, Limit: -1, Overlap: 0.5}},
			{7, 3, 2, 8, ops.BoxNMS{Score: 0.125, Limit: -1, Overlap: 0.5, Lowered: 0.1}},
			{7, 2, 7, 8, ops.BoxNMS{Score: 0.125, Limit: 1, Overlap: 0.5, Lowered: 0.1}},
			{13, 5, 3, 16, ops.BoxNMS{Score: 0.1, Limit: 4, Overlap: 0.3828125, Lowered: 0.2}},
			{13, 5, 3, 16, ops.BoxNMS{Score: 0.1, Limit: -1, Kernel: ops.NMSLinear, Overlap: 0.3828125, Lowered: 0.2}},
			{17, 3, 2, 16, ops.BoxNMS{Score: 0.1, Limit: 7, Kernel: ops.NMSGaussian, Sigma: 0.5, Lowered: 0.05}},
			{31, 66, 2, 64, ops.BoxNMS{Score: 0.25, Limit: 50, Overlap: 0.5, Lowered: 0}},
			{259, 4, 1, 256, ops.BoxNMS{Score: 0.1, Limit: 100, Overlap: 0.1}},
			{1031, 2, 3, 256, ops.BoxNMS{Score: 0.02, Limit: -1, Overlap: 0.3828125}},
		} {
			t.Run(fmt.Sprintf("%d boxes, %d classes, %d images, %+v", tc.rows, tc.classes, tc.images, tc.a), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(tc.rows), uint64(tc.classes)))
				box, _ := boxType(typ)
				m := suppression(typ, tc.rows, tc.classes, tc.a)
				pm, _ := prepared(t, d, m)
				var images []int32
				for r := range tc.rows {
					images = append(images, int32(r*tc.images/tc.rows)-1)
				}
				var corners []int
				for range tc.rows * tc.classes {
					x, y := rng.IntN(8*tc.side), rng.IntN(8*tc.side)
					corners = append(corners, x, y, x+8+rng.IntN(64), y+8+rng.IntN(64))
				}
				inputs := [][]byte{scoresOf(typ, tc.rows*tc.classes, rng), pixels(box, corners...), int32Bytes(images)}
				dims := compareUnknown(t, pm, m, inputs, 16*tc.rows*tc.classes, boxTolerance(typ))
				require.Positive(t, dims[0][0])
			})
		}
	})
}

// TestHostileSuppression: scores and boxes that are no numbers, boxes of no size, turned round and without end, images in no
// order and of any number; all of it is bounded, and what comes out is defined.
func TestHostileSuppression(t *testing.T) {
	const rows, classes = 67, 3
	edges := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -1, 3.25, 1e30, -1e30}
	eachType(t, []nn.OperandType{nn.TensorFloat32, nn.TensorFloat16}, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		for kernel := range ops.NMSGaussian + 1 {
			for _, limit := range []int{-1, 0, 5} {
				t.Run(fmt.Sprint(kernel, limit), func(t *testing.T) {
					m := suppression(typ, rows, classes, ops.BoxNMS{Score: -2, Limit: limit, Kernel: kernel, Overlap: 0.5, Sigma: 0.5, Lowered: -1})
					pm, _ := prepared(t, d, m)
					for seed := range uint64(8) {
						rng := rand.New(rand.NewPCG(seed, 21))
						var scores, boxes []byte
						var images []int32
						for range rows * classes {
							scores = append(scores, floatsOf(typ, oneOf(rng, edges))...)
							for range 4 {
								boxes = append(boxes, floatsOf(typ, oneOf(rng, edges))...)
							}
						}
						for range rows {
							images = append(images, oneOf(rng, []int32{0, 0, 0, 1, -1, math.MaxInt32, math.MinInt32}))
						}
						inputs := [][]byte{scores, boxes, int32Bytes(images)}
						runUnknown(t, pm, inputs, 16*rows*classes)
						if kernel == ops.NMSHard {
							compareUnknown(t, pm, m, inputs, 16*rows*classes, ToleranceOf(typ)) // SwiftShader rounds a half beside an infinite one otherwise
						}
					}
				})
			}
		}
	})
}

// TestNegativeScores: a score below 0 rises when it is lowered. The limit counts a box by the lowest score before it.
func TestNegativeScores(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		m := suppression(nn.TensorFloat32, 4, 3, ops.BoxNMS{Score: -9, Limit: 4, Kernel: ops.NMSLinear, Overlap: 0.25, Lowered: -8})
		pm, _ := prepared(t, d, m)
		box := []float64{0, 0, 8, 8}
		var boxes []float64
		for range 4 * 3 {
			boxes = append(boxes, box[0], box[1], box[2], box[3]-float64(len(boxes)%5))
		}
		compareUnknown(t, pm, m, [][]byte{
			floatsOf(nn.TensorFloat32, 0, -1, -3, 0, -2, -1.5, 0, -4, -2.5, 0, -3, -1), floatsOf(nn.TensorFloat32, boxes...), int32Bytes([]int32{1, 1, 1, 1}),
		}, 256, ToleranceOf(nn.TensorFloat32))
	})
}

// TestWhatIsSelectedGoesOn: operations behind take as many boxes as there are, whose number changes from run to run.
func TestWhatIsSelectedGoesOn(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		const rows, classes = 11, 3
		f32 := nn.TensorFloat32
		var b layers.Builder
		in := b.Input(f32, nn.Dims{1, 9, 7, 5}, 0, 0)
		scores, boxes, of, images := b.NonMaxSuppression(b.Input(f32, nn.Dims{rows, classes}, 0, 0), b.Input(f32, nn.Dims{rows, 4 * classes}, 0, 0),
			b.Input(nn.TensorInt32, nn.Dims{rows}, 0, 0), ops.BoxNMS{Score: 0.3, Limit: -1, Overlap: 0.5})
		y := b.Temp(f32, nn.Dims{0, 2, 3, 5}, 0, 0)
		b.Op(nn.OpRoiAlign, []uint32{in, boxes, images, b.Scalar(2), b.Scalar(3), b.Scalar(float32(1)), b.Scalar(float32(1)), b.Scalar(2), b.Scalar(2), b.Scalar(false)}, []uint32{y})
		z := b.Temp(f32, nil, 0, 0)
		b.Op(nn.OpRelu, []uint32{y}, []uint32{z})
		for _, y := range []uint32{z, scores, of} {
			b.Output(y)
		}
		m := nntest.Build(&b.Builder)
		pm, _ := prepared(t, d, m)
		seen := map[uint32]bool{}
		for seed := range uint64(5) {
			rng := rand.New(rand.NewPCG(seed, 22))
			image := RandomValue(f32, nn.Dims{1, 9, 7, 5}, rng)
			scores := scoresOf(f32, rows*classes, rng)
			for range seed { // fewer of them from run to run
				binary.LittleEndian.PutUint32(scores[4*rng.IntN(rows*classes):], 0)
			}
			dims := compareUnknown(t, pm, m, [][]byte{image, scores, randomBoxes(rng, f32, rows*classes, 9, 7), make([]byte, 4*rows)}, 1<<14, ToleranceOf(f32))
			seen[dims[0][0]] = true
		}
		require.Greater(t, len(seen), 1)
	})
}
