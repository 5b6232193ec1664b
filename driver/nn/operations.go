package nn

// OperationType names an operation; values are the NN HAL's. A value above 0xFFFF is an operation of
// this driver's own extension. docs/operators.md has the types, shapes and limits of operands.
type OperationType int32

// Operations of NNAPI feature levels 1 to 8, and those of the driver's extension. Comments of those that the driver
// knows list the inputs in order: the list may end before each [, and … repeats what is before it. The comment behind a
// number is the operation's name.
const (
	// Inputs: first input, second input, activation.
	OpAdd OperationType = 0 // ADD
	// Inputs, implicit padding: input, padding scheme, stride width, stride height, window width, window height,
	// activation, [layout].
	// Inputs, explicit padding: input, left padding, right padding, top padding, bottom padding, stride width, stride
	// height, window width, window height, activation, [layout].
	OpAveragePool2D OperationType = 1 // AVERAGE_POOL_2D
	// Inputs: input…, axis.
	OpConcatenation OperationType = 2 // CONCATENATION
	// Inputs, implicit padding: input, filter, bias, padding scheme, stride width, stride height, activation,
	// [layout, [dilation width, dilation height]].
	// Inputs, explicit padding: input, filter, bias, left padding, right padding, top padding, bottom padding, stride
	// width, stride height, activation, [layout, [dilation width, dilation height]].
	OpConv2D OperationType = 3 // CONV_2D
	// Inputs, implicit padding: input, filter, bias, padding scheme, stride width, stride height, depth multiplier,
	// activation, [layout, [dilation width, dilation height]].
	// Inputs, explicit padding: input, filter, bias, left padding, right padding, top padding, bottom padding, stride
	// width, stride height, depth multiplier, activation, [layout, [dilation width, dilation height]].
	OpDepthwiseConv2D OperationType = 4 // DEPTHWISE_CONV_2D
	// Inputs: input, block size, [layout].
	OpDepthToSpace OperationType = 5 // DEPTH_TO_SPACE
	// Inputs: input.
	OpDequantize OperationType = 6 // DEQUANTIZE
	// Inputs: lookups, values.
	OpEmbeddingLookup OperationType = 7 // EMBEDDING_LOOKUP
	// Inputs: input.
	OpFloor OperationType = 8 // FLOOR
	// Inputs: input, weights, bias, activation.
	OpFullyConnected OperationType = 9 // FULLY_CONNECTED
	// Inputs: lookups, keys, values. Outputs: result, hits.
	OpHashtableLookup OperationType = 10 // HASHTABLE_LOOKUP
	// Inputs: input, [axis].
	OpL2Normalization OperationType = 11 // L2_NORMALIZATION
	// Inputs, implicit padding: input, padding scheme, stride width, stride height, window width, window height,
	// activation, [layout].
	// Inputs, explicit padding: input, left padding, right padding, top padding, bottom padding, stride width, stride
	// height, window width, window height, activation, [layout].
	OpL2Pool2D OperationType = 12 // L2_POOL_2D
	// Inputs: input, radius, bias, alpha, beta, [axis].
	OpLocalResponseNormalization OperationType = 13 // LOCAL_RESPONSE_NORMALIZATION
	// Inputs: input.
	OpLogistic OperationType = 14 // LOGISTIC
	// Inputs: hash, input, weights, type.
	OpLshProjection OperationType = 15 // LSH_PROJECTION
	// Inputs: input, input-to-input weights, input-to-forget weights, input-to-cell weights, input-to-output weights,
	// recurrent-to-input weights, recurrent-to-forget weights, recurrent-to-cell weights, recurrent-to-output
	// weights, cell-to-input weights, cell-to-forget weights, cell-to-output weights, input gate bias, forget gate
	// bias, cell gate bias, output gate bias, projection weights, projection bias, output state in, cell state in,
	// activation, cell clip, projection clip, [input layer norm weights, forget layer norm weights, cell layer norm
	// weights, output layer norm weights]. Outputs: scratch, output state out, cell state out, result.
	OpLstm OperationType = 16 // LSTM
	// Inputs, implicit padding: input, padding scheme, stride width, stride height, window width, window height,
	// activation, [layout].
	// Inputs, explicit padding: input, left padding, right padding, top padding, bottom padding, stride width, stride
	// height, window width, window height, activation, [layout].
	OpMaxPool2D OperationType = 17 // MAX_POOL_2D
	// Inputs: first input, second input, activation.
	OpMul OperationType = 18 // MUL
	// Inputs: input.
	OpRelu OperationType = 19 // RELU
	// Inputs: input.
	OpRelu1 OperationType = 20 // RELU1
	// Inputs: input.
	OpRelu6 OperationType = 21 // RELU6
	// Inputs: input, shape.
	OpReshape OperationType = 22 // RESHAPE
	// Inputs, sizes: input, output width, output height, [layout, [align corners, [half pixel centers]]].
	// Inputs, factors: input, width factor, height factor, [layout, [align corners, [half pixel centers]]].
	OpResizeBilinear OperationType = 23 // RESIZE_BILINEAR
	// Inputs: input, weights, recurrent weights, bias, hidden state in, activation. Outputs: hidden state out, result.
	OpRnn OperationType = 24 // RNN
	// Inputs: input, beta, [axis].
	OpSoftmax OperationType = 25 // SOFTMAX
	// Inputs: input, block size, [layout].
	OpSpaceToDepth OperationType = 26 // SPACE_TO_DEPTH
	// Inputs: input, feature weights, time weights, bias, state in, rank, activation. Outputs: state out, result.
	OpSvdf OperationType = 27 // SVDF
	// Inputs: input.
	OpTanh OperationType = 28 // TANH
	// Inputs: input, block, [layout].
	OpBatchToSpaceNd OperationType = 29 // BATCH_TO_SPACE_ND
	// Inputs: first input, second input, activation.
	OpDiv OperationType = 30 // DIV
	// Inputs: input, axes, keep dims.
	OpMean OperationType = 31 // MEAN
	// Inputs: input, paddings.
	OpPad OperationType = 32 // PAD
	// Inputs: input, block, paddings, [layout].
	OpSpaceToBatchNd OperationType = 33 // SPACE_TO_BATCH_ND
	// Inputs: input, axes.
	OpSqueeze OperationType = 34 // SQUEEZE
	// Inputs: input, begin, end, strides, begin mask, end mask, shrink mask.
	OpStridedSlice OperationType = 35 // STRIDED_SLICE
	// Inputs: first input, second input, activation.
	OpSub OperationType = 36 // SUB
	// Inputs: input, permutation.
	OpTranspose OperationType = 37 // TRANSPOSE
	// Inputs: input.
	OpAbs OperationType = 38 // ABS
	// Inputs: input, axis.
	OpArgmax OperationType = 39 // ARGMAX
	// Inputs: input, axis.
	OpArgmin OperationType = 40 // ARGMIN
	// Inputs: input, deltas, images, image sizes.
	OpAxisAlignedBboxTransform OperationType = 41 // AXIS_ALIGNED_BBOX_TRANSFORM
	// Inputs: input, forward input-to-input weights, forward input-to-forget weights, forward input-to-cell weights,
	// forward input-to-output weights, forward recurrent-to-input weights, forward recurrent-to-forget weights,
	// forward recurrent-to-cell weights, forward recurrent-to-output weights, forward cell-to-input weights, forward
	// cell-to-forget weights, forward cell-to-output weights, forward input gate bias, forward forget gate bias,
	// forward cell gate bias, forward output gate bias, forward projection weights, forward projection bias, backward
	// input-to-input weights, backward input-to-forget weights, backward input-to-cell weights, backward
	// input-to-output weights, backward recurrent-to-input weights, backward recurrent-to-forget weights, backward
	// recurrent-to-cell weights, backward recurrent-to-output weights, backward cell-to-input weights, backward
	// cell-to-forget weights, backward cell-to-output weights, backward input gate bias, backward forget gate bias,
	// backward cell gate bias, backward output gate bias, backward projection weights, backward projection bias,
	// forward output state in, forward cell state in, backward output state in, backward cell state in, auxiliary
	// input, forward auxiliary-to-input weights, forward auxiliary-to-forget weights, forward auxiliary-to-cell
	// weights, forward auxiliary-to-output weights, backward auxiliary-to-input weights, backward auxiliary-to-forget
	// weights, backward auxiliary-to-cell weights, backward auxiliary-to-output weights, activation, cell clip,
	// projection clip, merge outputs, time major, forward input layer norm weights, forward forget layer norm
	// weights, forward cell layer norm weights, forward output layer norm weights, backward input layer norm weights,
	// backward forget layer norm weights, backward cell layer norm weights, backward output layer norm weights.
	// Outputs: forward or merged result, [backward result, or forward output state out where merged, [forward output
	// state out, or forward cell state out where merged, forward cell state out, or backward output state out where
	// merged, backward output state out, or backward cell state out where merged, [backward cell state out]]].
	OpBidirectionalSequenceLstm OperationType = 42 // BIDIRECTIONAL_SEQUENCE_LSTM
	// Inputs: input, forward weights, forward recurrent weights, forward bias, forward hidden state in, backward
	// weights, backward recurrent weights, backward bias, backward hidden state in, auxiliary input, forward
	// auxiliary weights, backward auxiliary weights, activation, time major, merge outputs. Outputs: forward or
	// merged result, [backward result, or forward state out where merged, [forward state out, or backward state out
	// where merged, [backward state out]]].
	OpBidirectionalSequenceRnn OperationType = 43 // BIDIRECTIONAL_SEQUENCE_RNN
	// Inputs: scores, boxes, images, score threshold, limit, kernel, overlap threshold, sigma, lowered threshold.
	// Outputs: scores, boxes, classes, images.
	OpBoxWithNmsLimit OperationType = 44 // BOX_WITH_NMS_LIMIT
	// Inputs: input.
	OpCast OperationType = 45 // CAST
	// Inputs: input, groups, axis.
	OpChannelShuffle OperationType = 46 // CHANNEL_SHUFFLE
	// Inputs: input, deltas, anchors, y scale, x scale, height scale, width scale, regular, detections, classes per
	// detection, detections per class, score threshold, overlap threshold, background. Outputs: scores, boxes,
	// classes, counts.
	OpDetectionPostprocessing OperationType = 47 // DETECTION_POSTPROCESSING
	// Inputs: first input, second input.
	OpEqual OperationType = 48 // EQUAL
	// Inputs: input.
	OpExp OperationType = 49 // EXP
	// Inputs: input, axis.
	OpExpandDims OperationType = 50 // EXPAND_DIMS
	// Inputs: input, axis, indices.
	OpGather OperationType = 51 // GATHER
	// Inputs: scores, deltas, anchors, image sizes, height ratio, width ratio, most before, most, overlap threshold,
	// smallest, layout. Outputs: scores, boxes, images.
	OpGenerateProposals OperationType = 52 // GENERATE_PROPOSALS
	// Inputs: first input, second input.
	OpGreater OperationType = 53 // GREATER
	// Inputs: first input, second input.
	OpGreaterEqual OperationType = 54 // GREATER_EQUAL
	// Inputs, implicit padding: input, filter, bias, padding scheme, stride width, stride height, groups, activation,
	// layout.
	// Inputs, explicit padding: input, filter, bias, left padding, right padding, top padding, bottom padding, stride
	// width, stride height, groups, activation, layout.
	OpGroupedConv2D OperationType = 55 // GROUPED_CONV_2D
	// Inputs: input, boxes, layout. Outputs: scores, keypoints.
	OpHeatmapMaxKeypoint OperationType = 56 // HEATMAP_MAX_KEYPOINT
	// Inputs: input, gamma, beta, epsilon, layout.
	OpInstanceNormalization OperationType = 57 // INSTANCE_NORMALIZATION
	// Inputs: first input, second input.
	OpLess OperationType = 58 // LESS
	// Inputs: first input, second input.
	OpLessEqual OperationType = 59 // LESS_EQUAL
	// Inputs: input.
	OpLog OperationType = 60 // LOG
	// Inputs: first input, second input.
	OpLogicalAnd OperationType = 61 // LOGICAL_AND
	// Inputs: input.
	OpLogicalNot OperationType = 62 // LOGICAL_NOT
	// Inputs: first input, second input.
	OpLogicalOr OperationType = 63 // LOGICAL_OR
	// Inputs: input, beta, axis.
	OpLogSoftmax OperationType = 64 // LOG_SOFTMAX
	// Inputs: first input, second input.
	OpMaximum OperationType = 65 // MAXIMUM
	// Inputs: first input, second input.
	OpMinimum OperationType = 66 // MINIMUM
	// Inputs: input.
	OpNeg OperationType = 67 // NEG
	// Inputs: first input, second input.
	OpNotEqual OperationType = 68 // NOT_EQUAL
	// Inputs: input, paddings, value.
	OpPadV2 OperationType = 69 // PAD_V2
	// Inputs: base, exponent.
	OpPow OperationType = 70 // POW
	// Inputs: input, alpha.
	OpPrelu OperationType = 71 // PRELU
	// Inputs: input.
	OpQuantize OperationType = 72 // QUANTIZE
	// Inputs: input, input-to-input weights, input-to-forget weights, input-to-cell weights, input-to-output weights,
	// recurrent-to-input weights, recurrent-to-forget weights, recurrent-to-cell weights, recurrent-to-output
	// weights, input gate bias, forget gate bias, cell gate bias, output gate bias, cell state in, output state in.
	// Outputs: cell state out, result.
	OpQuantized16BitLstm OperationType = 73 // QUANTIZED_16BIT_LSTM
	// Inputs: logits, samples, seeds.
	OpRandomMultinomial OperationType = 74 // RANDOM_MULTINOMIAL
	// Inputs: input, axes, keep dims.
	OpReduceAll OperationType = 75 // REDUCE_ALL
	// Inputs: input, axes, keep dims.
	OpReduceAny OperationType = 76 // REDUCE_ANY
	// Inputs: input, axes, keep dims.
	OpReduceMax OperationType = 77 // REDUCE_MAX
	// Inputs: input, axes, keep dims.
	OpReduceMin OperationType = 78 // REDUCE_MIN
	// Inputs: input, axes, keep dims.
	OpReduceProd OperationType = 79 // REDUCE_PROD
	// Inputs: input, axes, keep dims.
	OpReduceSum OperationType = 80 // REDUCE_SUM
	// Inputs: input, boxes, images, output height, output width, height ratio, width ratio, height samples, width
	// samples, layout.
	OpRoiAlign OperationType = 81 // ROI_ALIGN
	// Inputs: input, boxes, images, output height, output width, height ratio, width ratio, layout.
	OpRoiPooling OperationType = 82 // ROI_POOLING
	// Inputs: input.
	OpRsqrt OperationType = 83 // RSQRT
	// Inputs: mask, input where the mask is true, input where it is false.
	OpSelect OperationType = 84 // SELECT
	// Inputs: input.
	OpSin OperationType = 85 // SIN
	// Inputs: input, begin, size.
	OpSlice OperationType = 86 // SLICE
	// Inputs: input, axis, number of parts. Outputs: part….
	OpSplit OperationType = 87 // SPLIT
	// Inputs: input.
	OpSqrt OperationType = 88 // SQRT
	// Inputs: input, multiples.
	OpTile OperationType = 89 // TILE
	// Inputs: input, k. Outputs: values, indices.
	OpTopkV2 OperationType = 90 // TOPK_V2
	// Inputs, implicit padding: input, filter, bias, output shape, padding scheme, stride width, stride height,
	// activation, layout.
	// Inputs, explicit padding: input, filter, bias, left padding, right padding, top padding, bottom padding, stride
	// width, stride height, activation, layout.
	OpTransposeConv2D OperationType = 91 // TRANSPOSE_CONV_2D
	// Inputs: input, input-to-input weights, input-to-forget weights, input-to-cell weights, input-to-output weights,
	// recurrent-to-input weights, recurrent-to-forget weights, recurrent-to-cell weights, recurrent-to-output
	// weights, cell-to-input weights, cell-to-forget weights, cell-to-output weights, input gate bias, forget gate
	// bias, cell gate bias, output gate bias, projection weights, projection bias, output state in, cell state in,
	// activation, cell clip, projection clip, time major, input layer norm weights, forget layer norm weights, cell
	// layer norm weights, output layer norm weights. Outputs: result, [output state out, cell state out].
	OpUnidirectionalSequenceLstm OperationType = 92 // UNIDIRECTIONAL_SEQUENCE_LSTM
	// Inputs: input, weights, recurrent weights, bias, hidden state in, activation, time major. Outputs: result,
	// [hidden state out].
	OpUnidirectionalSequenceRnn OperationType = 93 // UNIDIRECTIONAL_SEQUENCE_RNN
	// Inputs, sizes: input, output width, output height, layout, [align corners, [half pixel centers]].
	// Inputs, factors: input, width factor, height factor, layout, [align corners, [half pixel centers]].
	OpResizeNearestNeighbor OperationType = 94 // RESIZE_NEAREST_NEIGHBOR
	// Inputs: input, input-to-input weights, input-to-forget weights, input-to-cell weights, input-to-output weights,
	// recurrent-to-input weights, recurrent-to-forget weights, recurrent-to-cell weights, recurrent-to-output
	// weights, cell-to-input weights, cell-to-forget weights, cell-to-output weights, input gate bias, forget gate
	// bias, cell gate bias, output gate bias, projection weights, projection bias, output state in, cell state in,
	// input layer norm weights, forget layer norm weights, cell layer norm weights, output layer norm weights, cell
	// clip, projection clip, input intermediate scale, forget intermediate scale, cell intermediate scale, output
	// intermediate scale, hidden state zero point, hidden state scale. Outputs: output state out, cell state out,
	// result.
	OpQuantizedLstm OperationType = 95 // QUANTIZED_LSTM
	OpIf            OperationType = 96 // IF
	OpWhile         OperationType = 97 // WHILE
	// Inputs: input, alpha.
	OpElu OperationType = 98 // ELU
	// Inputs: input.
	OpHardSwish OperationType = 99 // HARD_SWISH
	// Inputs: shape, value.
	OpFill OperationType = 100 // FILL
	// Inputs: input.
	OpRank OperationType = 101 // RANK
	// Inputs: left, right, adjoint left, adjoint right.
	OpBatchMatmul OperationType = 102 // BATCH_MATMUL
	// Inputs: axis, input….
	OpPack OperationType = 103 // PACK
	// Inputs: input, paddings, mode.
	OpMirrorPad OperationType = 104 // MIRROR_PAD
	// Inputs: input, axis.
	OpReverse      OperationType = 105   // REVERSE
	OpOemOperation OperationType = 10000 // OEM_OPERATION
	OpDensify      OperationType = 20000 // DENSIFY

	// OpSquaredDifference is (x - y)^2 with broadcasting, as TFLite has it.
	// Inputs: first input, second input.
	OpSquaredDifference OperationType = extension // SQUARED_DIFFERENCE

	// OpRequantize brings an 8-bit tensor to another scale, zero point or signedness, as TFLite's QUANTIZE
	// of an 8-bit input does.
	// Inputs: input.
	OpRequantize OperationType = extension + 1 // REQUANTIZE
)

// extension is the prefix 1 of the HAL's extension types, in the high 16 bits.
const extension = 1 << 16

// namedOperations are the first and the last of the operations of each range of numbers.
var namedOperations = [...][2]OperationType{
	{OpAdd, OpReverse}, {OpOemOperation, OpOemOperation}, {OpDensify, OpDensify}, {OpSquaredDifference, OpRequantize},
}

// Valid reports whether t is a known operation.
func (t OperationType) Valid() bool {
	for _, r := range namedOperations {
		if t >= r[0] && t <= r[1] {
			return true
		}
	}
	return false
}

// ParseOperationType returns the operation of the given HAL name, such as "CONV_2D".
func ParseOperationType(name string) (OperationType, error) {
	return parse("operation", name, namedOperations[:]...)
}
