package differential

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/devices"
)

// TestBatchMatmulSweep: no batch to three, either matrix swapped, a constant or not.
func TestBatchMatmulSweep(t *testing.T) {
	eachSeed(t, 200, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		batch := randomDims(rng, rng.IntN(3), 40)
		batchMatmul(t, d, rng, seed, batch, oneOf(rng, sizes), oneOf(rng, sizes), oneOf(rng, sizes))
	})
}

// TestLargeBatchMatmulSweep: products that are steps of their own, with sums of bytes that floats do not hold, tiles that are not
// whole, and matrices that do not begin where a binding may.
func TestLargeBatchMatmulSweep(t *testing.T) {
	long := []uint32{3, 29, 61, 64, 67, 128, 131, 257, 300, 515}
	eachSeed(t, 48, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		k := oneOf(rng, long)
		if seed%4 == 0 {
			k = min(k, 67) // what float32 loses in longer sums is more than what is allowed
		}
		batchMatmul(t, d, rng, seed, nn.Dims{1 + rng.Uint32N(4)}, oneOf(rng, []uint32{1, 3, 4, 17, 64, 66}), k, oneOf(rng, long))
	})
}

// batchMatmul compares products of m*k by k*n, of the seed's type.
func batchMatmul(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64, batch nn.Dims, m, k, n uint32) {
	typ := []nn.OperandType{nn.TensorFloat32, nn.TensorFloat16, nn.TensorQuant8AsymmSigned, nn.TensorInt32}[seed%4]
	if typ == nn.TensorInt32 {
		k = min(k, 9)
	}
	left, right := rng.IntN(2) == 0, rng.IntN(2) == 0
	matrix := func(at int, rows, columns uint32, swapped bool) tensor {
		if swapped {
			rows, columns = columns, rows
		}
		x := of(typ, at, append(slices.Clone(batch), rows, columns))
		x.fixed = rng.IntN(4) == 0
		return x
	}
	x, y := matrix(0, m, k, left), matrix(1, k, n, right)
	if x.fixed && y.fixed {
		x.fixed = false
	}
	z := of(typ, 0, append(slices.Clone(batch), m, n))
	if typ == nn.TensorQuant8AsymmSigned {
		z.scale, z.zero = x.scale*y.scale*float32(k)*20, 5
	}
	model := oneOp(nn.OpBatchMatmul, []tensor{x, y}, z, rng, func(b *nn.Builder) []uint32 {
		return []uint32{b.Scalar(left), b.Scalar(right)}
	})
	t.Log(describe(model))
	CompareOn(t, d, model, RandomInputs(model, rng), ToleranceOf(typ))
}

// TestProductsInPlace: right matrices that are read where they lie, whose first rows are infinite in every second one: behind the
// last row of a matrix whose rows are no whole quads lie those of the next.
func TestProductsInPlace(t *testing.T) {
	for _, k := range []uint32{61, 62, 63, 64, 1} {
		n := 1<<18/(4*k) + 3 // so many that it is worth a kernel
		for _, m := range []uint32{4, 11} {
			t.Run(fmt.Sprintf("%dx%d by %dx%d", m, k, k, n), func(t *testing.T) {
				typ := nn.TensorFloat32
				x, y, z := of(typ, 0, nn.Dims{4, m, k}), of(typ, 0, nn.Dims{4, k, n}), of(typ, 0, nn.Dims{4, m, n})
				model := oneOp(nn.OpBatchMatmul, []tensor{x, y}, z, nil, func(b *nn.Builder) []uint32 {
					return []uint32{b.Scalar(false), b.Scalar(false)}
				})
				inputs := RandomInputs(model, rand.New(rand.NewPCG(1, uint64(k))))
				infinite := floatsOf(typ, slices.Repeat([]float64{math.Inf(1)}, int(n))...)
				for _, matrix := range []uint32{1, 3} {
					copy(inputs[1][matrix*k*n*4:], infinite)
				}
				devices.Each(t, func(t *testing.T, d *driver.Device) { CompareOn(t, d, model, inputs, ToleranceOf(typ)) })
			})
		}
	}
}
