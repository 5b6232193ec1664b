package differential

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/devices"
)

// mean is a model of MEAN over the axes that are set in the bits of set.
func mean(x, y tensor, set int, keep bool) *nn.Model {
	var axes []int32
	y.dims = nil
	for i, n := range x.dims {
		if set>>i&1 != 0 {
			axes = append(axes, int32(i))
			if !keep {
				continue
			}
			n = 1
		}
		y.dims = append(y.dims, n)
	}
	if len(y.dims) == 0 {
		y.dims = nn.Dims{1}
	}
	k := 0
	if keep {
		k = 1
	}
	return oneOp(nn.OpMean, []tensor{x}, y, nil, func(b *nn.Builder) []uint32 {
		return []uint32{b.Ints(nn.Dims{uint32(len(axes))}, axes...), b.Scalar(k)}
	})
}

func TestMeanSweep(t *testing.T) {
	eachSeed(t, 400, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		typ := oneOf(rng, asymmTypes)
		dims := randomDims(rng, 1+rng.IntN(4), 20000)
		set := 1 + rng.IntN(1<<len(dims)-1)
		m := mean(of(typ, 0, dims), of(typ, rng.IntN(3), nil), set, rng.IntN(2) == 0)
		t.Log(describe(m))
		Compare(t, d, m, elementTolerance(typ), seed)
	})
}

// TestLongMeans reduces so much that it takes stages.
func TestLongMeans(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, c := range []struct {
			dims nn.Dims
			set  int
		}{
			{nn.Dims{1, 200, 200, 7}, 6}, {nn.Dims{1, 200, 200, 7}, 15}, {nn.Dims{3, 7, 70001}, 4}, {nn.Dims{70001, 3}, 1},
			{nn.Dims{70001, 3}, 3}, {nn.Dims{2, 257, 2, 259}, 10},
			{nn.Dims{257, 4090}, 2}, {nn.Dims{1021, 1033}, 1}, // more words than one block of sums has, in one stage
		} {
			for _, typ := range asymmTypes {
				for k := range 2 {
					t.Run(fmt.Sprint(c, typ, k), func(t *testing.T) {
						Compare(t, d, mean(of(typ, 0, c.dims), of(typ, k, nil), c.set, true), elementTolerance(typ), 9)
					})
				}
			}
		}
	})
}

func TestSoftmaxSweep(t *testing.T) {
	eachSeed(t, 300, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		op, types := nn.OpSoftmax, asymmTypes
		rank := 1 + rng.IntN(4)
		if seed%3 == 0 {
			op, types = nn.OpLogSoftmax, floatTypes
			rank = 1 + rng.IntN(6)
		}
		x := of(oneOf(rng, types), 0, randomDims(rng, rank, 8000))
		y, tol := x, elementTolerance(x.typ)
		if x.typ.IsQuant8() {
			tol = OneStep
			y.scale, y.zero = 1.0/256, 0
			if x.typ == nn.TensorQuant8AsymmSigned {
				y.zero = -128
			}
		}
		m := oneOp(op, []tensor{x}, y, rng, func(b *nn.Builder) []uint32 {
			return []uint32{beta(b, x.typ, oneOf(rng, []float64{0.25, 0.5, 1, 1.5, 3})), b.Scalar(rng.IntN(2*rank) - rank)}
		})
		t.Log(describe(m))
		Compare(t, d, m, tol, seed)
	})
}
