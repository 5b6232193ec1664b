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
	Radius            int32
	Bias, Alpha, Beta float32
}

func (o LocalResponseNormalizationOptions) table() (byte, []Field) { return 13, fieldsOf(o) }

// AddOptions belong to ADD.
type AddOptions struct {
	Activation Activation
}

func (o AddOptions) table() (byte, []Field) { return 11, fieldsOf(o) }

// SubOptions belong to SUB.
type SubOptions struct {
	Activation Activation
}

func (o SubOptions) table() (byte, []Field) { return 28, fieldsOf(o) }

// MulOptions belong to MUL.
type MulOptions struct {
	Activation Activation
}

func (o MulOptions) table() (byte, []Field) { return 21, fieldsOf(o) }

// DivOptions belong to DIV.
type DivOptions struct {
	Activation Activation
}

func (o DivOptions) table() (byte, []Field) { return 29, fieldsOf(o) }

// ReducerOptions belong to MEAN, SUM and the REDUCE family.
type ReducerOptions struct {
	KeepDims bool
}

func (o ReducerOptions) table() (byte, []Field) { return 27, fieldsOf(o) }

// LSHProjectionOptions belong to LSH_PROJECTION.
type LSHProjectionOptions struct {
	Type LSHProjectionType
}

func (o LSHProjectionOptions) table() (byte, []Field) { return 4, fieldsOf(o) }

// ArgMaxOptions belong to ARG_MAX.
type ArgMaxOptions struct {
	OutputType TensorType
}

func (o ArgMaxOptions) table() (byte, []Field) { return 40, fieldsOf(o) }

// ArgMinOptions belong to ARG_MIN.
type ArgMinOptions struct {
	OutputType TensorType
}

func (o ArgMinOptions) table() (byte, []Field) { return 57, fieldsOf(o) }

// CumsumOptions belong to CUMSUM.
type CumsumOptions struct {
	Exclusive bool
	Reverse   bool
}

func (o CumsumOptions) table() (byte, []Field) { return 102, fieldsOf(o) }

// BatchMatMulOptions belong to BATCH_MATMUL: whether the last two dimensions of an input are swapped.
type BatchMatMulOptions struct {
	AdjointX, AdjointY       bool
	AsymmetricQuantizeInputs bool
}

func (o BatchMatMulOptions) table() (byte, []Field) { return 101, fieldsOf(o) }

// CastOptions belong to CAST.
type CastOptions struct {
	InDataType  TensorType
	OutDataType TensorType
}

func (o CastOptions) table() (byte, []Field) { return 37, fieldsOf(o) }

// LeakyReluOptions belong to LEAKY_RELU.
type LeakyReluOptions struct {
	Alpha float32
}

func (o LeakyReluOptions) table() (byte, []Field) { return 75, fieldsOf(o) }

// WhileOptions belong to WHILE.
type WhileOptions struct {
	CondSubgraphIndex int32
	BodySubgraphIndex int32
}

func (o WhileOptions) table() (byte, []Field) { return 93, fieldsOf(o) }

// ReshapeOptions belong to RESHAPE.
type ReshapeOptions struct {
	NewShape []int32
}

func (o ReshapeOptions) table() (byte, []Field) { return 17, fieldsOf(o) }

// SpaceToDepthOptions belong to SPACE_TO_DEPTH.
type SpaceToDepthOptions struct {
	BlockSize int32
}

func (o SpaceToDepthOptions) table() (byte, []Field) { return 19, fieldsOf(o) }

// DepthToSpaceOptions belong to DEPTH_TO_SPACE.
type DepthToSpaceOptions struct {
	BlockSize int32
}

func (o DepthToSpaceOptions) table() (byte, []Field) { return 94, fieldsOf(o) }

// SqueezeOptions belong to SQUEEZE.
type SqueezeOptions struct {
	SqueezeDims []int32
}

func (o SqueezeOptions) table() (byte, []Field) { return 30, fieldsOf(o) }

// ConcatenationOptions belong to CONCATENATION.
type ConcatenationOptions struct {
	Axis       int32
	Activation Activation
}

func (o ConcatenationOptions) table() (byte, []Field) { return 10, fieldsOf(o) }

// SplitOptions belong to SPLIT.
type SplitOptions struct {
	NumSplits int32
}

func (o SplitOptions) table() (byte, []Field) { return 35, fieldsOf(o) }

// MirrorPadOptions belong to MIRROR_PAD.
type MirrorPadOptions struct {
	Mode MirrorPadMode
}

func (o MirrorPadOptions) table() (byte, []Field) { return 77, fieldsOf(o) }

// ResizeBilinearOptions belong to RESIZE_BILINEAR.
type ResizeBilinearOptions struct {
	AlignCorners     bool `slot:"2"`
	HalfPixelCenters bool
}

func (o ResizeBilinearOptions) table() (byte, []Field) { return 15, fieldsOf(o) }

// ResizeNearestNeighborOptions belong to RESIZE_NEAREST_NEIGHBOR.
type ResizeNearestNeighborOptions struct {
	AlignCorners     bool
	HalfPixelCenters bool
}

func (o ResizeNearestNeighborOptions) table() (byte, []Field) { return 74, fieldsOf(o) }
