package tflitegen

// Conv2DOptions belong to CONV_2D. A stride or dilation of 0 means 1.
type Conv2DOptions struct {
	Padding    Padding
	StrideW    int32
	StrideH    int32
	Activation Activation
	DilationW  int32
	DilationH  int32
}

func (o Conv2DOptions) table() (byte, []Field) {
	return 1, []Field{
		Int8Field(0, int8(o.Padding)),
		Int32Field(1, orOne(o.StrideW)),
		Int32Field(2, orOne(o.StrideH)),
		Int8Field(3, int8(o.Activation)),
		Int32FieldOr(4, orOne(o.DilationW), 1),
		Int32FieldOr(5, orOne(o.DilationH), 1),
	}
}

// DepthwiseConv2DOptions belong to DEPTHWISE_CONV_2D. A stride, dilation or depth multiplier of 0 means 1.
type DepthwiseConv2DOptions struct {
	Padding         Padding
	StrideW         int32
	StrideH         int32
	DepthMultiplier int32
	Activation      Activation
	DilationW       int32
	DilationH       int32
}

func (o DepthwiseConv2DOptions) table() (byte, []Field) {
	return 2, []Field{
		Int8Field(0, int8(o.Padding)),
		Int32Field(1, orOne(o.StrideW)),
		Int32Field(2, orOne(o.StrideH)),
		Int32Field(3, orOne(o.DepthMultiplier)),
		Int8Field(4, int8(o.Activation)),
		Int32FieldOr(5, orOne(o.DilationW), 1),
		Int32FieldOr(6, orOne(o.DilationH), 1),
	}
}

// TransposeConvOptions belong to TRANSPOSE_CONV. A stride of 0 means 1.
type TransposeConvOptions struct {
	Padding    Padding
	StrideW    int32
	StrideH    int32
	Activation Activation
}

func (o TransposeConvOptions) table() (byte, []Field) {
	return 49, []Field{
		Int8Field(0, int8(o.Padding)),
		Int32Field(1, orOne(o.StrideW)),
		Int32Field(2, orOne(o.StrideH)),
		Int8Field(3, int8(o.Activation)),
	}
}

// Pool2DOptions belong to AVERAGE_POOL_2D, MAX_POOL_2D and L2_POOL_2D. A stride or filter size of 0 means 1.
type Pool2DOptions struct {
	Padding      Padding
	StrideW      int32
	StrideH      int32
	FilterWidth  int32
	FilterHeight int32
	Activation   Activation
}

func (o Pool2DOptions) table() (byte, []Field) {
	return 5, []Field{
		Int8Field(0, int8(o.Padding)),
		Int32Field(1, orOne(o.StrideW)),
		Int32Field(2, orOne(o.StrideH)),
		Int32Field(3, orOne(o.FilterWidth)),
		Int32Field(4, orOne(o.FilterHeight)),
		Int8Field(5, int8(o.Activation)),
	}
}

// FullyConnectedOptions belong to FULLY_CONNECTED with weights in their plain order.
type FullyConnectedOptions struct {
	Activation               Activation
	KeepNumDims              bool
	AsymmetricQuantizeInputs bool
}

func (o FullyConnectedOptions) table() (byte, []Field) {
	return 8, []Field{
		Int8Field(0, int8(o.Activation)),
		BoolField(2, o.KeepNumDims),
		BoolField(3, o.AsymmetricQuantizeInputs),
	}
}

// BatchMatMulOptions belong to BATCH_MATMUL.
type BatchMatMulOptions struct {
	AdjX                     bool
	AdjY                     bool
	AsymmetricQuantizeInputs bool
}

func (o BatchMatMulOptions) table() (byte, []Field) {
	return 101, []Field{
		BoolField(0, o.AdjX),
		BoolField(1, o.AdjY),
		BoolField(2, o.AsymmetricQuantizeInputs),
	}
}

// SoftmaxOptions belong to SOFTMAX. A beta of 0 means 1.
type SoftmaxOptions struct {
	Beta float32
}

func (o SoftmaxOptions) table() (byte, []Field) {
	return 9, []Field{
		FloatField(0, orOne(o.Beta)),
	}
}

// L2NormOptions belong to L2_NORMALIZATION.
type L2NormOptions struct {
	Activation Activation
}

