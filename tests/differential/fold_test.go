package differential

import (
	"bytes"
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
	"github.com/nngpu/nngpu/internal/devices"
)

// reductions are the operations that reduce axes to one element, with the types that they have.
var reductions = []struct {
	name  string
	types []nn.OperandType
	apply func(b *layers.Builder, x uint32, axes []int, keep bool) uint32
}{
	{"max", asymmTypes, (*layers.Builder).ReduceMax},
	{"min", asymmTypes, (*layers.Builder).ReduceMin},
	{"prod", floatTypes, (*layers.Builder).ReduceProd},
	{"sum", floatTypes, (*layers.Builder).ReduceSum},
	{"all", []nn.OperandType{nn.TensorBool8}, (*layers.Builder).ReduceAll},
	{"any", []nn.OperandType{nn.TensorBool8}, (*layers.Builder).ReduceAny},
}

// axesOf are the axes that are set in the bits of set.
func axesOf(set, rank int) (axes []int) {
	for i := range rank {
		if set>>i&1 != 0 {
			axes = append(axes, i)
		}
	}
	return axes
}

// reductionInput is a value of x of which neither products of many elements leave the type nor all booleans are true.
func reductionInput(typ nn.OperandType, dims nn.Dims, rng *rand.Rand) []byte {
	n, _ := dims.Elements()
	switch typ {
	case nn.TensorBool8:
		b := make([]byte, n)
		few := rng.IntN(2) == 0
		for i := range b {
			if rng.IntN(40) == 0 == few {
				b[i] = byte(1 + rng.IntN(255))
			}
		}
		return b
	case nn.TensorFloat32, nn.TensorFloat16:
		var b []byte
		for range n {
			v := 1.0
			if rng.IntN(3) == 0 {
				v = []float64{-1, 0.5, 2, -0.5}[rng.IntN(4)]
			}
			b = append(b, floatsOf(typ, v)...)
		}
		return b
	}
	return RandomValue(typ, dims, rng)
}

// compareReduction runs one reduction, on numbers that are exact in every order.
func compareReduction(t *testing.T, d *driver.Device, k int, typ nn.OperandType, dims nn.Dims, axes []int, keep bool, rng *rand.Rand) {
	t.Helper()
	var b layers.Builder
	in := of(typ, 0, dims)
	if typ == nn.TensorBool8 {
		in.scale, in.zero = 0, 0
	}
	b.Output(reductions[k].apply(&b, b.Input(typ, in.dims, in.scale, in.zero), axes, keep))
	m := nntest.Build(&b.Builder)
	CompareOn(t, d, m, [][]byte{reductionInput(typ, dims, rng)}, ToleranceOf(typ))
}

// TestReductions: every set of axes of shapes at the edges of quads, kept or not, and lengths that take two stages.
func TestReductions(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for k, r := range reductions {
			for _, typ := range r.types {
				for _, dims := range []nn.Dims{{1}, {7}, {5, 6}, {3, 1, 5}, {2, 3, 5, 7}, {4, 2, 3, 8}} {
					for set := 1; set < 1<<len(dims); set++ {
						t.Run(fmt.Sprint(r.name, typ, dims, set), func(t *testing.T) {
							compareReduction(t, d, k, typ, dims, axesOf(set, len(dims)), set%2 == 0, rand.New(rand.NewPCG(uint64(set), 2)))
						})
					}
				}
				for _, tc := range []struct {
					dims nn.Dims
					set  int
				}{
					{nn.Dims{3, 9001}, 2}, {nn.Dims{9001, 3}, 1}, {nn.Dims{1, 41, 50, 6}, 6}, {nn.Dims{1301, 5}, 3},
					// Columns of whole and broken blocks of lines, one and two stages.
					{nn.Dims{9, 259}, 1}, {nn.Dims{2, 11, 523}, 2}, {nn.Dims{301, 1033}, 1},
				} {
					t.Run(fmt.Sprint(r.name, typ, tc.dims, tc.set), func(t *testing.T) {
						compareReduction(t, d, k, typ, tc.dims, axesOf(tc.set, len(tc.dims)), false, rand.New(rand.NewPCG(7, 2)))
					})
				}
			}
		}
	})
}

// TestInfiniteExtremes: rows and columns of one infinity each, whose sign no neutral element may hide.
func TestInfiniteExtremes(t *testing.T) {
	eachType(t, floatTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		for axis := range 2 {
			var b layers.Builder
			x := b.Input(typ, nn.Dims{5, 5}, 0, 0)
			b.Output(b.ReduceMax(x, []int{axis}, true))
			b.Output(b.ReduceMin(x, []int{axis}, true))
			var v []byte
			for i := range 25 {
				v = append(v, floatsOf(typ, math.Inf(i%5%2*2-1))...)
			}
			CompareOn(t, d, nntest.Build(&b.Builder), [][]byte{v}, Exact)
		}
	})
}

