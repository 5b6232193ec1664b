package differential

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

// normaliseTolerance: results are rounded once, halves of bytes either way.
func normaliseTolerance(t nn.OperandType) Tolerance {
	if t.IsQuant8() {
		return OneStep
	}
	return ToleranceOf(t)
}

// normalised is a model of one normalisation of x.
func normalised(x tensor, apply func(b *layers.Builder, x uint32) uint32) *nn.Model {
	var b layers.Builder
	b.Output(apply(&b, b.Input(x.typ, x.dims, x.scale, x.zero)))
	return nntest.Build(&b.Builder)
}

// lines are shapes and axes: rows and columns at the edges of quads, and of one element.
var lines = []struct {
	dims nn.Dims
	axis int
}{
	{nn.Dims{1}, 0}, {nn.Dims{9}, -1}, {nn.Dims{128}, 0}, {nn.Dims{3, 5}, 1}, {nn.Dims{3, 5}, 0}, {nn.Dims{2, 3, 5, 7}, 3}, {nn.Dims{2, 3, 5, 7}, 2},
	{nn.Dims{2, 3, 5, 7}, -3}, {nn.Dims{2, 3, 5, 8}, 0}, {nn.Dims{4, 1, 6}, 1}, {nn.Dims{113, 13}, -1}, {nn.Dims{2, 1031}, 1}, {nn.Dims{1031, 3}, 0},
}

func TestL2Normalization(t *testing.T) {
	eachType(t, asymmTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		for _, c := range lines {
			t.Run(fmt.Sprint(c), func(t *testing.T) {
				m := normalised(of(typ, 0, c.dims), func(b *layers.Builder, x uint32) uint32 { return b.L2Normalization(x, c.axis) })
				Compare(t, d, m, normaliseTolerance(typ), 3)
			})
		}
	})
}

// TestL2NormalizationOfLittle: where there are only zeros there is nothing but zeros, of short vectors too; the scale of
// bytes does not count.
func TestL2NormalizationOfLittle(t *testing.T) {
	eachType(t, asymmTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		x := of(typ, 0, nn.Dims{4, 3})
		numbers := []float64{0, 0, 0, 1e-4, 0, -1e-4, 1e-7, 0, 0, 0, 6e-8, 6e-8}
		var value []byte
		if typ.IsQuant8() {
			x.scale = 1e-9
			for _, v := range numbers {
				value = append(value, byte(x.zero+int32(v*1e4)))
			}
		} else {
			value = floatsOf(typ, numbers...)
		}
		m := normalised(x, func(b *layers.Builder, x uint32) uint32 { return b.L2Normalization(x, 1) })
		CompareOn(t, d, m, [][]byte{value}, normaliseTolerance(typ))
	})
}

func TestLocalResponse(t *testing.T) {
	eachType(t, floatTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		for _, c := range lines {
			for _, p := range []layers.LocalResponse{
				{Radius: 0, Bias: 1, Alpha: 1, Beta: 1}, {Radius: 2, Bias: 1, Alpha: 0.0625, Beta: 0.75}, {Radius: 5, Bias: 2, Alpha: 1, Beta: -0.5},
				{Radius: math.MaxInt32, Bias: 0.5, Alpha: 0.25, Beta: 0.5},
			} {
				t.Run(fmt.Sprint(c, p), func(t *testing.T) {
					p.Axis = c.axis
					m := normalised(of(typ, 0, c.dims), func(b *layers.Builder, x uint32) uint32 { return b.LocalResponseNormalization(x, p) })
					Compare(t, d, m, normaliseTolerance(typ), 4)
				})
			}
		}
	})
}

