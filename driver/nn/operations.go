package nn

import "fmt"

// OperationType names an operation; values are the NN HAL's. A value above 0xFFFF is an operation of
// this driver's own extension. docs/operators.md has the types, shapes and limits of operands.
type OperationType int32

// Operations of NNAPI feature levels 1 to 8, and those of the driver's extension. Those that the driver knows say their
// inputs in order: the list may end before each [, and … repeats what is before it.
const (
	// Inputs: first input, second input, activation.
	OpAdd OperationType = 0
	// Inputs, implicit padding: input, padding scheme, stride width, stride height, window width, window height,
	// activation, [layout].
	// Inputs, explicit padding: input, left padding, right padding, top padding, bottom padding, stride width, stride
	// height, window width, window height, activation, [layout].
	OpAveragePool2D OperationType = 1
	// Inputs: input…, axis.
	OpConcatenation OperationType = 2
	// Inputs, implicit padding: input, filter, bias, padding scheme, stride width, stride height, activation,
	// [layout, [dilation width, dilation height]].
	// Inputs, explicit padding: input, filter, bias, left padding, right padding, top padding, bottom padding, stride
	// width, stride height, activation, [layout, [dilation width, dilation height]].
	OpConv2D OperationType = 3
	// Inputs, implicit padding: input, filter, bias, padding scheme, stride width, stride height, depth multiplier,
	// activation, [layout, [dilation width, dilation height]].
	// Inputs, explicit padding: input, filter, bias, left padding, right padding, top padding, bottom padding, stride
	// width, stride height, depth multiplier, activation, [layout, [dilation width, dilation height]].
	OpDepthwiseConv2D OperationType = 4
	OpDepthToSpace    OperationType = 5
	// Inputs: input.
	OpDequantize      OperationType = 6
	OpEmbeddingLookup OperationType = 7
	// Inputs: input.
	OpFloor OperationType = 8
	// Inputs: input, weights, bias, activation.
	OpFullyConnected  OperationType = 9
	OpHashtableLookup OperationType = 10
	OpL2Normalization OperationType = 11
	// Inputs, implicit padding: input, padding scheme, stride width, stride height, window width, window height,
	// activation, [layout].
	// Inputs, explicit padding: input, left padding, right padding, top padding, bottom padding, stride width, stride
	// height, window width, window height, activation, [layout].
	OpL2Pool2D                   OperationType = 12
	OpLocalResponseNormalization OperationType = 13
	// Inputs: input.
	OpLogistic      OperationType = 14
	OpLshProjection OperationType = 15
	OpLstm          OperationType = 16
	// Inputs, implicit padding: input, padding scheme, stride width, stride height, window width, window height,
	// activation, [layout].
	// Inputs, explicit padding: input, left padding, right padding, top padding, bottom padding, stride width, stride
	// height, window width, window height, activation, [layout].
	OpMaxPool2D OperationType = 17
	// Inputs: first input, second input, activation.
	OpMul OperationType = 18
	// Inputs: input.
	OpRelu OperationType = 19
	// Inputs: input.
	OpRelu1 OperationType = 20
	// Inputs: input.
	OpRelu6 OperationType = 21
	// Inputs: input, shape.
	OpReshape OperationType = 22
	// Inputs, sizes: input, output width, output height, [layout, [align corners, [half pixel centers]]].
	// Inputs, factors: input, width factor, height factor, [layout, [align corners, [half pixel centers]]].
	OpResizeBilinear OperationType = 23
	OpRnn            OperationType = 24
	// Inputs: input, beta, [axis].
	OpSoftmax      OperationType = 25
	OpSpaceToDepth OperationType = 26
	OpSvdf         OperationType = 27
	// Inputs: input.
	OpTanh           OperationType = 28
	OpBatchToSpaceNd OperationType = 29
	// Inputs: first input, second input, activation.
	OpDiv OperationType = 30
	// Inputs: input, axes, keep dims.
	OpMean OperationType = 31
	// Inputs: input, paddings.
	OpPad            OperationType = 32
	OpSpaceToBatchNd OperationType = 33
	// Inputs: input, axes.
	OpSqueeze      OperationType = 34
	OpStridedSlice OperationType = 35
	// Inputs: first input, second input, activation.
	OpSub OperationType = 36
	// Inputs: input, permutation.
	OpTranspose OperationType = 37
	// Inputs: input.
	OpAbs                       OperationType = 38
	OpArgmax                    OperationType = 39
	OpArgmin                    OperationType = 40
	OpAxisAlignedBboxTransform  OperationType = 41
	OpBidirectionalSequenceLstm OperationType = 42
	OpBidirectionalSequenceRnn  OperationType = 43
	OpBoxWithNmsLimit           OperationType = 44
	// Inputs: input.
	OpCast                    OperationType = 45
	OpChannelShuffle          OperationType = 46
	OpDetectionPostprocessing OperationType = 47
	// Inputs: first input, second input.
	OpEqual OperationType = 48
	// Inputs: input.
	OpExp OperationType = 49
	// Inputs: input, axis.
	OpExpandDims        OperationType = 50
	OpGather            OperationType = 51
	OpGenerateProposals OperationType = 52
	// Inputs: first input, second input.
	OpGreater OperationType = 53
	// Inputs: first input, second input.
	OpGreaterEqual          OperationType = 54
	OpGroupedConv2D         OperationType = 55
	OpHeatmapMaxKeypoint    OperationType = 56
	OpInstanceNormalization OperationType = 57
	// Inputs: first input, second input.
	OpLess OperationType = 58
	// Inputs: first input, second input.
	OpLessEqual OperationType = 59
	// Inputs: input.
	OpLog OperationType = 60
	// Inputs: first input, second input.
	OpLogicalAnd OperationType = 61
	// Inputs: input.
	OpLogicalNot OperationType = 62
	// Inputs: first input, second input.
	OpLogicalOr OperationType = 63
	// Inputs: input, beta, axis.
	OpLogSoftmax OperationType = 64
	// Inputs: first input, second input.
	OpMaximum OperationType = 65
	// Inputs: first input, second input.
	OpMinimum OperationType = 66
	// Inputs: input.
	OpNeg OperationType = 67
	// Inputs: first input, second input.
	OpNotEqual OperationType = 68
	// Inputs: input, paddings, value.
	OpPadV2 OperationType = 69
	// Inputs: base, exponent.
	OpPow OperationType = 70
	// Inputs: input, alpha.
	OpPrelu OperationType = 71
	// Inputs: input.
	OpQuantize           OperationType = 72
	OpQuantized16BitLstm OperationType = 73
	OpRandomMultinomial  OperationType = 74
	OpReduceAll          OperationType = 75
	OpReduceAny          OperationType = 76
	OpReduceMax          OperationType = 77
	OpReduceMin          OperationType = 78
	OpReduceProd         OperationType = 79
	OpReduceSum          OperationType = 80
	OpRoiAlign           OperationType = 81
	OpRoiPooling         OperationType = 82
	// Inputs: input.
	OpRsqrt  OperationType = 83
	OpSelect OperationType = 84
	// Inputs: input.
	OpSin OperationType = 85
	// Inputs: input, begin, size.
	OpSlice OperationType = 86
	// Inputs: input, axis, number of parts. Outputs: part….
	OpSplit OperationType = 87
	// Inputs: input.
	OpSqrt OperationType = 88
	OpTile OperationType = 89
	// Inputs: input, k. Outputs: values, indices.
	OpTopkV2          OperationType = 90
	OpTransposeConv2D OperationType = 91
	// Inputs: input, input-to-input weights, input-to-forget weights, input-to-cell weights, input-to-output weights,
	// recurrent-to-input weights, recurrent-to-forget weights, recurrent-to-cell weights, recurrent-to-output
	// weights, cell-to-input weights, cell-to-forget weights, cell-to-output weights, input gate bias, forget gate
	// bias, cell gate bias, output gate bias, projection weights, projection bias, output state in, cell state in,
	// activation, cell clip, projection clip, time major, input layer norm weights, forget layer norm weights, cell
	// layer norm weights, output layer norm weights. Outputs: result, [output state out, cell state out].
	OpUnidirectionalSequenceLstm OperationType = 92
	OpUnidirectionalSequenceRnn  OperationType = 93
	// Inputs, sizes: input, output width, output height, layout, [align corners, [half pixel centers]].
	// Inputs, factors: input, width factor, height factor, layout, [align corners, [half pixel centers]].
	OpResizeNearestNeighbor OperationType = 94
	OpQuantizedLstm         OperationType = 95
	OpIf                    OperationType = 96
	OpWhile                 OperationType = 97
	// Inputs: input, alpha.
	OpElu OperationType = 98
	// Inputs: input.
	OpHardSwish   OperationType = 99
	OpFill        OperationType = 100
	OpRank        OperationType = 101
	OpBatchMatmul OperationType = 102
	OpPack        OperationType = 103
	// Inputs: input, paddings, mode.
	OpMirrorPad    OperationType = 104
	OpReverse      OperationType = 105
	OpOemOperation OperationType = 10000
	OpDensify      OperationType = 20000

	// OpSquaredDifference is (x - y)^2 with broadcasting, as TFLite has it.
	// Inputs: first input, second input.
	OpSquaredDifference OperationType = extension

	// OpRequantize brings an 8-bit tensor to another scale, zero point or signedness, as TFLite's QUANTIZE
	// of an 8-bit input does.
	// Inputs: input.
	OpRequantize OperationType = extension + 1
)