// argModel is a model of ARGMAX and ARGMIN along one axis.
func argModel(typ nn.OperandType, dims nn.Dims, axis int) *nn.Model {
	var b layers.Builder
	in := of(typ, 0, dims)
	x := b.Input(typ, in.dims, in.scale, in.zero)
	b.Output(b.ArgMax(x, axis))
	b.Output(b.ArgMin(x, axis))
	return nntest.Build(&b.Builder)
}

// TestArg: every axis of shapes at the edges of quads, and lengths that take two stages. Of the few different numbers
// many are equal, so that places decide.
func TestArg(t *testing.T) {
	eachType(t, anyType, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		for _, dims := range []nn.Dims{{1}, {7}, {300}, {5, 6}, {3, 1, 5}, {6, 1, 1}, {2, 3, 5, 7}, {2, 3, 2, 3, 5}, {3, 9001}, {9001, 3}, {2, 1301, 5}, {1, 70001}} {
			for axis := range dims {
				t.Run(fmt.Sprint(dims, axis), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(axis), 11))
					n, _ := dims.Elements()
					var v []byte
					for range n {
						switch k := rng.IntN(9); typ {
						case nn.TensorFloat32, nn.TensorFloat16:
							v = append(v, floatsOf(typ, float64(k-4))...)
						case nn.TensorInt32:
							v = binary.LittleEndian.AppendUint32(v, uint32(k*0x1fffffff))
						default:
							v = append(v, byte(k*31))
						}
					}
					CompareOn(t, d, argModel(typ, dims, axis-rng.IntN(2)*len(dims)), [][]byte{v}, Exact)
				})
			}
		}
	})
}

// TestArgOfLeast: where all elements are the least that their type has, the first one is it.
func TestArgOfLeast(t *testing.T) {
	least := map[nn.OperandType][2][]byte{ // for ARGMAX and ARGMIN
		nn.TensorFloat32:           {floatsOf(nn.TensorFloat32, math.Inf(-1)), floatsOf(nn.TensorFloat32, math.Inf(1))},
		nn.TensorInt32:             {int32Bytes([]int32{math.MinInt32}), int32Bytes([]int32{math.MaxInt32})},
		nn.TensorQuant8Asymm:       {{0}, {255}},
		nn.TensorQuant8AsymmSigned: {{0x80}, {0x7f}},
	}
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for typ, values := range least {
			for _, dims := range []nn.Dims{{5, 6}, {3, 9001}, {9001, 3}} {
				for axis := range dims {
					for _, value := range values {
						n, _ := dims.Elements()
						CompareOn(t, d, argModel(typ, dims, axis), [][]byte{bytes.Repeat(value, int(n))}, Exact)
					}
				}
			}
		}
	})
}

// TestArgOfOddFloats: NaN are above infinity whatever their sign, zeros are equal, and denormal numbers are not 0.
func TestArgOfOddFloats(t *testing.T) {
	eachType(t, floatTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		dims := nn.Dims{61, 9}
		for axis := range 2 {
			CompareOn(t, d, argModel(typ, dims, axis), [][]byte{comparedValue(typ, dims, rand.New(rand.NewPCG(8, uint64(axis))))}, Exact)
		}
	})
}

// TestFoldSweep: random shapes, axes and types of all reductions.
func TestFoldSweep(t *testing.T) {
	eachSeed(t, 200, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		k := rng.IntN(len(reductions))
		dims := randomDims(rng, 1+rng.IntN(4), 20000)
		typ := oneOf(rng, reductions[k].types)
		axes := axesOf(1+rng.IntN(1<<len(dims)-1), len(dims))
		keep := rng.IntN(2) == 0
		t.Log(reductions[k].name, typ, dims, axes, keep)
		compareReduction(t, d, k, typ, dims, axes, keep, rng)
		typ, axis := oneOf(rng, anyType), rng.IntN(len(dims))
		t.Log("place", typ, dims, axis)
		Compare(t, d, argModel(typ, dims, axis), Exact, seed)
	})
}

// TestAxesOfTheRequest: each request gives the axes anew, and what is wrong ends it.
func TestAxesOfTheRequest(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		client, err := d.NewClient(t.Name())
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()
		var b nn.Builder
		x, axes := b.Input(nn.TensorFloat32, nn.Dims{3, 5, 6}, 0, 0), b.Input(nn.TensorInt32, nn.Dims{1}, 0, 0)
		y := b.Temp(nn.TensorFloat32, nn.Dims{0, 0}, 0, 0)
		b.Op(nn.OpReduceMax, []uint32{x, axes, b.Scalar(false)}, []uint32{y})
		b.Output(y)
		m := nntest.Build(&b)
		pm, err := client.PrepareModel(t.Context(), m)
		require.NoError(t, err)
		value := RandomValue(nn.TensorFloat32, nn.Dims{3, 5, 6}, rand.New(rand.NewPCG(3, 3)))
		for _, axis := range []int32{0, 2, -2, 3, -4, 1} {
			runOpen(t, pm, m, [][]byte{value, int32Bytes([]int32{axis})}, axis == 3 || axis == -4)
		}
	})
}
