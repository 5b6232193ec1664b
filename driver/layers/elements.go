package layers

import "github.com/nngpu/nngpu/driver/nn"

// FullyConnected is FULLY_CONNECTED of x, taken as rows of I elements, with weights [units, I] and a bias [units].
func (b *Builder) FullyConnected(x, weights, bias uint32, act nn.Activation, q ...Quant) uint32 {
	return b.op(nn.OpFullyConnected, q, x, weights, bias, act)
}

// BatchMatmul is the matrix product of x, […, m, k], and y, […, k, n], for each batch of their other dimensions. Where
// left or right is set, the last two dimensions of x or y are swapped.
func (b *Builder) BatchMatmul(x, y uint32, left, right bool, q ...Quant) uint32 {
	return b.op(nn.OpBatchMatmul, q, x, y, left, right)
}

// Add is x + y with broadcasting.
func (b *Builder) Add(x, y uint32, act nn.Activation, q ...Quant) uint32 {
	return b.op(nn.OpAdd, q, x, y, act)
}

// Sub is x - y with broadcasting.
func (b *Builder) Sub(x, y uint32, act nn.Activation, q ...Quant) uint32 {
	return b.op(nn.OpSub, q, x, y, act)
}

// Mul is x * y with broadcasting.
func (b *Builder) Mul(x, y uint32, act nn.Activation, q ...Quant) uint32 {
	return b.op(nn.OpMul, q, x, y, act)
}

// Div is x / y with broadcasting, rounded down for integers.
func (b *Builder) Div(x, y uint32, act nn.Activation) uint32 { return b.op(nn.OpDiv, nil, x, y, act) }

// Maximum is the larger of x and y, with broadcasting.
func (b *Builder) Maximum(x, y uint32, q ...Quant) uint32 { return b.op(nn.OpMaximum, q, x, y) }

// Minimum is the smaller of x and y, with broadcasting.
func (b *Builder) Minimum(x, y uint32, q ...Quant) uint32 { return b.op(nn.OpMinimum, q, x, y) }

// Pow is x to the power of y, with broadcasting.
func (b *Builder) Pow(x, y uint32) uint32 { return b.op(nn.OpPow, nil, x, y) }

// SquaredDifference is (x - y)^2 with broadcasting.
func (b *Builder) SquaredDifference(x, y uint32, q ...Quant) uint32 {
	return b.op(nn.OpSquaredDifference, q, x, y)
}

// Prelu is x where that is positive, else alpha * x, with broadcasting.
func (b *Builder) Prelu(x, alpha uint32, q ...Quant) uint32 { return b.op(nn.OpPrelu, q, x, alpha) }

// Equal is whether x = y, with broadcasting.
func (b *Builder) Equal(x, y uint32) uint32 { return b.op(nn.OpEqual, nil, x, y) }

// NotEqual is whether x and y differ, with broadcasting.
func (b *Builder) NotEqual(x, y uint32) uint32 { return b.op(nn.OpNotEqual, nil, x, y) }

// Less is whether x < y, with broadcasting.
func (b *Builder) Less(x, y uint32) uint32 { return b.op(nn.OpLess, nil, x, y) }

// LessEqual is whether x <= y, with broadcasting.
func (b *Builder) LessEqual(x, y uint32) uint32 { return b.op(nn.OpLessEqual, nil, x, y) }

// Greater is whether x > y, with broadcasting.
func (b *Builder) Greater(x, y uint32) uint32 { return b.op(nn.OpGreater, nil, x, y) }

// GreaterEqual is whether x >= y, with broadcasting.
func (b *Builder) GreaterEqual(x, y uint32) uint32 { return b.op(nn.OpGreaterEqual, nil, x, y) }

// LogicalAnd is whether x and y are true, with broadcasting.
func (b *Builder) LogicalAnd(x, y uint32) uint32 { return b.op(nn.OpLogicalAnd, nil, x, y) }

// LogicalOr is whether x or y is true, with broadcasting.
func (b *Builder) LogicalOr(x, y uint32) uint32 { return b.op(nn.OpLogicalOr, nil, x, y) }

// LogicalNot is whether x is false.
func (b *Builder) LogicalNot(x uint32) uint32 { return b.op(nn.OpLogicalNot, nil, x) }

// Elu is x where that is positive, else alpha * (e^x - 1).
func (b *Builder) Elu(x uint32, alpha float64) uint32 { return b.op(nn.OpElu, nil, x, alpha) }

// Relu is max(x, 0).
func (b *Builder) Relu(x uint32) uint32 { return b.op(nn.OpRelu, nil, x) }

// Relu1 is x within -1 and 1.
func (b *Builder) Relu1(x uint32) uint32 { return b.op(nn.OpRelu1, nil, x) }

// Relu6 is x within 0 and 6.
func (b *Builder) Relu6(x uint32) uint32 { return b.op(nn.OpRelu6, nil, x) }

// HardSwish is x * relu6(x + 3) / 6.
func (b *Builder) HardSwish(x uint32, q ...Quant) uint32 { return b.op(nn.OpHardSwish, q, x) }

// Tanh is the hyperbolic tangent of x.
func (b *Builder) Tanh(x uint32) uint32 { return b.op(nn.OpTanh, nil, x) }

