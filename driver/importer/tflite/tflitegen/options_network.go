package tflitegen

// Conv2DOptions belong to CONV_2D. A stride or dilation of 0 means 1.
type Conv2DOptions struct {
	Padding    Padding
	StrideW    int32 `zero:"1"`
	StrideH    int32 `zero:"1"`
	Activation Activation
	DilationW  int32 `zero:"1" default:"1"`
	DilationH  int32 `zero:"1" default:"1"`
}

func (o Conv2DOptions) table() (byte, []Field) { return 1, fieldsOf(o) }

// DepthwiseConv2DOptions belong to DEPTHWISE_CONV_2D. A stride, dilation or depth multiplier of 0 means 1.
type DepthwiseConv2DOptions struct {
	Padding         Padding
	StrideW         int32 `zero:"1"`
	StrideH         int32 `zero:"1"`
	DepthMultiplier int32 `zero:"1"`
	Activation      Activation
	DilationW       int32 `zero:"1" default:"1"`
	DilationH       int32 `zero:"1" default:"1"`
}

func (o DepthwiseConv2DOptions) table() (byte, []Field) { return 2, fieldsOf(o) }

// TransposeConvOptions belong to TRANSPOSE_CONV. A stride of 0 means 1.
type TransposeConvOptions struct {
	Padding    Padding
	StrideW    int32 `zero:"1"`
	StrideH    int32 `zero:"1"`
	Activation Activation
}

func (o TransposeConvOptions) table() (byte, []Field) { return 49, fieldsOf(o) }

// Pool2DOptions belong to AVERAGE_POOL_2D, MAX_POOL_2D and L2_POOL_2D. A stride or filter size of 0 means 1.
type Pool2DOptions struct {
	Padding      Padding
	StrideW      int32 `zero:"1"`
	StrideH      int32 `zero:"1"`
	FilterWidth  int32 `zero:"1"`
	FilterHeight int32 `zero:"1"`
	Activation   Activation
}

func (o Pool2DOptions) table() (byte, []Field) { return 5, fieldsOf(o) }

// FullyConnectedOptions belong to FULLY_CONNECTED with weights in their plain order.
type FullyConnectedOptions struct {
	Activation               Activation
	KeepNumDims              bool `slot:"2"`
	AsymmetricQuantizeInputs bool
}

func (o FullyConnectedOptions) table() (byte, []Field) { return 8, fieldsOf(o) }

// BatchMatMulOptions belong to BATCH_MATMUL.
type BatchMatMulOptions struct {
	AdjX                     bool
	AdjY                     bool
	AsymmetricQuantizeInputs bool
}

func (o BatchMatMulOptions) table() (byte, []Field) { return 101, fieldsOf(o) }

// SoftmaxOptions belong to SOFTMAX. A beta of 0 means 1.
type SoftmaxOptions struct {
	Beta float32 `zero:"1"`
}

func (o SoftmaxOptions) table() (byte, []Field) { return 9, fieldsOf(o) }

// L2NormOptions belong to L2_NORMALIZATION.
type L2NormOptions struct {
	Activation Activation
}

func (o L2NormOptions) table() (byte, []Field) { return 12, fieldsOf(o) }

// LocalResponseNormalizationOptions belong to LOCAL_RESPONSE_NORMALIZATION.
type LocalResponseNormalizationOptions struct {
	Radius int32
	Bias   float32
	Alpha  float32
	Beta   float32
}

func (o LocalResponseNormalizationOptions) table() (byte, []Field) { return 13, fieldsOf(o) }

// SVDFOptions belong to SVDF.
type SVDFOptions struct {
	Rank                     int32
	Activation               Activation
	AsymmetricQuantizeInputs bool
}

func (o SVDFOptions) table() (byte, []Field) { return 6, fieldsOf(o) }

// RNNOptions belong to RNN.
type RNNOptions struct {
	Activation               Activation
	AsymmetricQuantizeInputs bool
}

func (o RNNOptions) table() (byte, []Field) { return 7, fieldsOf(o) }

// SequenceRNNOptions belong to UNIDIRECTIONAL_SEQUENCE_RNN.
type SequenceRNNOptions struct {
	TimeMajor                bool
	Activation               Activation
	AsymmetricQuantizeInputs bool
}

func (o SequenceRNNOptions) table() (byte, []Field) { return 31, fieldsOf(o) }

// LSTMOptions belong to LSTM.
type LSTMOptions struct {
	Activation               Activation
	CellClip                 float32
	ProjClip                 float32
	KernelType               LSTMKernelType
	AsymmetricQuantizeInputs bool
}

func (o LSTMOptions) table() (byte, []Field) { return 14, fieldsOf(o) }

// UnidirectionalSequenceLSTMOptions belong to UNIDIRECTIONAL_SEQUENCE_LSTM.
type UnidirectionalSequenceLSTMOptions struct {
	Activation               Activation
	CellClip                 float32
	ProjClip                 float32
	TimeMajor                bool
	AsymmetricQuantizeInputs bool
	DiagonalRecurrentTensors bool
}

func (o UnidirectionalSequenceLSTMOptions) table() (byte, []Field) { return 71, fieldsOf(o) }

// BidirectionalSequenceLSTMOptions belong to BIDIRECTIONAL_SEQUENCE_LSTM, always time-major.
type BidirectionalSequenceLSTMOptions struct {
	Activation               Activation
	CellClip                 float32
	ProjClip                 float32
	MergeOutputs             bool
	AsymmetricQuantizeInputs bool `slot:"5"`
}

func (o BidirectionalSequenceLSTMOptions) table() (byte, []Field) { return 69, fieldsOf(o) }
