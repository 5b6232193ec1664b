package layers

import "github.com/nngpu/nngpu/driver/nn"

// FullyConnected is FULLY_CONNECTED of x, taken as rows of I elements, with weights [units, I] and a bias [units].
func (b *Builder) FullyConnected(x, weights, bias uint32, act nn.Activation, q ...Quant) uint32 {
	return b.apply(nn.OpFullyConnected, nil, b.list(x, weights, bias, act), q)
}

// Add is x + y with broadcasting.
func (b *Builder) Add(x, y uint32, act nn.Activation, q ...Quant) uint32 {
	return b.apply(nn.OpAdd, nil, b.list(x, y, act), q)
}

// Sub is x - y with broadcasting.
func (b *Builder) Sub(x, y uint32, act nn.Activation, q ...Quant) uint32 {
	return b.apply(nn.OpSub, nil, b.list(x, y, act), q)
}

// Mul is x * y with broadcasting.
func (b *Builder) Mul(x, y uint32, act nn.Activation, q ...Quant) uint32 {
	return b.apply(nn.OpMul, nil, b.list(x, y, act), q)
}

// Div is x / y with broadcasting, rounded down for integers.
func (b *Builder) Div(x, y uint32, act nn.Activation) uint32 {
	return b.apply(nn.OpDiv, nil, b.list(x, y, act), nil)
}

// Maximum is the larger of x and y, with broadcasting.
func (b *Builder) Maximum(x, y uint32, q ...Quant) uint32 {
	return b.apply(nn.OpMaximum, nil, []uint32{x, y}, q)
}

// Minimum is the smaller of x and y, with broadcasting.
func (b *Builder) Minimum(x, y uint32, q ...Quant) uint32 {
	return b.apply(nn.OpMinimum, nil, []uint32{x, y}, q)
}

// Pow is x to the power of y, with broadcasting.
func (b *Builder) Pow(x, y uint32) uint32 { return b.apply(nn.OpPow, nil, []uint32{x, y}, nil) }

// SquaredDifference is (x - y)^2 with broadcasting.
func (b *Builder) SquaredDifference(x, y uint32, q ...Quant) uint32 {
	return b.apply(nn.OpSquaredDifference, nil, []uint32{x, y}, q)
}

// Prelu is x where that is positive, else alpha * x, with broadcasting.
func (b *Builder) Prelu(x, alpha uint32, q ...Quant) uint32 {
	return b.apply(nn.OpPrelu, nil, []uint32{x, alpha}, q)
}

// Equal is whether x = y, with broadcasting.
func (b *Builder) Equal(x, y uint32) uint32 { return b.compare(nn.OpEqual, x, y) }

// NotEqual is whether x and y differ, with broadcasting.
func (b *Builder) NotEqual(x, y uint32) uint32 { return b.compare(nn.OpNotEqual, x, y) }

// Less is whether x < y, with broadcasting.
func (b *Builder) Less(x, y uint32) uint32 { return b.compare(nn.OpLess, x, y) }

// LessEqual is whether x <= y, with broadcasting.
func (b *Builder) LessEqual(x, y uint32) uint32 { return b.compare(nn.OpLessEqual, x, y) }

// Greater is whether x > y, with broadcasting.
func (b *Builder) Greater(x, y uint32) uint32 { return b.compare(nn.OpGreater, x, y) }

// GreaterEqual is whether x >= y, with broadcasting.
func (b *Builder) GreaterEqual(x, y uint32) uint32 { return b.compare(nn.OpGreaterEqual, x, y) }

// compare adds a comparison, whose result is of type TENSOR_BOOL8.
func (b *Builder) compare(t nn.OperationType, x, y uint32) uint32 {
	return b.apply(t, nil, []uint32{x, y}, nil)
}

// LogicalAnd is whether x and y are true, with broadcasting.
func (b *Builder) LogicalAnd(x, y uint32) uint32 { return b.compare(nn.OpLogicalAnd, x, y) }

// LogicalOr is whether x or y is true, with broadcasting.
func (b *Builder) LogicalOr(x, y uint32) uint32 { return b.compare(nn.OpLogicalOr, x, y) }

// LogicalNot is whether x is false.
func (b *Builder) LogicalNot(x uint32) uint32 { return b.apply(nn.OpLogicalNot, nil, []uint32{x}, nil) }

// Elu is x where that is positive, else alpha * (e^x - 1).
func (b *Builder) Elu(x uint32, alpha float64) uint32 {
	return b.apply(nn.OpElu, nil, b.list(x, alpha), nil)
}

