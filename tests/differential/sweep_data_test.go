package differential

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
)

func TestTransposeSweep(t *testing.T) {
	eachSeed(t, 300, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		typ := oneOf(rng, asymmTypes)
		in := randomDims(rng, 1+int(seed%6), 5000)
		out := make(nn.Dims, len(in))
		perm := make([]int32, len(in))
		for i, p := range rng.Perm(len(in)) {
			perm[i], out[i] = int32(p), in[p]
		}
		m := oneOp(nn.OpTranspose, []tensor{of(typ, 0, in)}, of(typ, 0, out), rng, func(b *nn.Builder) []uint32 {
			p := b.Ints(nn.Dims{uint32(len(perm))}, perm...)
			return []uint32{p}
		})
		t.Log(describe(m))
		Compare(t, d, m, Exact, seed)
	})
}

// TestTransposeReversed leaves the permutation off.
func TestTransposeReversed(t *testing.T) {
	eachType(t, asymmTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
		m := oneOp(nn.OpTranspose, []tensor{of(typ, 0, nn.Dims{3, 5, 2, 7})}, of(typ, 0, nn.Dims{7, 2, 5, 3}), nil, func(b *nn.Builder) []uint32 {
			return []uint32{b.Omitted(nn.TensorInt32)}
		})
		Compare(t, d, m, Exact, 1)
	})
}

func TestReshapeSweep(t *testing.T) {
	eachSeed(t, 200, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		in := randomDims(rng, 1+rng.IntN(5), 5000)
		x := val{typ: oneOf(rng, anyType), dims: in}
		x.scale, x.zero = quant(x.typ, 0)
		c := &chain{rng: rng, read: map[uint32]bool{}, rough: map[uint32]bool{}}
		x.id = c.b.Input(x.typ, in, x.scale, x.zero)
		c.vals = []val{x}
		for !growReshape(c) { // RESHAPE, SQUEEZE or EXPAND_DIMS
		}
		c.b.Output(c.vals[1].id)
		m := nntest.Build(&c.b)
		t.Log(describe(m))
		Compare(t, d, m, Exact, seed)
	})
}

// TestSqueezeAll names no axes: all of size 1 go.
func TestSqueezeAll(t *testing.T) {
	for _, c := range [][2]nn.Dims{
		{{1, 3, 1, 5}, {3, 5}}, {{1, 1, 1, 1}, {1}}, {{4, 1, 7, 1}, {4, 7}}, {{2, 3}, {2, 3}}, {{1, 9}, {9}},
	} {
		eachType(t, asymmTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
			m := oneOp(nn.OpSqueeze, []tensor{of(typ, 0, c[0])}, of(typ, 0, c[1]), nil, func(b *nn.Builder) []uint32 {
				return []uint32{b.Omitted(nn.TensorInt32)}
			})
			Compare(t, d, m, Exact, 1)
		})
	}
}

func TestConcatenationSweep(t *testing.T) {
	eachSeed(t, 300, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		typ := oneOf(rng, asymmTypes)
		dims := randomDims(rng, 1+rng.IntN(4), 1500)
		axis := rng.IntN(len(dims))
		var b nn.Builder
		out := of(typ, 0, slices.Clone(dims))
		out.dims[axis] = 0
		var args []uint32
		last := nn.Dims(nil)
		rescale := rng.IntN(2)
		for i := range 1 + rng.IntN(5) {
			if last != nil && rng.IntN(4) == 0 {
				args = append(args, args[len(args)-1]) // the same tensor twice
				out.dims[axis] += last[axis]
				continue
			}
			x := of(typ, rescale*(i%3), slices.Clone(dims))
			x.dims[axis] = 1 + rng.Uint32N(9)
			out.dims[axis] += x.dims[axis]
			if rng.IntN(4) == 0 {
				args = append(args, b.Const(typ, x.dims, x.scale, x.zero, RandomValue(typ, x.dims, rng)))
			} else {
				args = append(args, b.Input(typ, x.dims, x.scale, x.zero))
			}
			last = x.dims
		}
		y := b.Temp(typ, out.dims, out.scale, out.zero)
		if axis%2 == 1 {
			axis -= len(dims)
		}
		b.Op(nn.OpConcatenation, append(args, b.Scalar(axis)), []uint32{y})
		b.Output(y)
		m := nntest.Build(&b)
		t.Log(describe(m))
		Compare(t, d, m, Exact, seed)
	})
}

func TestPadSweep(t *testing.T) {
	eachSeed(t, 300, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		op := []nn.OperationType{nn.OpPad, nn.OpPadV2, nn.OpMirrorPad}[seed%3]
		types := asymmTypes
		if op == nn.OpMirrorPad {
			types = anyType
		}
		typ := oneOf(rng, types)
		mode := rng.IntN(2)
		c := padCase{in: randomDims(rng, 1+rng.IntN(6), 800)}
		for {
			c.pads = c.pads[:0]
			for _, n := range c.in {
				most := int32(9)
				if op == nn.OpMirrorPad {
					most = min(int32(n)-1+int32(mode), 9)
				}
				var p [2]int32
				for k := range p {
					if rng.IntN(2) == 0 {
						p[k] = rng.Int32N(most + 1)
					}
				}
				c.pads = append(c.pads, p)
			}
			if elements(c.out()) < 20000 {
				break
			}
		}
		m := oneOp(op, []tensor{of(typ, 0, c.in)}, of(typ, 0, c.out()), rng, func(b *nn.Builder) []uint32 {
			args := []uint32{c.operand(b)}
			switch {
			case op == nn.OpMirrorPad:
				args = append(args, b.Scalar(mode))
			case op == nn.OpPadV2 && typ.IsQuant8():
				args = append(args, b.Scalar(rng.IntN(100)))
			case op == nn.OpPadV2:
				args = append(args, beta(b, typ, 0.625))
			}
			return args
		})
		t.Log(describe(m))
		Compare(t, d, m, Exact, seed)
	})
}
