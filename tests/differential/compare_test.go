package differential

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

var comparisons = []nn.OperationType{nn.OpEqual, nn.OpNotEqual, nn.OpLess, nn.OpLessEqual, nn.OpGreater, nn.OpGreaterEqual}

var comparedTypes = append(anyType[:len(anyType):len(anyType)], nn.TensorBool8)

// comparedBits are elements that comparisons tell apart with difficulty: zeros of both signs, denormal numbers,
// neighbours, infinities, NaN; the limits of integers.
var comparedBits = map[nn.OperandType][]uint32{
	nn.TensorFloat32: {0, 0x80000000, 1, 2, 0x80000001, 0x80000002, 0x007fffff, 0x3f800000, 0x3f800001, 0xbf800000, 0x7f7fffff, 0x7f800000,
		0xff800000, 0x7fc00000, 0xffc00001, 0x7fffffff},
	nn.TensorFloat16: {0, 0x8000, 1, 2, 0x8001, 0x8002, 0x3ff, 0x3c00, 0x3c01, 0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7fff},
	nn.TensorInt32:   {0, 1, 0xffffffff, 0x7fffffff, 0x7ffffffe, 0x80000000, 0x80000001, 42},
}

// comparedValue is a tensor of numbers that often meet their like.
func comparedValue(t nn.OperandType, dims nn.Dims, rng *rand.Rand) []byte {
	n, err := dims.Elements()
	if err != nil {
		panic(err) // the tests choose the shapes
	}
	var b []byte
	for range n {
		switch bits := comparedBits[t]; t.Bytes() {
		case 4:
			b = binary.LittleEndian.AppendUint32(b, oneOf(rng, bits))
		case 2:
			b = binary.LittleEndian.AppendUint16(b, uint16(oneOf(rng, bits)))
		default:
			b = append(b, byte(rng.UintN(2)*rng.UintN(256))) // any but 0 is true
		}
	}
	return b
}

// comparison is a model of one, of x and y.
func comparison(op nn.OperationType, x, y tensor, dims nn.Dims, rng *rand.Rand) (*nn.Model, [][]byte) {
	m := oneOp(op, []tensor{x, y}, tensor{typ: nn.TensorBool8, dims: dims}, rng, nil)
	var inputs [][]byte
	for _, i := range m.Main.Inputs {
		o := &m.Main.Operands[i]
		inputs = append(inputs, comparedValue(o.Type, o.Dims, rng))
	}
	return m, inputs
}

func TestComparisons(t *testing.T) {
	eachType(t, comparedTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		for _, op := range comparisons {
			for i, shapes := range broadcasts {
				t.Run(fmt.Sprint(op, shapes[0], shapes[1]), func(t *testing.T) {
					m, inputs := comparison(op, of(typ, 0, shapes[0]), of(typ, 1, shapes[1]), shapes[2], rand.New(rand.NewPCG(uint64(i), 3)))
					CompareOn(t, d, m, inputs, Exact)
					m.RelaxFloat32 = true
					CompareOn(t, d, m, inputs, Exact)
				})
			}
		}
	})
}

// TestComparisonSweep: random shapes, constants among the inputs.
func TestComparisonSweep(t *testing.T) {
	eachSeed(t, 120, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		op, typ := comparisons[int(seed)%len(comparisons)], oneOf(rng, comparedTypes)
		x, y, z := broadcastPair(rng)
		in := []tensor{of(typ, 0, x), of(typ, 1, y)}
		if k := rng.IntN(3); k < 2 {
			in[k].fixed = true
		}
		m, inputs := comparison(op, in[0], in[1], z, rng)
		t.Log(describe(m))
		CompareOn(t, d, m, inputs, Exact)
	})
}

// TestComparisonOfScales: every stored number of one quantisation with every one of another. Scales are of all
// proportions, such that numbers meet, exactly or when they are rounded to float32, and such that products are denormal.
func TestComparisonOfScales(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	scales := [][2]float32{{0.5, 0.5}, {0.1, 0.3}, {0.1, 0.2}, {0.7, 0.1}, {1. / 255, 1. / 127}, {1, 1e-38}, {1e-35, 3e-36}, {1e36, 1e-36}, {1e35, 3e35}, {1e-38, 3e-38}}
	eachType(t, quantTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		for _, op := range comparisons {
			for i, s := range scales {
				x, y := tensor{typ: typ, dims: nn.Dims{256, 1}, scale: s[0], zero: 3}, tensor{typ: typ, dims: nn.Dims{256}, scale: s[1], zero: 100}
				if i == 0 {
					y.zero = x.zero
				}
				m, _ := comparison(op, x, y, nn.Dims{256, 256}, rand.New(rand.NewPCG(1, 1)))
				t.Run(fmt.Sprint(op, s), func(t *testing.T) { CompareOn(t, d, m, [][]byte{all, all}, Exact) })
			}
		}
	})
}

// TestComparisonOfOneTensor: with itself, in which NaN differs from NaN.
func TestComparisonOfOneTensor(t *testing.T) {
	eachType(t, comparedTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		for _, op := range comparisons {
			var b nn.Builder
			v := of(typ, 0, nn.Dims{3, 5, 7})
			x := b.Input(typ, v.dims, v.scale, v.zero)
			y := b.Temp(nn.TensorBool8, v.dims, 0, 0)
			b.Op(op, []uint32{x, x}, []uint32{y})
			b.Output(y)
			CompareOn(t, d, nntest.Build(&b), [][]byte{comparedValue(typ, v.dims, rand.New(rand.NewPCG(5, 5)))}, Exact)
		}
	})
}

// TestComparisonOfComparisons: booleans that kernels wrote, whose padding lanes hold anything, and a constant.
func TestComparisonOfComparisons(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		var b nn.Builder
		dims := nn.Dims{7, 3, 5}
		x, y := b.Input(nn.TensorFloat32, dims, 0, 0), b.Input(nn.TensorFloat32, dims[1:], 0, 0)
		list := []uint32{b.Temp(nn.TensorBool8, dims, 0, 0), b.Temp(nn.TensorBool8, dims, 0, 0), b.Temp(nn.TensorBool8, dims, 0, 0)}
		b.Op(nn.OpLess, []uint32{x, y}, list[:1])
		b.Op(nn.OpLess, []uint32{b.Const(nn.TensorFloat32, nn.Dims{1}, 0, 0, binary.LittleEndian.AppendUint32(nil, math.Float32bits(0.25))), x}, list[1:2])
		b.Op(nn.OpLess, slices.Clone(list[:2]), list[2:])
		for _, z := range list {
			b.Output(z)
		}
		Compare(t, d, nntest.Build(&b), Exact, 9)
	})
}
