package differential

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/internal/devices"
)

// grid is a range of numbers of type t in n even steps, from lo to hi.
func grid(t nn.OperandType, n int, lo, hi float64) []byte {
	var b []byte
	for i := range n {
		v := float32(lo + (hi-lo)*float64(i)/float64(n-1))
		if t == nn.TensorFloat16 {
			b = binary.LittleEndian.AppendUint16(b, uint16(nn.HalfOf(v)))
		} else {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
	}
	return b
}

// TestFunctions runs the functions of one real number over all of the range where they do something.
func TestFunctions(t *testing.T) {
	for _, tc := range []struct {
		op     nn.OperationType
		lo, hi float64
		half   float64 // hi for float16, where it is another
	}{
		{nn.OpTanh, -12, 12, 0}, {nn.OpLogistic, -30, 30, 0}, {nn.OpExp, -20, 20, 11}, {nn.OpLog, 1e-4, 1000, 0},
		{nn.OpSqrt, 0, 1000, 0}, {nn.OpRsqrt, 1e-3, 1000, 0}, {nn.OpSin, -20, 20, 0}, {nn.OpFloor, -9.3, 9.1, 0},
		{nn.OpElu, -12, 6, 0}, {nn.OpHardSwish, -7, 7, 0}, {nn.OpAbs, -9, 9, 0}, {nn.OpNeg, -9, 9, 0}, {nn.OpRelu6, -9, 9, 0},
	} {
		t.Run(tc.op.String(), func(t *testing.T) {
			devices.Each(t, func(t *testing.T, d *driver.Device) {
				for _, typ := range floatTypes {
					t.Run(typ.String(), func(t *testing.T) {
						const rows, columns = 1009, 7
						v := of(typ, 0, nn.Dims{rows, columns})
						m := oneOp(tc.op, []tensor{v}, v, nil, func(b *nn.Builder) []uint32 {
							if tc.op == nn.OpElu {
								return []uint32{beta(b, typ, 1.5)}
							}
							return nil
						})
						hi := tc.hi
						if typ == nn.TensorFloat16 && tc.half != 0 {
							hi = tc.half
						}
						tol := elementTolerance(typ)
						if typ == nn.TensorFloat32 {
							tol.Rel = 2e-6
						}
						CompareOn(t, d, m, [][]byte{grid(typ, rows*columns, tc.lo, hi)}, tol)
					})
				}
			})
		})
	}
}

// TestFunctionsOfBytes: 8-bit functions of all 256 numbers.
func TestFunctionsOfBytes(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for _, tc := range []struct {
		op    nn.OperationType
		scale float32 // of the output; 0: as the input
		zero  int32   // unsigned
		tol   Tolerance
	}{
		{op: nn.OpRelu}, {op: nn.OpRelu1}, {op: nn.OpRelu6}, {op: nn.OpTanh, scale: 1.0 / 128, zero: 128},
		{op: nn.OpLogistic, scale: 1.0 / 256}, {op: nn.OpHardSwish, scale: 0.05, zero: 100}, {op: nn.OpRequantize, scale: 0.013, zero: 77},
		{op: nn.OpRsqrt, scale: 0.02, zero: 3, tol: OneStep},
	} {
		t.Run(tc.op.String(), func(t *testing.T) {
			eachType(t, quantTypes, func(t *testing.T, d *driver.Device, typ nn.OperandType) {
				for _, scale := range []float32{0.0025, 0.037, 0.4} {
					x := tensor{typ: typ, dims: nn.Dims{256}, scale: scale, zero: 97}
					y := tensor{typ: typ, dims: x.dims, scale: tc.scale, zero: tc.zero}
					if typ == nn.TensorQuant8AsymmSigned {
						x.zero, y.zero = x.zero-128, y.zero-128
					}
					if tc.scale == 0 {
						y = x
					}
					t.Run(fmt.Sprint(scale), func(t *testing.T) {
						CompareOn(t, d, oneOp(tc.op, []tensor{x}, y, nil, nil), [][]byte{all}, tc.tol)
					})
				}
			})
		})
	}
}

// TestRequantize brings each 8-bit type and scale to each other.
func TestRequantize(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, from := range quantTypes {
			for _, to := range quantTypes {
				for i := range 3 {
					for k := range 3 {
						t.Run(fmt.Sprint(from, to, i, k), func(t *testing.T) {
							x, y := of(from, i, nn.Dims{37, 7}), of(to, k, nn.Dims{37, 7})
							Compare(t, d, oneOp(nn.OpRequantize, []tensor{x}, y, nil, nil), Exact, 4)
						})
					}
				}
			}
		}
	})
}

// TestDequantizeConstants takes the numbers of each 8-bit type, also the symmetric ones, from a constant.
func TestDequantizeConstants(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, to := range floatTypes {
			for _, from := range []nn.OperandType{nn.TensorQuant8Asymm, nn.TensorQuant8AsymmSigned, nn.TensorQuant8Symm, nn.TensorQuant8PerChannel} {
				for dim := range uint32(3) {
					t.Run(fmt.Sprint(from, to, dim), func(t *testing.T) {
						var b nn.Builder
						dims := nn.Dims{3, 5, 7}
						value := grid(nn.TensorFloat32, 105, 1, 2)[:105] // any bytes
						var w uint32
						if from == nn.TensorQuant8PerChannel {
							scales := make([]float32, dims[dim])
							for i := range scales {
								scales[i] = 0.01 * float32(i+1)
							}
							w = b.PerChannel(dims, scales, dim, value)
						} else {
							v := of(from, 0, dims)
							if from == nn.TensorQuant8Symm {
								v.scale = 0.02
							}
							w = b.Const(from, dims, v.scale, v.zero, value)
						}
						mid := b.Temp(to, dims, 0, 0)
						b.Op(nn.OpDequantize, []uint32{w}, []uint32{mid})
						y := b.Temp(to, dims, 0, 0)
						b.Op(nn.OpMul, []uint32{mid, b.Input(to, nn.Dims{1}, 0, 0), b.Scalar(0)}, []uint32{y})
						b.Output(mid)
						b.Output(y)
						Compare(t, d, nntest.Build(&b), elementTolerance(to), 4)
					})
				}
			}
		}
	})
}

