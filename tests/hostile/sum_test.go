//go:build linux

package hostile

import "github.com/nngpu/nngpu/driver/nn"

func mean(t nn.OperandType, d nn.Dims, axes ...int32) func(*nn.Builder) {
	return single(nn.OpMean, t, d, func(b *nn.Builder) []uint32 {
		return []uint32{list(b, nn.Dims{uint32(len(axes))}, axes...), b.Scalar(0)}
	})
}

// softmax has an 8-bit output of the scale that it demands.
func softmax(o nn.OperationType, t nn.OperandType, beta float32, axis int32, d ...uint32) func(*nn.Builder) {
	return func(b *nn.Builder) {
		in := []uint32{input(b, t, d...), b.Scalar(beta), b.Scalar(axis)}
		scale := float32(0)
		if t.IsQuant8() {
			scale = 1.0 / 256
		}
		y := b.Temp(t, nil, scale, 0)
		b.Op(o, in, []uint32{y})
		b.Output(y)
	}
}

// matrix is FULLY_CONNECTED of one row with constant or fed weights.
func matrix(t nn.OperandType, units, depth uint32, constants bool) func(*nn.Builder) {
	return single(nn.OpFullyConnected, t, nn.Dims{1, depth}, func(b *nn.Builder) []uint32 {
		if constants {
			return []uint32{constant(b, t, units, depth), bias(b, t, units), b.Scalar(0)}
		}
		biasType, scale := t, float32(0)
		if t.IsQuant8() {
			biasType, scale = i32, 0.25
		}
		return []uint32{input(b, t, units, depth), b.Input(biasType, nn.Dims{units}, scale, 0), b.Scalar(0)}
	})
}

var sumCases = []hostileCase{
	{name: "mean of 2^22 numbers", want: runs, model: mean(f32, nn.Dims{1 << 11, 1 << 11}, 0, 1)},
	{name: "mean of 2^22 rows", want: runs, model: mean(f32, nn.Dims{1 << 22, 1}, 0)},
	{name: "mean of a row of 2^22", want: runs, model: mean(f32, nn.Dims{1, 1 << 22}, 1)},
	{name: "mean of 2^23 bytes", want: refused, says: "mean", model: mean(u8, nn.Dims{1 << 12, 1 << 11}, 0, 1)},
	{name: "mean of 8,000,000 bytes", want: runs, model: mean(s8, nn.Dims{8, 1000, 1000}, 0, 1, 2)},
	{name: "mean along axis 7", want: invalid, says: "axis", model: mean(f32, nn.Dims{2, 3}, 7)},
	{name: "mean along one axis a thousand times", want: runs, exact: true, model: mean(f32, nn.Dims{2, 3}, repeat(1000, int32(-1))...)},
	{name: "mean along an axis too often", want: invalid, model: mean(f32, nn.Dims{2, 3}, repeat(2000, int32(1))...)},
	{name: "softmax of a row of 320,000", want: runs, exact: true, model: softmax(nn.OpSoftmax, f32, 1, -1, 2, 320_000)},
	{name: "softmax of a row of 320,001", want: refused, says: "softmax", model: softmax(nn.OpSoftmax, f32, 1, -1, 2, 320_001)},
	{name: "softmax of a column of 20,000", want: runs, exact: true, model: softmax(nn.OpLogSoftmax, f32, 1, 0, 20_000, 2)},
	{name: "softmax of a column of 20,001", want: refused, says: "softmax", model: softmax(nn.OpSoftmax, f32, 1, 0, 20_001, 2)},
	{name: "softmax of 80,000 bytes", want: runs, model: softmax(nn.OpSoftmax, u8, 1, 1, 2, 80_000)},
	{name: "softmax of 80,001 bytes", want: refused, says: "softmax", model: softmax(nn.OpSoftmax, u8, 1, 1, 2, 80_001)},
	{name: "softmax of many rows", want: runs, model: softmax(nn.OpSoftmax, f32, 1, 1, 1<<21, 1)},
	{name: "softmax of beta 3e38", want: runs, model: softmax(nn.OpSoftmax, u8, 3e38, 1, 5, 7)},
	{name: "softmax of beta 0", want: invalid, says: "beta", model: softmax(nn.OpSoftmax, f32, 0, 1, 5, 7)},
	{name: "softmax along axis 4", want: invalid, says: "axis", model: softmax(nn.OpSoftmax, f32, 1, 4, 5, 7)},
	{name: "matrix of 239,988 columns", want: runs, exact: true, model: matrix(f32, 3, 239_988, true)},
	{name: "matrix of 240,004 columns", want: refused, says: "steps", model: matrix(f32, 3, 240_004, true)},
	{name: "matrix of 33,000 bytes", want: runs, exact: true, model: matrix(u8, 3, 33_000, true)},
	{name: "matrix of 33,001 bytes", want: refused, says: "overflow", model: matrix(u8, 3, 33_001, true)},
	{name: "fed matrix of 2^20 units", want: runs, model: matrix(u8, 1<<20, 3, false)},
	{name: "fed matrix of 2^24 units", want: refused, says: "channels", model: matrix(u8, 1<<24, 3, false)},
	{name: "fed matrix of 2^31 units", want: invalid, model: matrix(u8, 1<<31, 1, false)},
	{name: "matrix beyond 2^32 bytes", want: invalid, model: matrix(f32, 1<<28, 16, false)},
	{name: "matrix of other rows", want: invalid, says: "rows", model: func(b *nn.Builder) {
		b.Output(op(b, nn.OpFullyConnected, f32, input(b, f32, 3, 5), constant(b, f32, 4, 7), constant(b, f32, 4), b.Scalar(0)))
	}},
}
