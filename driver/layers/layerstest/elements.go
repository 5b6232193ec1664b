package layerstest

import (
	"slices"

	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
)

// arithmetic is an example of an operation with an activation.
func arithmetic(f func(b *builder, x, y uint32, q ...layers.Quant) uint32) func(b *builder) []uint32 {
	return binary(func(b *builder, x, y uint32) uint32 { return f(b, x, y) })
}

var elements = map[nn.OperationType]func(b *builder) []uint32{
	nn.OpAdd: arithmetic(func(b *builder, x, y uint32, q ...layers.Quant) uint32 { return b.Add(x, y, nn.ActNone, q...) }),
	nn.OpSub: arithmetic(func(b *builder, x, y uint32, q ...layers.Quant) uint32 { return b.Sub(x, y, nn.ActNone, q...) }),
	nn.OpMul: arithmetic(func(b *builder, x, y uint32, q ...layers.Quant) uint32 { return b.Mul(x, y, nn.ActNone, q...) }),
	nn.OpDiv: binary(func(b *builder, x, y uint32) uint32 { return b.Div(x, y, nn.ActNone) }),

	nn.OpMaximum:           binary(func(b *builder, x, y uint32) uint32 { return b.Maximum(x, y) }),
	nn.OpMinimum:           binary(func(b *builder, x, y uint32) uint32 { return b.Minimum(x, y) }),
	nn.OpPow:               binary(func(b *builder, x, y uint32) uint32 { return b.Pow(x, y) }),
	nn.OpSquaredDifference: binary(func(b *builder, x, y uint32) uint32 { return b.SquaredDifference(x, y) }),
	nn.OpPrelu:             binary(func(b *builder, x, y uint32) uint32 { return b.Prelu(x, y) }),
	nn.OpEqual:             binary(func(b *builder, x, y uint32) uint32 { return b.Equal(x, y) }),
	nn.OpNotEqual:          binary(func(b *builder, x, y uint32) uint32 { return b.NotEqual(x, y) }),
	nn.OpLess:              binary(func(b *builder, x, y uint32) uint32 { return b.Less(x, y) }),
	nn.OpLessEqual:         binary(func(b *builder, x, y uint32) uint32 { return b.LessEqual(x, y) }),
	nn.OpGreater:           binary(func(b *builder, x, y uint32) uint32 { return b.Greater(x, y) }),
	nn.OpGreaterEqual:      binary(func(b *builder, x, y uint32) uint32 { return b.GreaterEqual(x, y) }),
	nn.OpLogicalAnd:        binary(func(b *builder, x, y uint32) uint32 { return b.LogicalAnd(x, y) }),
	nn.OpLogicalOr:         binary(func(b *builder, x, y uint32) uint32 { return b.LogicalOr(x, y) }),

	nn.OpLogicalNot: unary(func(b *builder, x uint32) uint32 { return b.LogicalNot(x) }),
	nn.OpElu:        unary(func(b *builder, x uint32) uint32 { return b.Elu(x, 0.5) }),
	nn.OpRelu:       unary(func(b *builder, x uint32) uint32 { return b.Relu(x) }),
	nn.OpRelu1:      unary(func(b *builder, x uint32) uint32 { return b.Relu1(x) }),
	nn.OpRelu6:      unary(func(b *builder, x uint32) uint32 { return b.Relu6(x) }),
	nn.OpHardSwish:  unary(func(b *builder, x uint32) uint32 { return b.HardSwish(x) }),
	nn.OpTanh:       unary(func(b *builder, x uint32) uint32 { return b.Tanh(x) }),
	nn.OpLogistic:   unary(func(b *builder, x uint32) uint32 { return b.Logistic(x) }),
	nn.OpAbs:        unary(func(b *builder, x uint32) uint32 { return b.Abs(x) }),
	nn.OpNeg:        unary(func(b *builder, x uint32) uint32 { return b.Neg(x) }),
	nn.OpExp:        unary(func(b *builder, x uint32) uint32 { return b.Exp(x) }),
	nn.OpLog:        unary(func(b *builder, x uint32) uint32 { return b.Log(x) }),
	nn.OpSqrt:       unary(func(b *builder, x uint32) uint32 { return b.Sqrt(x) }),
	nn.OpRsqrt:      unary(func(b *builder, x uint32) uint32 { return b.Rsqrt(x) }),
	nn.OpSin:        unary(func(b *builder, x uint32) uint32 { return b.Sin(x) }),
	nn.OpFloor:      unary(func(b *builder, x uint32) uint32 { return b.Floor(x) }),

	nn.OpSoftmax:         unary(func(b *builder, x uint32) uint32 { return b.Softmax(x, 1, -1) }),
	nn.OpLogSoftmax:      unary(func(b *builder, x uint32) uint32 { return b.LogSoftmax(x, 1, -1) }),
	nn.OpL2Normalization: unary(func(b *builder, x uint32) uint32 { return b.L2Normalization(x, -1) }),
	nn.OpLocalResponseNormalization: unary(func(b *builder, x uint32) uint32 {
		return b.LocalResponseNormalization(x, layers.LocalResponse{Radius: 2, Bias: 1, Alpha: 0.5, Beta: 0.75, Axis: -1})
	}),

	nn.OpMean:       unary(func(b *builder, x uint32) uint32 { return b.Mean(x, []int{-1}, false) }),
	nn.OpReduceMax:  unary(func(b *builder, x uint32) uint32 { return b.ReduceMax(x, []int{-1}, false) }),
	nn.OpReduceMin:  unary(func(b *builder, x uint32) uint32 { return b.ReduceMin(x, []int{-1}, false) }),
	nn.OpReduceProd: unary(func(b *builder, x uint32) uint32 { return b.ReduceProd(x, []int{-1}, false) }),
	nn.OpReduceSum:  unary(func(b *builder, x uint32) uint32 { return b.ReduceSum(x, []int{-1}, false) }),
	nn.OpReduceAll:  unary(func(b *builder, x uint32) uint32 { return b.ReduceAll(x, []int{-1}, false) }),
	nn.OpReduceAny:  unary(func(b *builder, x uint32) uint32 { return b.ReduceAny(x, []int{-1}, false) }),
	nn.OpArgmax:     unary(func(b *builder, x uint32) uint32 { return b.ArgMax(x, -1) }),
	nn.OpArgmin:     unary(func(b *builder, x uint32) uint32 { return b.ArgMin(x, -1) }),
	nn.OpTopkV2: func(b *builder) []uint32 {
		values, indices := b.TopK(b.x(3, 7), 2)
		return []uint32{values, indices}
	},

	nn.OpCast: unary(func(b *builder, x uint32) uint32 {
		if b.typ == nn.TensorFloat32 {
			return b.Cast(x, nn.TensorInt32)
		}
		if slices.Contains([]nn.OperandType{nn.TensorFloat16, nn.TensorInt32, nn.TensorQuant8Asymm}, b.typ) {
			return b.Cast(x, nn.TensorFloat32)
		}
		return b.Cast(x, b.typ)
	}),
	nn.OpQuantize: unary(func(b *builder, x uint32) uint32 {
		return b.Quantize(x, nn.TensorQuant8Asymm, layers.Quant{Scale: 0.5, Zero: 3})
	}),
	nn.OpRequantize: unary(func(b *builder, x uint32) uint32 {
		return b.Requantize(x, nn.TensorQuant8AsymmSigned, layers.Quant{Scale: 0.25, Zero: 3})
	}),
	nn.OpDequantize: func(b *builder) []uint32 {
		if b.typ == nn.TensorQuant8PerChannel {
			return one(b.Dequantize(b.PerChannel(nn.Dims{3, 7}, []float32{1, 2, 3}, 0, make([]byte, 21)), nn.TensorFloat32))
		}
		return one(b.Dequantize(b.x(3, 7), nn.TensorFloat32))
	},
	nn.OpBatchMatmul: func(b *builder) []uint32 {
		return one(b.BatchMatmul(b.x(2, 3, 7), b.x(2, 7, 5), false, false, layers.Quant{Scale: 8, Zero: 5}))
	},
	nn.OpFullyConnected: func(b *builder) []uint32 {
		return one(b.FullyConnected(b.x(64, 256), b.w(128, 256), b.bias(128), nn.ActNone, layers.Quant{Scale: 8, Zero: 5}))
	},
}
