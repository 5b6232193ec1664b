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
)

// topK is a model of one TOPK_V2.
func topK(typ nn.OperandType, k int, dims nn.Dims) *nn.Model {
	var b layers.Builder
	x := of(typ, 0, dims)
	values, indices := b.TopK(b.Input(typ, x.dims, x.scale, x.zero), k)
	b.Output(values)
	b.Output(indices)
	return nntest.Build(&b.Builder)
}

// TestTopK: rows below, at and above the sizes of blocks and of merged runs, of 1 to all elements.
func TestTopK(t *testing.T) {
	eachType(t, anyType, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		for _, tc := range []struct {
			dims nn.Dims
			k    []int
		}{
			{nn.Dims{1}, []int{1}},
			{nn.Dims{5, 1}, []int{1}},
			{nn.Dims{3}, []int{1, 2, 3}},
			{nn.Dims{2, 3, 7}, []int{1, 5, 7}},
			{nn.Dims{41, 63}, []int{1, 7, 63}},
			{nn.Dims{3, 64}, []int{64}},
			{nn.Dims{3, 65}, []int{1, 64, 65}},
			{nn.Dims{2, 1, 257}, []int{3, 64, 200, 257}},
			{nn.Dims{7, 1001}, []int{1, 5, 1001}},
			{nn.Dims{2, 10007}, []int{10, 999, 10007}},
		} {
			for i, k := range tc.k {
				t.Run(fmt.Sprint(tc.dims, k), func(t *testing.T) { Compare(t, d, topK(typ, k, tc.dims), Exact, uint64(i)) })
			}
		}
	})
}

// TestTopKOfTies: few numbers, zeros of both signs and infinities among them, so that indices decide.
func TestTopKOfTies(t *testing.T) {
	eachType(t, anyType, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		dims := nn.Dims{3, 523}
		numbers := []float64{math.Inf(-1), -1, math.Copysign(0, -1), 0, 1, math.Inf(1)}
		rng := rand.New(rand.NewPCG(3, 4))
		var x []byte
		for range 3 * 523 {
			switch i := rng.IntN(len(numbers)); typ {
			case nn.TensorFloat32, nn.TensorFloat16:
				x = append(x, floatsOf(typ, numbers[i])...)
			case nn.TensorInt32:
				x = binary.LittleEndian.AppendUint32(x, uint32(i)<<29)
			default:
				x = append(x, byte(i*51))
			}
		}
		for _, k := range []int{1, 100, 300, 523} {
			t.Run(fmt.Sprint(k), func(t *testing.T) { CompareOn(t, d, topK(typ, k, dims), [][]byte{x}, Exact) })
		}
	})
}

// TestTopKOfOddFloats: NaN, which are above infinity whatever their sign, and denormal numbers, which are not 0. Only
// indices are compared: values of NaN may be any.
func TestTopKOfOddFloats(t *testing.T) {
	eachType(t, floatTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		var b layers.Builder
		dims := nn.Dims{5, 131}
		_, indices := b.TopK(b.Input(typ, dims, 0, 0), 131)
		b.Output(indices)
		x := comparedValue(typ, dims, rand.New(rand.NewPCG(8, 4)))
		CompareOn(t, d, nntest.Build(&b.Builder), [][]byte{x}, Exact)
	})
}

// TestTopKSweep: random shapes, sizes and types; the sorted values are read by another operation.
func TestTopKSweep(t *testing.T) {
	eachSeed(t, 60, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		typ := oneOf(rng, anyType)
		dims := append(randomDims(rng, 1+rng.IntN(3), 200), 1+rng.Uint32N(600))
		k := 1 + rng.IntN(int(dims[len(dims)-1]))
		var b layers.Builder
		in := of(typ, 0, dims)
		x := b.Input(typ, in.dims, in.scale, in.zero)
		values, indices := b.TopK(x, k)
		b.Output(indices)
		b.Output(b.Maximum(values, values))
		m := nntest.Build(&b.Builder)
		t.Log(describe(m))
		Compare(t, d, m, binaryTolerance(nn.OpMaximum, typ), seed)
	})
}