func (o L2NormOptions) table() (byte, []Field) {
	return 12, []Field{
		Int8Field(0, int8(o.Activation)),
	}
}

// LocalResponseNormalizationOptions belong to LOCAL_RESPONSE_NORMALIZATION.
type LocalResponseNormalizationOptions struct {
	Radius int32
	Bias   float32
	Alpha  float32
	Beta   float32
}

func (o LocalResponseNormalizationOptions) table() (byte, []Field) {
	return 13, []Field{
		Int32Field(0, o.Radius),
		FloatField(1, o.Bias),
		FloatField(2, o.Alpha),
		FloatField(3, o.Beta),
	}
}

// SVDFOptions belong to SVDF.
type SVDFOptions struct {
	Rank                     int32
	Activation               Activation
	AsymmetricQuantizeInputs bool
}

func (o SVDFOptions) table() (byte, []Field) {
	return 6, []Field{
		Int32Field(0, o.Rank),
		Int8Field(1, int8(o.Activation)),
		BoolField(2, o.AsymmetricQuantizeInputs),
	}
}

// RNNOptions belong to RNN.
type RNNOptions struct {
	Activation               Activation
	AsymmetricQuantizeInputs bool
}

func (o RNNOptions) table() (byte, []Field) {
	return 7, []Field{
		Int8Field(0, int8(o.Activation)),
		BoolField(1, o.AsymmetricQuantizeInputs),
	}
}

// SequenceRNNOptions belong to UNIDIRECTIONAL_SEQUENCE_RNN.
type SequenceRNNOptions struct {
	TimeMajor                bool
	Activation               Activation
	AsymmetricQuantizeInputs bool
}

func (o SequenceRNNOptions) table() (byte, []Field) {
	return 31, []Field{
		BoolField(0, o.TimeMajor),
		Int8Field(1, int8(o.Activation)),
		BoolField(2, o.AsymmetricQuantizeInputs),
	}
}

// LSTMOptions belong to LSTM.
type LSTMOptions struct {
	Activation               Activation
	CellClip                 float32
	ProjClip                 float32
	KernelType               LSTMKernelType
	AsymmetricQuantizeInputs bool
}

func (o LSTMOptions) table() (byte, []Field) {
	return 14, []Field{
		Int8Field(0, int8(o.Activation)),
		FloatField(1, o.CellClip),
		FloatField(2, o.ProjClip),
		Int8Field(3, int8(o.KernelType)),
		BoolField(4, o.AsymmetricQuantizeInputs),
	}
}

// UnidirectionalSequenceLSTMOptions belong to UNIDIRECTIONAL_SEQUENCE_LSTM.
type UnidirectionalSequenceLSTMOptions struct {
	Activation               Activation
	CellClip                 float32
	ProjClip                 float32
	TimeMajor                bool
	AsymmetricQuantizeInputs bool
	DiagonalRecurrentTensors bool
}

func (o UnidirectionalSequenceLSTMOptions) table() (byte, []Field) {
	return 71, []Field{
		Int8Field(0, int8(o.Activation)),
		FloatField(1, o.CellClip),
		FloatField(2, o.ProjClip),
		BoolField(3, o.TimeMajor),
		BoolField(4, o.AsymmetricQuantizeInputs),
		BoolField(5, o.DiagonalRecurrentTensors),
	}
}

// BidirectionalSequenceLSTMOptions belong to BIDIRECTIONAL_SEQUENCE_LSTM, always time-major.
type BidirectionalSequenceLSTMOptions struct {
	Activation               Activation
	CellClip                 float32
	ProjClip                 float32
	MergeOutputs             bool
	AsymmetricQuantizeInputs bool
}

func (o BidirectionalSequenceLSTMOptions) table() (byte, []Field) {
	return 69, []Field{
		Int8Field(0, int8(o.Activation)),
		FloatField(1, o.CellClip),
		FloatField(2, o.ProjClip),
		BoolField(3, o.MergeOutputs),
		BoolField(5, o.AsymmetricQuantizeInputs),
	}
}

// orOne replaces the zero value of a field whose useful default is 1.
func orOne[T int32 | float32](v T) T {
	if v == 0 {
		return 1
	}
	return v
}
