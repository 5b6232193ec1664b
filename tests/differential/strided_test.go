package differential

import (
	"math/rand/v2"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

// TestStridedSliceSweep: of every rank, forwards and backwards, with masks, from within and beyond the ends.
func TestStridedSliceSweep(t *testing.T) {
	eachSeed(t, 400, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		typ := oneOf(rng, asymmTypes)
		in := randomDims(rng, 1+int(seed%6), 5000)
		var out nn.Dims
		begin, end, strides := make([]int32, len(in)), make([]int32, len(in)), make([]int32, len(in))
		var masks [3]int32
		for i, n := range in {
			size := int32(n)
			strides[i] = 1 + rng.Int32N(3)
			from, to := int32(0), size
			if rng.IntN(3) > 0 {
				from = rng.Int32N(size)
				to = from + 1 + rng.Int32N(size-from)
			}
			count := uint32((to - from + strides[i] - 1) / strides[i])
			shrink := count == 1 && rng.IntN(3) == 0
			begin[i], end[i] = from, to
			if !shrink && rng.IntN(2) == 0 {
				strides[i], begin[i], end[i] = -strides[i], to-1, from-1
				if from == 0 { // what is before the first position cannot be said otherwise
					end[i] = -size - 1 - rng.Int32N(5)
				}
			}
			first, last := int32(0), to == size
			if strides[i] < 0 {
				first, last = size-1, from == 0
			}
			if begin[i] == first && rng.IntN(2) == 0 {
				masks[0], begin[i] = masks[0]|1<<i, rng.Int32()
			} else if rng.IntN(3) == 0 {
				begin[i] -= size
			}
			if last && rng.IntN(2) == 0 {
				masks[1], end[i] = masks[1]|1<<i, -rng.Int32()
			}
			if shrink {
				masks[2] |= 1 << i
			} else {
				out = append(out, count)
			}
		}
		if len(out) == 0 {
			out = nn.Dims{1}
		}
		m := oneOp(nn.OpStridedSlice, []tensor{of(typ, 0, in)}, of(typ, 0, out), rng, func(b *nn.Builder) []uint32 {
			dims := nn.Dims{uint32(len(in))}
			return []uint32{b.Ints(dims, begin...), b.Ints(dims, end...), b.Ints(dims, strides...), b.Scalar(masks[0]), b.Scalar(masks[1]), b.Scalar(masks[2])}
		})
		t.Log(describe(m))
		Compare(t, d, m, Exact, seed)
	})
}

// TestReverseSweep: each axis of every rank.
func TestReverseSweep(t *testing.T) {
	eachSeed(t, 200, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		x := of(oneOf(rng, anyType), 0, randomDims(rng, 1+int(seed%8), 5000))
		axis := rng.Int32N(int32(len(x.dims)))
		m := oneOp(nn.OpReverse, []tensor{x}, x, rng, func(b *nn.Builder) []uint32 { return []uint32{b.Ints(nn.Dims{1}, axis)} })
		t.Log(describe(m))
		Compare(t, d, m, Exact, seed)
	})
}

// TestTileSweep: of every rank, more repeated dimensions than a kernel handles at once among them; some multiples come at run
// time, and the model says what the result becomes.
func TestTileSweep(t *testing.T) {
	eachSeed(t, 300, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		typ := oneOf(rng, anyType)
		in := randomDims(rng, 1+int(seed%8), 300)
		out, multiples := make(nn.Dims, len(in)), make([]int32, len(in))
		for i, n := range in {
			multiples[i] = 1 + rng.Int32N(3)
			out[i] = n * uint32(multiples[i])
		}
		dims := nn.Dims{uint32(len(in))}
		fed := rng.IntN(3) == 0
		m := oneOp(nn.OpTile, []tensor{of(typ, 0, in)}, of(typ, 0, out), rng, func(b *nn.Builder) []uint32 {
			if fed {
				return []uint32{b.Input(nn.TensorInt32, dims, 0, 0)}
			}
			return []uint32{b.Ints(dims, multiples...)}
		})
		t.Log(describe(m))
		inputs := RandomInputs(m, rng)
		if fed {
			inputs[1] = nn.Bytes(multiples)
		}
		CompareOn(t, d, m, inputs, Exact)
	})
}

// TestStridedIsPadded: a mean over the innermost dimension finds nothing in the padding behind what was taken.
func TestStridedIsPadded(t *testing.T) {
	two := nn.Dims{2}
	for name, tc := range map[string]struct {
		op   nn.OperationType
		cols uint32
		rest func(*nn.Builder) []uint32
	}{
		"slice": {nn.OpStridedSlice, 6, func(b *nn.Builder) []uint32 {
			return []uint32{b.Ints(two, 0, 0), b.Ints(two, 3, 11), b.Ints(two, 1, 2), b.Scalar(0), b.Scalar(0), b.Scalar(0)}
		}},
		"whole quads": {nn.OpStridedSlice, 7, func(b *nn.Builder) []uint32 {
			return []uint32{b.Ints(two, 0, 4), b.Ints(two, 3, 11), b.Ints(two, 1, 1), b.Scalar(0), b.Scalar(0), b.Scalar(0)}
		}},
		"reversed": {nn.OpReverse, 11, func(b *nn.Builder) []uint32 { return []uint32{b.Ints(nn.Dims{1}, 1)} }},
		"tile":     {nn.OpTile, 22, func(b *nn.Builder) []uint32 { return []uint32{b.Ints(two, 1, 2)} }},
	} {
		t.Run(name, func(t *testing.T) {
			devices.Each(t, func(t *testing.T, d *driver.Device) {
				var b nn.Builder
				x := b.Input(nn.TensorFloat32, nn.Dims{3, 11}, 0, 0)
				y, z := b.Temp(nn.TensorFloat32, nn.Dims{3, tc.cols}, 0, 0), b.Temp(nn.TensorFloat32, nn.Dims{3}, 0, 0)
				b.Op(tc.op, append([]uint32{x}, tc.rest(&b)...), []uint32{y})
				b.Op(nn.OpMean, []uint32{y, b.Ints(nn.Dims{1}, 1), b.Scalar(0)}, []uint32{z})
				b.Output(z)
				Compare(t, d, nntest.Build(&b), Float32Tol, 4)
			})
		})
	}
}