// Logistic is 1 / (1 + e^-x).
func (b *Builder) Logistic(x uint32) uint32 { return b.op(nn.OpLogistic, nil, x) }

// Abs is |x|.
func (b *Builder) Abs(x uint32) uint32 { return b.op(nn.OpAbs, nil, x) }

// Neg is -x.
func (b *Builder) Neg(x uint32) uint32 { return b.op(nn.OpNeg, nil, x) }

// Exp is e^x.
func (b *Builder) Exp(x uint32) uint32 { return b.op(nn.OpExp, nil, x) }

// Log is the natural logarithm of x.
func (b *Builder) Log(x uint32) uint32 { return b.op(nn.OpLog, nil, x) }

// Sqrt is the square root of x.
func (b *Builder) Sqrt(x uint32) uint32 { return b.op(nn.OpSqrt, nil, x) }

// Rsqrt is 1 / sqrt(x).
func (b *Builder) Rsqrt(x uint32, q ...Quant) uint32 { return b.op(nn.OpRsqrt, q, x) }

// Sin is the sine of x.
func (b *Builder) Sin(x uint32) uint32 { return b.op(nn.OpSin, nil, x) }

// Floor is x rounded down.
func (b *Builder) Floor(x uint32) uint32 { return b.op(nn.OpFloor, nil, x) }

// Softmax is e^(beta*x) over the sum of these along the axis, which counts from the end where it is negative.
func (b *Builder) Softmax(x uint32, beta float64, axis int) uint32 {
	return b.op(nn.OpSoftmax, nil, x, beta, axis)
}

// LogSoftmax is the logarithm of Softmax.
func (b *Builder) LogSoftmax(x uint32, beta float64, axis int) uint32 {
	return b.op(nn.OpLogSoftmax, nil, x, beta, axis)
}

// L2Normalization divides x by its length along the axis, which counts from the end where it is negative.
func (b *Builder) L2Normalization(x uint32, axis int) uint32 {
	return b.op(nn.OpL2Normalization, nil, x, axis)
}

// LocalResponse are the parameters of LOCAL_RESPONSE_NORMALIZATION.
type LocalResponse struct {
	Radius            int // elements on each side
	Bias, Alpha, Beta float64
	Axis              int // counts from the end where it is negative
}

// LocalResponseNormalization divides x by (bias + alpha * s)^beta, where s sums up the squares within the radius.
func (b *Builder) LocalResponseNormalization(x uint32, p LocalResponse) uint32 {
	return b.op(nn.OpLocalResponseNormalization, nil, x, p.Radius, p.Bias, p.Alpha, p.Beta, p.Axis)
}

// InstanceNormalization brings each channel of each image of x [N, H, W, C], or [N, C, H, W] with nchw, to mean beta and
// standard deviation gamma; epsilon is added to the variance.
func (b *Builder) InstanceNormalization(x uint32, gamma, beta, epsilon float64, nchw bool) uint32 {
	return b.op(nn.OpInstanceNormalization, nil, x, gamma, beta, epsilon, nchw)
}

// Mean is the mean over the axes, which are dropped, or stay with size 1 where keep is set.
func (b *Builder) Mean(x uint32, axes []int, keep bool, q ...Quant) uint32 {
	stay := 0
	if keep {
		stay = 1
	}
	return b.op(nn.OpMean, q, x, b.vector(axes), stay)
}

// ReduceMax is the largest number over the axes, which are dropped, or stay with size 1 where keep is set.
func (b *Builder) ReduceMax(x uint32, axes []int, keep bool) uint32 {
	return b.op(nn.OpReduceMax, nil, x, b.vector(axes), keep)
}

// ReduceMin is the smallest number over the axes; see ReduceMax.
func (b *Builder) ReduceMin(x uint32, axes []int, keep bool) uint32 {
	return b.op(nn.OpReduceMin, nil, x, b.vector(axes), keep)
}

// ReduceProd is the product over the axes; see ReduceMax.
func (b *Builder) ReduceProd(x uint32, axes []int, keep bool) uint32 {
	return b.op(nn.OpReduceProd, nil, x, b.vector(axes), keep)
}

// ReduceSum is the sum over the axes; see ReduceMax.
func (b *Builder) ReduceSum(x uint32, axes []int, keep bool) uint32 {
	return b.op(nn.OpReduceSum, nil, x, b.vector(axes), keep)
}

// ReduceAll is whether everything along the axes is true; see ReduceMax.
func (b *Builder) ReduceAll(x uint32, axes []int, keep bool) uint32 {
	return b.op(nn.OpReduceAll, nil, x, b.vector(axes), keep)
}

// ReduceAny is whether anything along the axes is true; see ReduceMax.
func (b *Builder) ReduceAny(x uint32, axes []int, keep bool) uint32 {
	return b.op(nn.OpReduceAny, nil, x, b.vector(axes), keep)
}

// ArgMax is the place of the largest number along the axis, which is dropped; a negative one counts from the end.
func (b *Builder) ArgMax(x uint32, axis int) uint32 { return b.op(nn.OpArgmax, nil, x, axis) }

// ArgMin is the place of the smallest number along the axis; see ArgMax.
func (b *Builder) ArgMin(x uint32, axis int) uint32 { return b.op(nn.OpArgmin, nil, x, axis) }

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
