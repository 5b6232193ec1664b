package tflitegen

// Operator is an operator of the schema's BuiltinOperator. Codes above 126 exist only in the newer of the two
// fields a file stores it in; Marshal fills both.
type Operator int32

// Operators that are written so far; others are Operator of their number.
const (
	OpAdd                        Operator = 0
	OpAveragePool2D              Operator = 1
	OpConcatenation              Operator = 2
	OpConv2D                     Operator = 3
	OpDepthwiseConv2D            Operator = 4
	OpDepthToSpace               Operator = 5
	OpDequantize                 Operator = 6
	OpFloor                      Operator = 8
	OpFullyConnected             Operator = 9
	OpL2Normalization            Operator = 11
	OpL2Pool2D                   Operator = 12
	OpLocalResponseNormalization Operator = 13
	OpLogistic                   Operator = 14
	OpMaxPool2D                  Operator = 17
	OpMul                        Operator = 18
	OpRelu                       Operator = 19
	OpReluN1To1                  Operator = 20
	OpRelu6                      Operator = 21
	OpReshape                    Operator = 22
	OpResizeBilinear             Operator = 23
	OpSoftmax                    Operator = 25
	OpSpaceToDepth               Operator = 26
	OpTanh                       Operator = 28
	OpCustom                     Operator = 32
	OpPad                        Operator = 34
	OpBatchToSpaceND             Operator = 37
	OpSpaceToBatchND             Operator = 38
	OpTranspose                  Operator = 39
	OpMean                       Operator = 40
	OpSub                        Operator = 41
	OpDiv                        Operator = 42
	OpSqueeze                    Operator = 43
	OpUnidirectionalSequenceLSTM Operator = 44
	OpExp                        Operator = 47
	OpTopKV2                     Operator = 48
	OpSplit                      Operator = 49
	OpLogSoftmax                 Operator = 50
	OpCast                       Operator = 53
	OpPrelu                      Operator = 54
	OpMaximum                    Operator = 55
	OpArgMax                     Operator = 56
	OpMinimum                    Operator = 57
	OpLess                       Operator = 58
	OpNeg                        Operator = 59
	OpPadv2                      Operator = 60
	OpGreater                    Operator = 61
	OpGreaterEqual               Operator = 62
	OpLessEqual                  Operator = 63
	OpSlice                      Operator = 65
	OpSin                        Operator = 66
	OpTransposeConv              Operator = 67
	OpSelect                     Operator = 64
	OpExpandDims                 Operator = 70
	OpEqual                      Operator = 71
	OpNotEqual                   Operator = 72
	OpLog                        Operator = 73
	OpSum                        Operator = 74
	OpSqrt                       Operator = 75
	OpRsqrt                      Operator = 76
	OpPow                        Operator = 78
	OpArgMin                     Operator = 79
	OpReduceProd                 Operator = 81
	OpReduceMax                  Operator = 82
	OpLogicalOr                  Operator = 84
	OpLogicalAnd                 Operator = 86
	OpLogicalNot                 Operator = 87
	OpReduceMin                  Operator = 89
	OpReduceAny                  Operator = 91
	OpSquare                     Operator = 92
	OpFill                       Operator = 94
	OpResizeNearestNeighbor      Operator = 97
	OpLeakyRelu                  Operator = 98
	OpSquaredDifference          Operator = 99
	OpMirrorPad                  Operator = 100
	OpAbs                        Operator = 101
	OpElu                        Operator = 111
	OpQuantize                   Operator = 114
	OpHardSwish                  Operator = 117
	OpIf                         Operator = 118
	OpWhile                      Operator = 119
	OpSelectV2                   Operator = 123
	OpBatchMatmul                Operator = 126
	OpCumsum                     Operator = 128
	OpBroadcastTo                Operator = 130
)
