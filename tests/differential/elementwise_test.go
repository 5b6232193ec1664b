package differential

import (
	"fmt"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

// elementTolerance: one operation a number, so NNAPI's own tolerance holds.
func elementTolerance(t nn.OperandType) Tolerance {
	if t == nn.TensorFloat32 {
		return Tolerance{Abs: 1e-5, Rel: 6e-7}
	}
	return ToleranceOf(t)
}

// quant is the quantisation of operand i of 8-bit type t, each its own.
func quant(t nn.OperandType, i int) (float32, int32) {
	if !t.IsQuant8() {
		return 0, 0
	}
	scale, zero := [...]float32{0.031, 0.0173, 0.043}[i], [...]int32{119, 140, 97}[i]
	if t == nn.TensorQuant8AsymmSigned {
		zero -= 128
	}
	return scale, zero
}

var (
	floatTypes = []nn.OperandType{nn.TensorFloat32, nn.TensorFloat16}
	quantTypes = []nn.OperandType{nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned}
	anyType    = []nn.OperandType{nn.TensorFloat32, nn.TensorFloat16, nn.TensorInt32, nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned}
)

// broadcasts are shapes of two operands and of the result.
var broadcasts = [][3]nn.Dims{
	{{2, 3, 5, 8}, {2, 3, 5, 8}, {2, 3, 5, 8}},
	{{41, 37}, {41, 37}, {41, 37}},
	{{3}, {3}, {3}},
	{{2, 3, 5, 7}, {7}, {2, 3, 5, 7}},
	{{7}, {2, 3, 5, 7}, {2, 3, 5, 7}},
	{{2, 3, 5, 3}, {3}, {2, 3, 5, 3}},
	{{2, 3, 5, 7}, {1}, {2, 3, 5, 7}},
	{{1}, {2, 3, 5, 7}, {2, 3, 5, 7}},
	{{2, 3, 5, 7}, {5, 7}, {2, 3, 5, 7}},
	{{2, 3, 5, 7}, {2, 1, 1, 7}, {2, 3, 5, 7}},
	{{2, 3, 5, 6}, {2, 3, 5, 1}, {2, 3, 5, 6}},
	{{2, 1, 5, 1}, {1, 3, 1, 9}, {2, 3, 5, 9}},
	{{113, 1}, {89}, {113, 89}},
}

func TestBinary(t *testing.T) {
	for _, tc := range []struct {
		op    nn.OperationType
		types []nn.OperandType
		act   bool // takes a fused activation
	}{
		{nn.OpAdd, anyType, true},
		{nn.OpSub, anyType, true},
		{nn.OpMul, anyType, true},
		{nn.OpDiv, anyType[:3], true},
		{nn.OpMaximum, anyType, false},
		{nn.OpMinimum, anyType, false},
		{nn.OpPow, floatTypes, false},
		{nn.OpPrelu, append(floatTypes[:2:2], quantTypes...), false},
		{nn.OpSquaredDifference, anyType, false},
	} {
		t.Run(tc.op.String(), func(t *testing.T) {
			devices.Each(t, func(t *testing.T, d *driver.Device) {
				for i, shapes := range broadcasts {
					for _, typ := range tc.types {
						act := nn.ActNone
						if tc.act && typ != nn.TensorInt32 {
							act = nn.Activation(i % 4)
						}
						t.Run(fmt.Sprint(shapes[0], shapes[1], " ", typ, " ", act), func(t *testing.T) {
							var b nn.Builder
							operand := func(k int, add func(nn.OperandType, nn.Dims, float32, int32) uint32) uint32 {
								scale, zero := quant(typ, k)
								return add(typ, shapes[k], scale, zero)
							}
							args := []uint32{operand(0, b.Input), operand(1, b.Input)}
							y := operand(2, b.Temp)
							if tc.act {
								args = append(args, b.Scalar(int(act)))
							}
							b.Op(tc.op, args, []uint32{y})
							b.Output(y)
							tol := elementTolerance(typ)
							switch {
							case typ.IsQuant8() && (tc.op == nn.OpMaximum || tc.op == nn.OpMinimum || tc.op == nn.OpPrelu):
								tol = OneStep // ties fall another way than the oracle's
							case tc.op == nn.OpPow && typ == nn.TensorFloat16, tc.op == nn.OpDiv && typ == nn.TensorFloat16:
								tol.Rel = 2e-3 // results are large
							}
							Compare(t, d, nntest.Build(&b), tol, uint64(i))
						})
					}
				}
			})
		})
	}
}

func TestUnary(t *testing.T) {
	asymm := append(floatTypes[:2:2], quantTypes...)
	for _, tc := range []struct {
		op    nn.OperationType
		types []nn.OperandType
		// Fixed output quantisation, where NNAPI asks for one.
		scale float32
		zero  int32 // unsigned
		same  bool  // the output is quantised as the input
	}{
		{op: nn.OpRelu, types: asymm, same: true},
		{op: nn.OpRelu1, types: asymm, same: true},
		{op: nn.OpRelu6, types: asymm, same: true},
		{op: nn.OpElu, types: floatTypes},
		{op: nn.OpHardSwish, types: asymm, scale: 0.02, zero: 20},
		{op: nn.OpTanh, types: asymm, scale: 1.0 / 128, zero: 128},
		{op: nn.OpLogistic, types: asymm, scale: 1.0 / 256, zero: 0},
		{op: nn.OpAbs, types: anyType[:3]},
		{op: nn.OpNeg, types: anyType[:3]},
		{op: nn.OpExp, types: floatTypes},
		{op: nn.OpFloor, types: floatTypes},
		{op: nn.OpSin, types: floatTypes},
	} {
		t.Run(tc.op.String(), func(t *testing.T) {
			devices.Each(t, func(t *testing.T, d *driver.Device) {
				for i, dims := range []nn.Dims{{1}, {3}, {5, 7}, {2, 3, 5, 8}, {113, 89}} {
					for _, typ := range tc.types {
						t.Run(fmt.Sprint(dims, " ", typ), func(t *testing.T) {
							var b nn.Builder
							scale, zero := quant(typ, 0)
							args := []uint32{b.Input(typ, dims, scale, zero)}
							if typ.IsQuant8() && !tc.same {
								scale, zero = tc.scale, tc.zero
								if typ == nn.TensorQuant8AsymmSigned {
									zero -= 128
								}
							}
							y := b.Temp(typ, dims, scale, zero)
							if tc.op == nn.OpElu {
								if typ == nn.TensorFloat16 {
									t.Skip("a float16 scalar")
								}
								args = append(args, b.Scalar(float32(1.5)))
							}
							b.Op(tc.op, args, []uint32{y})
							b.Output(y)
							Compare(t, d, nntest.Build(&b), elementTolerance(typ), uint64(i))
						})
					}
				}
			})
		})
	}
}

func TestConversions(t *testing.T) {
	type pair struct{ from, to nn.OperandType }
	var casts, quantizes, dequantizes []pair
	for _, from := range anyType[:4] {
		for _, to := range anyType[:4] {
			casts = append(casts, pair{from, to})
		}
	}
	for _, q := range quantTypes {
		for _, f := range floatTypes {
			quantizes = append(quantizes, pair{f, q})
			dequantizes = append(dequantizes, pair{q, f})
		}
	}
	for _, tc := range []struct {
		op    nn.OperationType
		pairs []pair
	}{{nn.OpCast, casts}, {nn.OpQuantize, quantizes}, {nn.OpDequantize, dequantizes}} {
		t.Run(tc.op.String(), func(t *testing.T) {
			devices.Each(t, func(t *testing.T, d *driver.Device) {
				for i, dims := range []nn.Dims{{1}, {3}, {5, 7}, {2, 3, 5, 8}, {113, 89}} {
					for _, p := range tc.pairs {
						t.Run(fmt.Sprint(dims, " ", p.from, " ", p.to), func(t *testing.T) {
							var b nn.Builder
							scale, zero := quant(p.from, 0)
							x := b.Input(p.from, dims, scale, zero)
							scale, zero = quant(p.to, 1)
							y := b.Temp(p.to, dims, scale, zero)
							b.Op(tc.op, []uint32{x}, []uint32{y})
							b.Output(y)
							Compare(t, d, nntest.Build(&b), elementTolerance(p.to), uint64(i))
						})
					}
				}
			})
		})
	}
}
