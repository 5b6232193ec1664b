package tflite

import "github.com/nngpu/nngpu/driver/nn"

// builtinCustom is the code of operators that are named by a string.
const builtinCustom = 32

// builtin says how one operator is translated.
type builtin struct {
	// version is the newest whose meaning is known. Later versions of an operator bring new element types
	// and options, which are refused one by one too.
	version int
	// options is the type of its options in the union BuiltinOptions, fields the number of their slots.
	options int8
	fields  int
	// maxInputs 0 means any number.
	minInputs, maxInputs int
	translate            func(*call) error
}

// builtins are the operators that can be imported, by their code in the schema's BuiltinOperator. Versions
// are those of TensorFlow Lite's kernel registrations.
var builtins = map[int32]builtin{
	0:   {5, 11, 2, 2, 2, fusedBinary(nn.OpAdd)},
	1:   {3, 5, 6, 1, 1, pool(nn.OpAveragePool2D)},
	2:   {4, 10, 2, 1, 0, concatenation},
	3:   {8, 1, 7, 2, 3, conv2D},
	4:   {7, 2, 7, 2, 3, depthwiseConv2D},
	6:   {6, 38, 0, 1, 1, dequantize},
	8:   {1, 0, 0, 1, 1, unary(nn.OpFloor)},
	9:   {13, 8, 5, 2, 3, fullyConnected},
	12:  {1, 5, 6, 1, 1, pool(nn.OpL2Pool2D)},
	14:  {3, 0, 0, 1, 1, unary(nn.OpLogistic)},
	17:  {3, 5, 6, 1, 1, pool(nn.OpMaxPool2D)},
	18:  {7, 21, 1, 2, 2, fusedBinary(nn.OpMul)},
	19:  {3, 0, 0, 1, 1, relu(nn.OpRelu)},
	20:  {1, 0, 0, 1, 1, relu(nn.OpRelu1)},
	21:  {3, 0, 0, 1, 1, relu(nn.OpRelu6)},
	22:  {1, 17, 1, 1, 2, reshape},
	23:  {4, 15, 4, 2, 2, resizeBilinear},
	25:  {3, 9, 1, 1, 1, softmax},
	28:  {3, 0, 0, 1, 1, unary(nn.OpTanh)},
	34:  {4, 22, 0, 2, 2, pad},
	39:  {6, 26, 0, 2, 2, transpose},
	40:  {3, 27, 1, 2, 2, mean},
	41:  {5, 28, 2, 2, 2, fusedBinary(nn.OpSub)},
	42:  {2, 29, 1, 2, 2, div},
	43:  {2, 30, 1, 1, 1, squeeze},
	47:  {2, 33, 0, 1, 1, unary(nn.OpExp)},
	50:  {2, 36, 0, 1, 1, logSoftmax},
	53:  {7, 37, 2, 1, 1, unary(nn.OpCast)},
	54:  {1, 0, 0, 2, 2, pairwise(nn.OpPrelu)},
	55:  {4, 39, 0, 2, 2, extremum(nn.OpMaximum)},
	57:  {4, 39, 0, 2, 2, extremum(nn.OpMinimum)},
	59:  {1, 42, 0, 1, 1, unary(nn.OpNeg)},
	60:  {4, 43, 0, 2, 3, padV2},
	66:  {1, 0, 0, 1, 1, unary(nn.OpSin)},
	70:  {1, 52, 0, 2, 2, expandDims},
	73:  {2, 0, 0, 1, 1, unary(nn.OpLog)},
	75:  {1, 0, 0, 1, 1, unary(nn.OpSqrt)},
	76:  {3, 0, 0, 1, 1, unary(nn.OpRsqrt)},
	78:  {1, 56, 0, 2, 2, pairwise(nn.OpPow)},
	92:  {1, 66, 0, 1, 1, square},
	97:  {4, 74, 2, 2, 2, resizeNearest},
	98:  {2, 75, 1, 1, 1, leakyRelu},
	99:  {2, 76, 0, 2, 2, pairwise(nn.OpSquaredDifference)},
	100: {3, 77, 1, 2, 2, mirrorPad},
	101: {5, 78, 0, 1, 1, unary(nn.OpAbs)},
	111: {1, 0, 0, 1, 1, elu},
	114: {3, 89, 0, 1, 1, quantize},
	117: {1, 91, 0, 1, 1, unary(nn.OpHardSwish)},
}
