package tflite

import (
	"math"

	"github.com/nngpu/nngpu/driver/nn"
)

// builtinCustom is the code of operators that are named by a string.
const builtinCustom = 32

// builtinReshape is the code of RESHAPE.
const builtinReshape = 22

// builtin says how one operator is translated.
type builtin struct {
	// version is the newest whose meaning is known. Later versions of an operator bring new element types and options,
	// which are also refused one by one.
	version int
	// options is the type of its options in the union BuiltinOptions, fields the number of their slots.
	options   int8
	fields    int
	inputs    counts
	outputs   counts // the zero value: one
	translate func(*call) error
	// long operators take INT64 tensors as TENSOR_INT32: they move or compare the numbers, or find places and sizes.
	long bool
	// moves: elements are only moved, so that booleans can be as well.
	moves bool
}

// counts is how many inputs or outputs an operator has at least and at most.
type counts struct{ min, max int }

var one, two = counts{1, 1}, counts{2, 2}

// builtins are the operators that can be imported, by their code in the schema's BuiltinOperator. Versions
// are those of TensorFlow Lite's kernel registrations.
var builtins = map[int32]builtin{
	0:   {version: 5, options: 11, fields: 2, inputs: two, translate: fusedBinary(nn.OpAdd)},
	1:   {version: 3, options: 5, fields: 6, inputs: one, translate: pool(nn.OpAveragePool2D)},
	2:   {version: 4, options: 10, fields: 2, inputs: counts{1, math.MaxInt}, translate: concatenation, moves: true},
	3:   {version: 8, options: 1, fields: 7, inputs: counts{2, 3}, translate: conv2D},
	4:   {version: 7, options: 2, fields: 7, inputs: counts{2, 3}, translate: depthwiseConv2D},
	5:   {version: 2, options: 94, fields: 1, inputs: one, translate: blocks(nn.OpDepthToSpace)},
	6:   {version: 6, options: 38, inputs: one, translate: dequantize},
	7:   {version: 3, inputs: two, translate: embeddingLookup},
	8:   {version: 1, inputs: one, translate: unary(nn.OpFloor)},
	9:   {version: 13, options: 8, fields: 5, inputs: counts{2, 3}, translate: fullyConnected},
	10:  {version: 1, inputs: counts{3, 3}, outputs: two, translate: hashtableLookup},
	11:  {version: 2, options: 12, fields: 1, inputs: one, translate: l2Normalization},
	12:  {version: 1, options: 5, fields: 6, inputs: one, translate: pool(nn.OpL2Pool2D)},
	13:  {version: 1, options: 13, fields: 4, inputs: one, translate: localResponse},
	14:  {version: 3, inputs: one, translate: unary(nn.OpLogistic)},
	15:  {version: 1, options: 4, fields: 1, inputs: counts{2, 3}, translate: lshProjection},
	16:  {version: 4, options: 14, fields: 5, inputs: counts{5, 24}, outputs: counts{1, 4}, translate: lstm},
	17:  {version: 3, options: 5, fields: 6, inputs: one, translate: pool(nn.OpMaxPool2D)},
	18:  {version: 7, options: 21, fields: 1, inputs: two, translate: fusedBinary(nn.OpMul)},
	19:  {version: 3, inputs: one, translate: relu(nn.OpRelu)},
	20:  {version: 1, inputs: one, translate: relu(nn.OpRelu1)},
	21:  {version: 3, inputs: one, translate: relu(nn.OpRelu6)},
	22:  {version: 1, options: 17, fields: 1, inputs: counts{1, 2}, translate: reshape, long: true, moves: true},
	23:  {version: 4, options: 15, fields: 4, inputs: two, translate: resizeBilinear},
	24:  {version: 3, options: 7, fields: 2, inputs: counts{5, 5}, translate: rnn},
	25:  {version: 3, options: 9, fields: 1, inputs: one, translate: softmax},
	26:  {version: 2, options: 19, fields: 1, inputs: one, translate: blocks(nn.OpSpaceToDepth)},
	27:  {version: 4, options: 6, fields: 3, inputs: counts{5, 5}, translate: svdf},
	28:  {version: 3, inputs: one, translate: unary(nn.OpTanh)},
	34:  {version: 4, options: 22, inputs: two, translate: pad},
	35:  {version: 3, options: 31, fields: 3, inputs: counts{5, 5}, translate: sequenceRNN},
	36:  {version: 7, options: 23, fields: 2, inputs: two, translate: gather, long: true, moves: true},
	37:  {version: 3, options: 24, inputs: counts{3, 3}, translate: batchToSpace},
	38:  {version: 3, options: 25, inputs: counts{3, 3}, translate: spaceToBatch},
	39:  {version: 6, options: 26, inputs: two, translate: transpose, long: true, moves: true},
	40:  {version: 3, options: 27, fields: 1, inputs: two, translate: mean},
	41:  {version: 5, options: 28, fields: 2, inputs: two, translate: fusedBinary(nn.OpSub)},
	42:  {version: 2, options: 29, fields: 1, inputs: two, translate: div},
	43:  {version: 2, options: 30, fields: 1, inputs: one, translate: squeeze, long: true, moves: true},
	44:  {version: 4, options: 71, fields: 6, inputs: counts{20, 24}, translate: sequenceLSTM},
	45:  {version: 8, options: 32, fields: 6, inputs: counts{4, 4}, translate: stridedSlice, long: true, moves: true},
	46:  {version: 3, options: 70, fields: 4, inputs: counts{12, 12}, outputs: counts{1, 2}, translate: bidirectionalRNN},
	47:  {version: 2, options: 33, inputs: one, translate: unary(nn.OpExp)},
	48:  {version: 3, options: 34, inputs: two, outputs: two, translate: topK},
	49:  {version: 4, options: 35, fields: 1, inputs: two, outputs: counts{1, math.MaxInt}, translate: split, long: true, moves: true},
	50:  {version: 2, options: 36, inputs: one, translate: logSoftmax},
	52:  {version: 3, options: 69, fields: 6, inputs: counts{48, 48}, outputs: counts{1, 2}, translate: bidirectionalLSTM},
	53:  {version: 7, options: 37, fields: 2, inputs: one, translate: cast, long: true},
	54:  {version: 1, inputs: two, translate: pairwise(nn.OpPrelu)},
	55:  {version: 4, options: 39, inputs: two, translate: extremum(nn.OpMaximum), long: true},
	56:  {version: 3, options: 40, fields: 1, inputs: two, translate: arg(nn.OpArgmax), long: true},
	57:  {version: 4, options: 39, inputs: two, translate: extremum(nn.OpMinimum), long: true},
	58:  {version: 3, options: 41, inputs: two, translate: comparison(nn.OpLess), long: true},
	59:  {version: 1, options: 42, inputs: one, translate: unary(nn.OpNeg)},
	60:  {version: 4, options: 43, inputs: counts{2, 3}, translate: padV2},
	61:  {version: 2, options: 44, inputs: two, translate: comparison(nn.OpGreater), long: true},
	62:  {version: 3, options: 45, inputs: two, translate: comparison(nn.OpGreaterEqual), long: true},
	63:  {version: 2, options: 46, inputs: two, translate: comparison(nn.OpLessEqual), long: true},
	64:  {version: 4, options: 47, inputs: counts{3, 3}, translate: selectRows, long: true},
	65:  {version: 5, options: 48, inputs: counts{3, 3}, translate: slice, long: true, moves: true},
	66:  {version: 1, inputs: one, translate: unary(nn.OpSin)},
	67:  {version: 5, options: 49, fields: 5, inputs: counts{3, 4}, translate: transposeConv},
	69:  {version: 3, options: 51, inputs: two, translate: tile, long: true, moves: true},
	70:  {version: 1, options: 52, inputs: two, translate: expandDims, long: true, moves: true},
	71:  {version: 4, options: 53, inputs: two, translate: comparison(nn.OpEqual), long: true},
	72:  {version: 3, options: 54, inputs: two, translate: comparison(nn.OpNotEqual), long: true},
	73:  {version: 2, inputs: one, translate: unary(nn.OpLog)},
	74:  {version: 2, options: 27, fields: 1, inputs: two, translate: reduce(nn.OpReduceSum)},
	75:  {version: 1, inputs: one, translate: unary(nn.OpSqrt)},
	76:  {version: 3, inputs: one, translate: unary(nn.OpRsqrt)},
	77:  {version: 1, options: 55, fields: 1, inputs: one, translate: shapeOf, long: true},
	78:  {version: 1, options: 56, inputs: two, translate: pairwise(nn.OpPow)},
	79:  {version: 3, options: 57, fields: 1, inputs: two, translate: arg(nn.OpArgmin), long: true},
	81:  {version: 2, options: 27, fields: 1, inputs: two, translate: reduce(nn.OpReduceProd)},
	82:  {version: 3, options: 27, fields: 1, inputs: two, translate: reduce(nn.OpReduceMax)},
	83:  {version: 4, options: 59, fields: 2, inputs: counts{1, math.MaxInt}, translate: pack, long: true, moves: true},
	84:  {version: 1, options: 60, inputs: two, translate: pairwise(nn.OpLogicalOr)},
	85:  {version: 1, options: 61, fields: 1, inputs: counts{4, 4}, translate: oneHot, long: true},
	86:  {version: 1, options: 62, inputs: two, translate: pairwise(nn.OpLogicalAnd)},
	87:  {version: 1, options: 63, inputs: one, translate: unary(nn.OpLogicalNot)},
	88:  {version: 4, options: 64, fields: 2, inputs: one, outputs: counts{1, math.MaxInt}, translate: unpack, long: true, moves: true},
	89:  {version: 3, options: 27, fields: 1, inputs: two, translate: reduce(nn.OpReduceMin)},
	90:  {version: 2, options: 65, inputs: two, translate: floorDivision},
	91:  {version: 1, options: 27, fields: 1, inputs: two, translate: reduce(nn.OpReduceAny)},
	92:  {version: 1, options: 66, inputs: one, translate: square},
	93:  {version: 1, options: 67, inputs: one, translate: zerosLike},
	94:  {version: 3, options: 68, inputs: two, translate: fill, long: true},
	95:  {version: 2, options: 72, inputs: two, translate: floorMod},
	96:  {version: 2, options: 73, inputs: counts{3, 3}, translate: rangeOf, long: true},
	97:  {version: 4, options: 74, fields: 2, inputs: two, translate: resizeNearest},
	98:  {version: 2, options: 75, fields: 1, inputs: one, translate: leakyRelu},
	99:  {version: 2, options: 76, inputs: two, translate: pairwise(nn.OpSquaredDifference)},
	100: {version: 3, options: 77, fields: 1, inputs: two, translate: mirrorPad},
	101: {version: 5, options: 78, inputs: one, translate: unary(nn.OpAbs)},
	102: {version: 2, options: 79, fields: 1, inputs: counts{3, 3}, outputs: counts{1, math.MaxInt}, translate: splitV, long: true, moves: true},
	104: {version: 1, inputs: one, translate: ceil},
	105: {version: 3, options: 81, inputs: two, translate: reverse, long: true, moves: true},
	106: {version: 1, options: 82, inputs: counts{1, math.MaxInt}, translate: addN},
	107: {version: 5, options: 83, inputs: two, translate: gatherND, long: true, moves: true},
	108: {version: 1, options: 84, inputs: one, translate: cosine},
	110: {version: 1, options: 86, inputs: one, translate: rank, long: true},
	111: {version: 1, inputs: one, translate: elu},
	114: {version: 3, options: 89, inputs: one, translate: quantize},
	116: {version: 1, inputs: one, translate: round},
	117: {version: 1, options: 91, inputs: one, translate: unary(nn.OpHardSwish)},
	123: {version: 2, options: 98, inputs: counts{3, 3}, translate: selectV2, long: true},
	126: {version: 4, options: 101, fields: 3, inputs: two, translate: batchMatmul},
	130: {version: 3, options: 104, inputs: two, translate: broadcastTo, long: true, moves: true},
	140: {version: 1, options: 27, fields: 1, inputs: two, translate: reduce(nn.OpReduceAll)},
	149: {version: 1, options: 114, fields: 2, inputs: two, translate: multinomial, long: true},
	150: {version: 2, options: 116, fields: 1, inputs: one, translate: gelu},
	152: {version: 1, inputs: one, translate: relu0To1},
	158: {version: 1, options: 123, inputs: one, translate: sign},
}

// find returns how the operator of a code is translated; ok is false where it cannot be.
func (c operatorCode) find() (b builtin, ok bool) {
	if c.builtin == builtinCustom {
		b, ok = customs[c.custom]
		return b, ok
	}
	b, ok = builtins[c.builtin]
	return b, ok
}
