package differential

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

// TestSliceSweep: of every rank, from the edge and from the middle, some sizes as -1; what comes behind reads the padding.
func TestSliceSweep(t *testing.T) {
	eachSeed(t, 300, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		typ := oneOf(rng, anyType)
		in := randomDims(rng, 1+int(seed%7), 5000)
		out := make(nn.Dims, len(in))
		begin, size := make([]int32, len(in)), make([]int32, len(in))
		for i, n := range in {
			out[i] = n
			if rng.IntN(3) > 0 {
				begin[i] = rng.Int32N(int32(n))
				out[i] = 1 + rng.Uint32N(n-uint32(begin[i]))
			}
			size[i] = int32(out[i])
			if uint32(begin[i])+out[i] == n && rng.IntN(2) == 0 {
				size[i] = -1
			}
		}
		m := oneOp(nn.OpSlice, []tensor{of(typ, 0, in)}, of(typ, 0, out), rng, func(b *nn.Builder) []uint32 {
			dims := nn.Dims{uint32(len(in))}
			return []uint32{b.Ints(dims, begin...), b.Ints(dims, size...)}
		})
		t.Log(describe(m))
		Compare(t, d, m, Exact, seed)
	})
}

// TestSliceIsPadded: a mean over the innermost dimension of a slice finds nothing in the padding behind it.
func TestSliceIsPadded(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		var b nn.Builder
		x := b.Input(nn.TensorFloat32, nn.Dims{3, 11}, 0, 0)
		y, z := b.Temp(nn.TensorFloat32, nn.Dims{2, 5}, 0, 0), b.Temp(nn.TensorFloat32, nn.Dims{2}, 0, 0)
		two := nn.Dims{2}
		b.Op(nn.OpSlice, []uint32{x, b.Ints(two, 1, 3), b.Ints(two, 2, 5)}, []uint32{y})
		b.Op(nn.OpMean, []uint32{y, b.Ints(nn.Dims{1}, 1), b.Scalar(0)}, []uint32{z})
		b.Output(z)
		Compare(t, d, nntest.Build(&b), Float32Tol, 4)
	})
}

func TestLogical(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for i, shapes := range broadcasts {
			for _, op := range []nn.OperationType{nn.OpLogicalAnd, nn.OpLogicalOr} {
				t.Run(fmt.Sprint(op, shapes[0], shapes[1]), func(t *testing.T) {
					m, inputs := comparison(op, of(nn.TensorBool8, 0, shapes[0]), of(nn.TensorBool8, 0, shapes[1]), shapes[2], rand.New(rand.NewPCG(uint64(i), 4)))
					CompareOn(t, d, m, inputs, Exact)
				})
			}
			t.Run(fmt.Sprint(nn.OpLogicalNot, shapes[0]), func(t *testing.T) {
				in := of(nn.TensorBool8, 0, shapes[0])
				m := oneOp(nn.OpLogicalNot, []tensor{in}, in, nil, nil)
				CompareOn(t, d, m, [][]byte{comparedValue(in.typ, in.dims, rand.New(rand.NewPCG(uint64(i), 5)))}, Exact)
			})
		}
	})
}
