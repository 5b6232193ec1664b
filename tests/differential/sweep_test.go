package differential

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
	"github.com/nngpu/nngpu/tests/internal/ref"
)

var sweepFactor = flag.Int("sweep", 1, "run so many times the random cases of each sweep")

// tensor is an operand of a one-operation model.
type tensor struct {
	typ   nn.OperandType
	dims  nn.Dims
	scale float32
	zero  int32
	fixed bool // a constant
}

// of is tensor k of an operation on type typ: each has its own scale.
func of(typ nn.OperandType, k int, dims nn.Dims) tensor {
	scale, zero := quant(typ, k)
	return tensor{typ: typ, dims: dims, scale: scale, zero: zero}
}

// oneOp is a model of one operation; params adds the operands behind the tensors.
func oneOp(op nn.OperationType, in []tensor, out tensor, rng *rand.Rand, params func(b *nn.Builder) []uint32) *nn.Model {
	var b nn.Builder
	var args []uint32
	for _, x := range in {
		if x.fixed {
			args = append(args, b.Const(x.typ, x.dims, x.scale, x.zero, RandomValue(x.typ, x.dims, rng)))
		} else {
			args = append(args, b.Input(x.typ, x.dims, x.scale, x.zero))
		}
	}
	if params != nil {
		args = append(args, params(&b)...)
	}
	y := b.Temp(out.typ, out.dims, out.scale, out.zero)
	b.Op(op, args, []uint32{y})
	b.Output(y)
	return nntest.Build(&b)
}

// sizes are dimensions at the edges of quads and tiles, and primes.
var sizes = []uint32{1, 1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 15, 16, 17, 19, 31, 32, 33}

// randomDims are dimensions of the given rank with at most limit elements.
func randomDims(rng *rand.Rand, rank, limit int) nn.Dims {
	for {
		d := make(nn.Dims, rank)
		for i := range d {
			d[i] = sizes[rng.IntN(len(sizes))]
		}
		if n, err := d.Elements(); err == nil && int(n) <= limit {
			return d
		}
	}
}

// eachSeed runs n random cases on every device. Each has its own numbers, whatever n is.
func eachSeed(t *testing.T, n int, f func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64)) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for seed := range uint64(n * *sweepFactor) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) { f(t, d, rand.New(rand.NewPCG(seed, 17)), seed) })
		}
	})
}

func oneOf[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }

// broadcastPair are random shapes that broadcast, of ranks that may differ.
func broadcastPair(rng *rand.Rand) (x, y, z nn.Dims) {
	z = randomDims(rng, 1+rng.IntN(4), 3000)
	shrink := func() nn.Dims {
		d := slices.Clone(z[rng.IntN(len(z)):])
		if rng.IntN(2) == 0 {
			d = slices.Clone(z)
		}
		for i := range d {
			if rng.IntN(4) == 0 {
				d[i] = 1
			}
		}
		return d
	}
	x, y = shrink(), shrink()
	z, ok := broadcastDims(x, y)
	if !ok {
		return broadcastPair(rng)
	}
	return x, y, z
}

// binaryTolerance is that of one binary operation on numbers up to 4.
func binaryTolerance(op nn.OperationType, typ nn.OperandType) Tolerance {
	tol := elementTolerance(typ)
	switch {
	case typ.IsQuant8() && (op == nn.OpMaximum || op == nn.OpMinimum || op == nn.OpPrelu):
		return OneStep // ties fall another way than the oracle's
	case (op == nn.OpPow || op == nn.OpDiv) && typ == nn.TensorFloat16:
		tol.Rel = 2e-3 // results are large
	}
	return tol
}