// unary adds an operation whose only operand is x.
func (b *Builder) unary(t nn.OperationType, x uint32, q ...Quant) uint32 {
	return b.apply(t, nil, []uint32{x}, q)
}

// Relu is max(x, 0).
func (b *Builder) Relu(x uint32) uint32 { return b.unary(nn.OpRelu, x) }

// Relu1 is x within -1 and 1.
func (b *Builder) Relu1(x uint32) uint32 { return b.unary(nn.OpRelu1, x) }

// Relu6 is x within 0 and 6.
func (b *Builder) Relu6(x uint32) uint32 { return b.unary(nn.OpRelu6, x) }

// HardSwish is x * relu6(x + 3) / 6.
func (b *Builder) HardSwish(x uint32, q ...Quant) uint32 { return b.unary(nn.OpHardSwish, x, q...) }

// Tanh is the hyperbolic tangent of x.
func (b *Builder) Tanh(x uint32) uint32 { return b.unary(nn.OpTanh, x) }

// Logistic is 1 / (1 + e^-x).
func (b *Builder) Logistic(x uint32) uint32 { return b.unary(nn.OpLogistic, x) }

// Abs is |x|.
func (b *Builder) Abs(x uint32) uint32 { return b.unary(nn.OpAbs, x) }

// Neg is -x.
func (b *Builder) Neg(x uint32) uint32 { return b.unary(nn.OpNeg, x) }

// Exp is e^x.
func (b *Builder) Exp(x uint32) uint32 { return b.unary(nn.OpExp, x) }

// Log is the natural logarithm of x.
func (b *Builder) Log(x uint32) uint32 { return b.unary(nn.OpLog, x) }

// Sqrt is the square root of x.
func (b *Builder) Sqrt(x uint32) uint32 { return b.unary(nn.OpSqrt, x) }

// Rsqrt is 1 / sqrt(x).
func (b *Builder) Rsqrt(x uint32, q ...Quant) uint32 { return b.unary(nn.OpRsqrt, x, q...) }

// Sin is the sine of x.
func (b *Builder) Sin(x uint32) uint32 { return b.unary(nn.OpSin, x) }

// Floor is x rounded down.
func (b *Builder) Floor(x uint32) uint32 { return b.unary(nn.OpFloor, x) }

// Softmax is e^(beta*x) over the sum of these along the axis, which counts from the end where it is negative.
func (b *Builder) Softmax(x uint32, beta float64, axis int) uint32 {
	return b.apply(nn.OpSoftmax, nil, b.list(x, beta, axis), nil)
}

// LogSoftmax is the logarithm of Softmax.
func (b *Builder) LogSoftmax(x uint32, beta float64, axis int) uint32 {
	return b.apply(nn.OpLogSoftmax, nil, b.list(x, beta, axis), nil)
}

// Mean is the mean over the axes, which are dropped, or stay with size 1 where keep is set.
func (b *Builder) Mean(x uint32, axes []int, keep bool, q ...Quant) uint32 {
	stay := 0
	if keep {
		stay = 1
	}
	return b.apply(nn.OpMean, nil, b.list(x, b.vector(axes), stay), q)
}

// TopK are the k largest numbers along the last dimension of x, the largest first, and their indices.
func (b *Builder) TopK(x uint32, k int) (values, indices uint32) {
	list := b.applyAll(nn.OpTopkV2, 2, nil, b.list(x, k), nil)
	return list[0], list[1]
}

// Cast converts the numbers of x to type t; those of quantised types as they are stored.
func (b *Builder) Cast(x uint32, t nn.OperandType, q ...Quant) uint32 {
	return b.apply(nn.OpCast, &t, []uint32{x}, q)
}

// Quantize stores real numbers x in the 8-bit type t.
func (b *Builder) Quantize(x uint32, t nn.OperandType, q Quant) uint32 {
	return b.apply(nn.OpQuantize, &t, []uint32{x}, []Quant{q})
}

// Requantize stores the numbers of an 8-bit x in the 8-bit type t.
func (b *Builder) Requantize(x uint32, t nn.OperandType, q Quant) uint32 {
	return b.apply(nn.OpRequantize, &t, []uint32{x}, []Quant{q})
}

// Dequantize gives the real numbers of x in type t, TENSOR_FLOAT32 or TENSOR_FLOAT16.
func (b *Builder) Dequantize(x uint32, t nn.OperandType) uint32 {
	return b.apply(nn.OpDequantize, &t, []uint32{x}, nil)
}