// TestLocalResponseKeepsItsDistance: infinities and what is not a number do not reach elements beyond the radius.
func TestLocalResponseKeepsItsDistance(t *testing.T) {
	eachType(t, floatTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		for axis := range 2 {
			dims := nn.Dims{13, 13}
			numbers := make([]float64, 13*13)
			for i := range numbers {
				numbers[i] = float64(i%7) - 3
			}
			numbers[0], numbers[5*13+6], numbers[12*13+11] = math.Inf(1), math.NaN(), math.Inf(-1)
			p := layers.LocalResponse{Radius: 1, Bias: 1, Alpha: 0.5, Beta: 0.5, Axis: axis}
			m := normalised(of(typ, 0, dims), func(b *layers.Builder, x uint32) uint32 { return b.LocalResponseNormalization(x, p) })
			CompareOn(t, d, m, [][]byte{floatsOf(typ, numbers...)}, normaliseTolerance(typ))
		}
	})
}

func TestInstanceNormalization(t *testing.T) {
	eachType(t, floatTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		for _, dims := range []nn.Dims{{1, 1, 2, 1}, {2, 3, 5, 7}, {3, 4, 1, 8}, {1, 41, 37, 3}, {2, 7, 9, 33}, {1, 128, 130, 2}} {
			for _, nchw := range []bool{false, true} {
				t.Run(fmt.Sprint(dims, nchw), func(t *testing.T) {
					m := normalised(of(typ, 0, dims), func(b *layers.Builder, x uint32) uint32 {
						return b.InstanceNormalization(x, 1.5, -0.25, 0.0009765625, nchw)
					})
					Compare(t, d, m, normaliseTolerance(typ), 5)
				})
			}
		}
	})
}

// TestNormalisationSweep: random shapes, axes, parameters and types.
func TestNormalisationSweep(t *testing.T) {
	eachSeed(t, 150, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		rank := 1 + rng.IntN(4)
		axis := rng.IntN(2*rank) - rank
		var m *nn.Model
		x := of(oneOf(rng, floatTypes), 0, randomDims(rng, rank, 8000))
		switch seed % 3 {
		case 0:
			x = of(oneOf(rng, asymmTypes), 0, x.dims)
			m = normalised(x, func(b *layers.Builder, x uint32) uint32 { return b.L2Normalization(x, axis) })
		case 1:
			p := layers.LocalResponse{Radius: rng.IntN(12), Bias: 0.5 + rng.Float64(), Alpha: rng.Float64(), Beta: 2*rng.Float64() - 0.5, Axis: axis}
			m = normalised(x, func(b *layers.Builder, x uint32) uint32 { return b.LocalResponseNormalization(x, p) })
		default:
			x.dims = randomDims(rng, 4, 8000)
			gamma, beta, nchw := 2*rng.Float64(), rng.Float64(), rng.IntN(2) == 0
			m = normalised(x, func(b *layers.Builder, x uint32) uint32 { return b.InstanceNormalization(x, gamma, beta, 0.01, nchw) })
		}
		t.Log(describe(m))
		Compare(t, d, m, normaliseTolerance(x.typ), seed)
	})
}

// TestNormalisationOfTheRequest: an axis that each request gives anew, and one that there is not.
func TestNormalisationOfTheRequest(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		client, err := d.NewClient(t.Name())
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()
		var b nn.Builder
		dims := nn.Dims{3, 5, 7}
		x, axis := b.Input(nn.TensorFloat32, dims, 0, 0), b.Input(nn.Int32, nil, 0, 0)
		y, z := b.Temp(nn.TensorFloat32, dims, 0, 0), b.Temp(nn.TensorFloat32, nil, 0, 0)
		b.Op(nn.OpL2Normalization, []uint32{x, axis}, []uint32{y})
		b.Op(nn.OpLocalResponseNormalization, []uint32{y, b.Scalar(1), b.Scalar(float32(1)), b.Scalar(float32(1)), b.Scalar(float32(0.5)), axis}, []uint32{z})
		b.Output(z)
		m := nntest.Build(&b)
		pm, err := client.PrepareModel(context.Background(), m)
		require.NoError(t, err)
		value := RandomValue(nn.TensorFloat32, dims, rand.New(rand.NewPCG(3, 3)))
		for _, axis := range []int32{2, 0, -2, 3, -4, 2} {
			runOpen(t, pm, m, [][]byte{value, int32Bytes([]int32{axis})}, axis == 3 || axis == -4)
		}
	})
}