func TestBinarySweep(t *testing.T) {
	ops := []nn.OperationType{
		nn.OpAdd, nn.OpSub, nn.OpMul, nn.OpDiv, nn.OpMaximum, nn.OpMinimum, nn.OpPow, nn.OpPrelu, nn.OpSquaredDifference,
	}
	eachSeed(t, 500, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		op := ops[int(seed)%len(ops)]
		types := anyType
		switch op {
		case nn.OpDiv:
			types = anyType[:3]
		case nn.OpPow:
			types = floatTypes
		case nn.OpPrelu:
			types = asymmTypes
		}
		typ := oneOf(rng, types)
		x, y, z := broadcastPair(rng)
		in := []tensor{of(typ, 0, x), of(typ, 1, y)}
		switch rng.IntN(3) {
		case 0:
			in[0].fixed = true
		case 1:
			in[1].fixed = true
		}
		act := nn.ActNone
		if typ != nn.TensorInt32 {
			act = nn.Activation(rng.IntN(4))
		}
		m := oneOp(op, in, of(typ, 2, z), rng, func(b *nn.Builder) []uint32 {
			if op == nn.OpAdd || op == nn.OpSub || op == nn.OpMul || op == nn.OpDiv {
				return []uint32{b.Scalar(int(act))}
			}
			return nil
		})
		t.Log(describe(m))
		Compare(t, d, m, binaryTolerance(op, typ), seed)
	})
}

// TestBinaryOfOneTensor: both operands are one tensor.
func TestBinaryOfOneTensor(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, op := range []nn.OperationType{nn.OpAdd, nn.OpSub, nn.OpMul, nn.OpMaximum, nn.OpSquaredDifference} {
			for _, typ := range anyType {
				t.Run(fmt.Sprint(op, " ", typ), func(t *testing.T) {
					var b nn.Builder
					v := of(typ, 0, nn.Dims{3, 5, 7})
					x := b.Input(typ, v.dims, v.scale, v.zero)
					o := of(typ, 2, v.dims)
					y := b.Temp(typ, o.dims, o.scale, o.zero)
					args := []uint32{x, x}
					if op == nn.OpAdd || op == nn.OpSub || op == nn.OpMul {
						args = append(args, b.Scalar(0))
					}
					b.Op(op, args, []uint32{y})
					b.Output(y)
					Compare(t, d, nntest.Build(&b), binaryTolerance(op, typ), 3)
				})
			}
		}
	})
}

// TestScales: 8-bit operations whose operands have scales of all proportions.
func TestScales(t *testing.T) {
	scales := []float32{1e-3, 0.0078125, 0.02, 0.5, 1, 37}
	ops := []nn.OperationType{nn.OpAdd, nn.OpSub, nn.OpMul, nn.OpSquaredDifference, nn.OpMaximum, nn.OpPrelu}
	eachSeed(t, 240, func(t *testing.T, d *driver.Device, rng *rand.Rand, seed uint64) {
		op := ops[int(seed)%len(ops)]
		typ := oneOf(rng, quantTypes)
		some := func() tensor {
			v := tensor{typ: typ, dims: nn.Dims{17, 16}, scale: oneOf(rng, scales), zero: rng.Int32N(256)}
			if typ == nn.TensorQuant8AsymmSigned {
				v.zero -= 128
			}
			return v
		}
		x, y, z := some(), some(), some()
		if (op == nn.OpAdd || op == nn.OpSub) && z.scale < max(x.scale, y.scale)/(1<<19) {
			z.scale = x.scale // NNAPI asks for it
		}
		if op == nn.OpSquaredDifference && overflows(op, x.scale, y.scale, z.scale) {
			y.scale = x.scale // else the fixed-point numbers are too coarse to be compared with real ones
		}
		m := oneOp(op, []tensor{x, y}, z, rng, func(b *nn.Builder) []uint32 {
			if op == nn.OpAdd || op == nn.OpSub || op == nn.OpMul {
				return []uint32{b.Scalar(rng.IntN(4))}
			}
			return nil
		})
		t.Log(describe(m))
		if !overflows(op, x.scale, y.scale, z.scale) {
			Compare(t, d, m, binaryTolerance(op, typ), seed)
			return
		}
		inputs := RandomInputs(m, rand.New(rand.NewPCG(seed, 7)))
		compareWith(t, d, m, inputs, OneStep, ref.Always(ref.Real))
	})
}

// overflows reports whether TFLite's fixed-point numbers leave int32, where the driver saturates.
func overflows(op nn.OperationType, x, y, z float32) bool {
	switch op {
	case nn.OpMul:
		return x*y/z >= 1<<13
	case nn.OpPrelu:
		return max(x*y, x)/z >= 1<<13
	case nn.OpSquaredDifference:
		twice := 2 * max(x, y)
		return twice*twice/z >= 1<<14
	}
	return false
}