// TestFarFunctions runs functions where they have reached their limit, or where a plain formula overflows.
func TestFarFunctions(t *testing.T) {
	for _, tc := range []struct {
		op     nn.OperationType
		values []float32
	}{
		{nn.OpTanh, []float32{-1e30, -1e4, -50, -1e-5, -1e-30, 0, 1e-30, 1e-5, 50, 1e4, 1e30}},
		{nn.OpLogistic, []float32{-1e30, -1e4, -104, -88, -50, 0, 50, 88, 104, 1e4, 1e30}},
		{nn.OpExp, []float32{-1e30, -1e4, -104, -88, -80, 0, 1e-30, 80, 88, 88.5}},
		{nn.OpLog, []float32{1.2e-38, 1e-30, 1e-10, 0.999999, 1, 1.000001, 1e10, 3e38}},
		{nn.OpSqrt, []float32{0, 1.2e-38, 1e-30, 1e30, 3e38}},
		{nn.OpRsqrt, []float32{1.2e-38, 1e-30, 1e-10, 1e10, 1e30, 3e38}},
		{nn.OpSin, []float32{-1e4, -1234.5, -100, -1e-20, 0, 1e-20, 100, 1234.5, 1e4}},
		{nn.OpFloor, []float32{-3e38, -1e10, -8388609, -8388607.5, -2.5, -1, -0.5, -1e-30, 0, 1e-30, 0.99999994, 8388607.5, 1e10, 3e38}},
		{nn.OpElu, []float32{-1e30, -1e4, -104, -88, -1e-3, -1e-6, -1e-20, 0, 1e-20, 1e4, 1e30}},
		{nn.OpHardSwish, []float32{-1e30, -1e4, -3, 3, 1e4, 1e30}},
		{nn.OpRelu6, []float32{-3e38, 6.0000005, 3e38}}, {nn.OpNeg, []float32{-3e38, 3e38}}, {nn.OpAbs, []float32{-3e38, 3e38}},
	} {
		t.Run(tc.op.String(), func(t *testing.T) {
			devices.Each(t, func(t *testing.T, d *driver.Device) {
				var value []byte
				for _, x := range tc.values {
					value = binary.LittleEndian.AppendUint32(value, math.Float32bits(x))
				}
				v := of(nn.TensorFloat32, 0, nn.Dims{uint32(len(tc.values)), 1})
				m := oneOp(tc.op, []tensor{v}, v, nil, func(b *nn.Builder) []uint32 {
					if tc.op == nn.OpElu {
						return []uint32{b.Scalar(1.5)}
					}
					return nil
				})
				CompareOn(t, d, m, [][]byte{value}, Tolerance{Abs: 1e-5, Rel: 5e-6})
			})
		})
	}
}

// TestMaskedSoftmax: elements that are -infinity count for nothing, wherever they are, and rows of nothing else are NaN.
func TestMaskedSoftmax(t *testing.T) {
	const rows, n = 7, 2061 // several quads an iteration, one, and padding
	values := make([]float64, rows*n)
	for i := range values {
		row, at := i/n, i%n
		values[i] = float64(i%23)/4 - 2
		if masked := [rows]bool{false, at < n/2, at >= n/2, at != n-1, at != 0, at%2 == 0, true}[row]; masked {
			values[i] = math.Inf(-1)
		}
	}
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, op := range []nn.OperationType{nn.OpSoftmax, nn.OpLogSoftmax} {
			for _, typ := range floatTypes {
				t.Run(fmt.Sprint(op, typ), func(t *testing.T) {
					v := of(typ, 0, nn.Dims{rows, n})
					m := oneOp(op, []tensor{v}, v, nil, func(b *nn.Builder) []uint32 { return []uint32{beta(b, typ, 1), b.Scalar(1)} })
					CompareOn(t, d, m, [][]byte{encode(typ, values)}, elementTolerance(typ))
				})
			}
		}
	})
}

// TestFarSoftmax: sums of exponentials of large numbers, which overflow when the largest is not taken off.
func TestFarSoftmax(t *testing.T) {
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		for _, op := range []nn.OperationType{nn.OpSoftmax, nn.OpLogSoftmax} {
			for _, typ := range floatTypes {
				for _, axis := range []int{0, 1} {
					t.Run(fmt.Sprint(op, typ, axis), func(t *testing.T) {
						v := of(typ, 0, nn.Dims{37, 13})
						m := oneOp(op, []tensor{v}, v, nil, func(b *nn.Builder) []uint32 {
							return []uint32{beta(b, typ, 0.5), b.Scalar(axis)}
						})
						CompareOn(t, d, m, [][]byte{grid(typ, 37*13, -3000, 1000)}, Tolerance{Abs: 5e-3, Rel: 1e-3})
					})
				}
			}
		}
	})
}