// extension is the prefix 1 of the HAL's extension types, in the high 16 bits.
const extension = 1 << 16

var operationNames = map[OperationType]string{
	OpAdd:                        "ADD",
	OpAveragePool2D:              "AVERAGE_POOL_2D",
	OpConcatenation:              "CONCATENATION",
	OpConv2D:                     "CONV_2D",
	OpDepthwiseConv2D:            "DEPTHWISE_CONV_2D",
	OpDepthToSpace:               "DEPTH_TO_SPACE",
	OpDequantize:                 "DEQUANTIZE",
	OpEmbeddingLookup:            "EMBEDDING_LOOKUP",
	OpFloor:                      "FLOOR",
	OpFullyConnected:             "FULLY_CONNECTED",
	OpHashtableLookup:            "HASHTABLE_LOOKUP",
	OpL2Normalization:            "L2_NORMALIZATION",
	OpL2Pool2D:                   "L2_POOL_2D",
	OpLocalResponseNormalization: "LOCAL_RESPONSE_NORMALIZATION",
	OpLogistic:                   "LOGISTIC",
	OpLshProjection:              "LSH_PROJECTION",
	OpLstm:                       "LSTM",
	OpMaxPool2D:                  "MAX_POOL_2D",
	OpMul:                        "MUL",
	OpRelu:                       "RELU",
	OpRelu1:                      "RELU1",
	OpRelu6:                      "RELU6",
	OpReshape:                    "RESHAPE",
	OpResizeBilinear:             "RESIZE_BILINEAR",
	OpRnn:                        "RNN",
	OpSoftmax:                    "SOFTMAX",
	OpSpaceToDepth:               "SPACE_TO_DEPTH",
	OpSvdf:                       "SVDF",
	OpTanh:                       "TANH",
	OpBatchToSpaceNd:             "BATCH_TO_SPACE_ND",
	OpDiv:                        "DIV",
	OpMean:                       "MEAN",
	OpPad:                        "PAD",
	OpSpaceToBatchNd:             "SPACE_TO_BATCH_ND",
	OpSqueeze:                    "SQUEEZE",
	OpStridedSlice:               "STRIDED_SLICE",
	OpSub:                        "SUB",
	OpTranspose:                  "TRANSPOSE",
	OpAbs:                        "ABS",
	OpArgmax:                     "ARGMAX",
	OpArgmin:                     "ARGMIN",
	OpAxisAlignedBboxTransform:   "AXIS_ALIGNED_BBOX_TRANSFORM",
	OpBidirectionalSequenceLstm:  "BIDIRECTIONAL_SEQUENCE_LSTM",
	OpBidirectionalSequenceRnn:   "BIDIRECTIONAL_SEQUENCE_RNN",
	OpBoxWithNmsLimit:            "BOX_WITH_NMS_LIMIT",
	OpCast:                       "CAST",
	OpChannelShuffle:             "CHANNEL_SHUFFLE",
	OpDetectionPostprocessing:    "DETECTION_POSTPROCESSING",
	OpEqual:                      "EQUAL",
	OpExp:                        "EXP",
	OpExpandDims:                 "EXPAND_DIMS",
	OpGather:                     "GATHER",
	OpGenerateProposals:          "GENERATE_PROPOSALS",
	OpGreater:                    "GREATER",
	OpGreaterEqual:               "GREATER_EQUAL",
	OpGroupedConv2D:              "GROUPED_CONV_2D",
	OpHeatmapMaxKeypoint:         "HEATMAP_MAX_KEYPOINT",
	OpInstanceNormalization:      "INSTANCE_NORMALIZATION",
	OpLess:                       "LESS",
	OpLessEqual:                  "LESS_EQUAL",
	OpLog:                        "LOG",
	OpLogicalAnd:                 "LOGICAL_AND",
	OpLogicalNot:                 "LOGICAL_NOT",
	OpLogicalOr:                  "LOGICAL_OR",
	OpLogSoftmax:                 "LOG_SOFTMAX",
	OpMaximum:                    "MAXIMUM",
	OpMinimum:                    "MINIMUM",
	OpNeg:                        "NEG",
	OpNotEqual:                   "NOT_EQUAL",
	OpPadV2:                      "PAD_V2",
	OpPow:                        "POW",
	OpPrelu:                      "PRELU",
	OpQuantize:                   "QUANTIZE",
	OpQuantized16BitLstm:         "QUANTIZED_16BIT_LSTM",
	OpRandomMultinomial:          "RANDOM_MULTINOMIAL",
	OpReduceAll:                  "REDUCE_ALL",
	OpReduceAny:                  "REDUCE_ANY",
	OpReduceMax:                  "REDUCE_MAX",
	OpReduceMin:                  "REDUCE_MIN",
	OpReduceProd:                 "REDUCE_PROD",
	OpReduceSum:                  "REDUCE_SUM",
	OpRoiAlign:                   "ROI_ALIGN",
	OpRoiPooling:                 "ROI_POOLING",
	OpRsqrt:                      "RSQRT",
	OpSelect:                     "SELECT",
	OpSin:                        "SIN",
	OpSlice:                      "SLICE",
	OpSplit:                      "SPLIT",
	OpSqrt:                       "SQRT",
	OpTile:                       "TILE",
	OpTopkV2:                     "TOPK_V2",
	OpTransposeConv2D:            "TRANSPOSE_CONV_2D",
	OpUnidirectionalSequenceLstm: "UNIDIRECTIONAL_SEQUENCE_LSTM",
	OpUnidirectionalSequenceRnn:  "UNIDIRECTIONAL_SEQUENCE_RNN",
	OpResizeNearestNeighbor:      "RESIZE_NEAREST_NEIGHBOR",
	OpQuantizedLstm:              "QUANTIZED_LSTM",
	OpIf:                         "IF",
	OpWhile:                      "WHILE",
	OpElu:                        "ELU",
	OpHardSwish:                  "HARD_SWISH",
	OpFill:                       "FILL",
	OpRank:                       "RANK",
	OpBatchMatmul:                "BATCH_MATMUL",
	OpPack:                       "PACK",
	OpMirrorPad:                  "MIRROR_PAD",
	OpReverse:                    "REVERSE",
	OpOemOperation:               "OEM_OPERATION",
	OpDensify:                    "DENSIFY",
	OpRequantize:                 "REQUANTIZE",
	OpSquaredDifference:          "SQUARED_DIFFERENCE",
}

// Valid reports whether t is a known operation.
func (t OperationType) Valid() bool { _, ok := operationNames[t]; return ok }

func (t OperationType) String() string {
	if n, ok := operationNames[t]; ok {
		return n
	}
	return fmt.Sprintf("OperationType(%d)", int32(t))
}

// ParseOperationType returns the operation of the given HAL name, such as "CONV_2D".
func ParseOperationType(name string) (OperationType, error) {
	for t, n := range operationNames {
		if n == name {
			return t, nil
		}
	}
	return 0, fmt.Errorf("unknown operation %q", name)
}
