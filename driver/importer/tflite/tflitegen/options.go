package tflitegen

// Conv2DOptions belong to CONV_2D. A stride or dilation of 0 means 1.
type Conv2DOptions struct {
	union      `number:"1"`
	Padding    Padding
	StrideW    int32 `zero:"1"`
	StrideH    int32 `zero:"1"`
	Activation Activation
	DilationW  int32 `zero:"1" default:"1"`
	DilationH  int32 `zero:"1" default:"1"`
}

// DepthwiseConv2DOptions belong to DEPTHWISE_CONV_2D. A stride, dilation or depth multiplier of 0 means 1.
type DepthwiseConv2DOptions struct {
	union           `number:"2"`
	Padding         Padding
	StrideW         int32 `zero:"1"`
	StrideH         int32 `zero:"1"`
	DepthMultiplier int32 `zero:"1"`
	Activation      Activation
	DilationW       int32 `zero:"1" default:"1"`
	DilationH       int32 `zero:"1" default:"1"`
}

// TransposeConvOptions belong to TRANSPOSE_CONV. A stride of 0 means 1.
type TransposeConvOptions struct {
	union      `number:"49"`
	Padding    Padding
	StrideW    int32 `zero:"1"`
	StrideH    int32 `zero:"1"`
	Activation Activation
}

// Pool2DOptions belong to AVERAGE_POOL_2D, MAX_POOL_2D and L2_POOL_2D. A stride or filter size of 0 means 1.
type Pool2DOptions struct {
	union        `number:"5"`
	Padding      Padding
	StrideW      int32 `zero:"1"`
	StrideH      int32 `zero:"1"`
	FilterWidth  int32 `zero:"1"`
	FilterHeight int32 `zero:"1"`
	Activation   Activation
}

// FullyConnectedOptions belong to FULLY_CONNECTED with weights in their plain order.
type FullyConnectedOptions struct {
	union                    `number:"8"`
	Activation               Activation
	KeepNumDims              bool `slot:"2"`
	AsymmetricQuantizeInputs bool
}

// SoftmaxOptions belong to SOFTMAX. A beta of 0 means 1.
type SoftmaxOptions struct {
	union `number:"9"`
	Beta  float32 `zero:"1"`
}

// L2NormOptions belong to L2_NORMALIZATION.
type L2NormOptions struct {
	union      `number:"12"`
	Activation Activation
}

// LocalResponseNormalizationOptions belong to LOCAL_RESPONSE_NORMALIZATION.
type LocalResponseNormalizationOptions struct {
	union             `number:"13"`
	Radius            int32
	Bias, Alpha, Beta float32
}

// AddOptions belong to ADD.
type AddOptions struct {
	union      `number:"11"`
	Activation Activation
}

// SubOptions belong to SUB.
type SubOptions struct {
	union      `number:"28"`
	Activation Activation
}

// MulOptions belong to MUL.
type MulOptions struct {
	union      `number:"21"`
	Activation Activation
}

// DivOptions belong to DIV.
type DivOptions struct {
	union      `number:"29"`
	Activation Activation
}

// ReducerOptions belong to MEAN, SUM and the REDUCE family.
type ReducerOptions struct {
	union    `number:"27"`
	KeepDims bool
}

// LSHProjectionOptions belong to LSH_PROJECTION.
type LSHProjectionOptions struct {
	union `number:"4"`
	Type  LSHProjectionType
}

// ArgMaxOptions belong to ARG_MAX.
type ArgMaxOptions struct {
	union      `number:"40"`
	OutputType TensorType
}

// ArgMinOptions belong to ARG_MIN.
type ArgMinOptions struct {
	union      `number:"57"`
	OutputType TensorType
}

// CumsumOptions belong to CUMSUM.
type CumsumOptions struct {
	union     `number:"102"`
	Exclusive bool
	Reverse   bool
}

// BatchMatMulOptions belong to BATCH_MATMUL: whether the last two dimensions of an input are swapped.
type BatchMatMulOptions struct {
	union                    `number:"101"`
	AdjointX, AdjointY       bool
	AsymmetricQuantizeInputs bool
}

// CastOptions belong to CAST.
type CastOptions struct {
	union       `number:"37"`
	InDataType  TensorType
	OutDataType TensorType
}

// LeakyReluOptions belong to LEAKY_RELU.
type LeakyReluOptions struct {
	union `number:"75"`
	Alpha float32
}

// WhileOptions belong to WHILE.
type WhileOptions struct {
	union             `number:"93"`
	CondSubgraphIndex int32
	BodySubgraphIndex int32
}

// ReshapeOptions belong to RESHAPE.
type ReshapeOptions struct {
	union    `number:"17"`
	NewShape []int32
}

// SpaceToDepthOptions belong to SPACE_TO_DEPTH.
type SpaceToDepthOptions struct {
	union     `number:"19"`
	BlockSize int32
}

// DepthToSpaceOptions belong to DEPTH_TO_SPACE.
type DepthToSpaceOptions struct {
	union     `number:"94"`
	BlockSize int32
}

// SqueezeOptions belong to SQUEEZE.
type SqueezeOptions struct {
	union       `number:"30"`
	SqueezeDims []int32
}

// ConcatenationOptions belong to CONCATENATION.
type ConcatenationOptions struct {
	union      `number:"10"`
	Axis       int32
	Activation Activation
}

// SplitOptions belong to SPLIT.
type SplitOptions struct {
	union     `number:"35"`
	NumSplits int32
}

// MirrorPadOptions belong to MIRROR_PAD.
type MirrorPadOptions struct {
	union `number:"77"`
	Mode  MirrorPadMode
}

// ResizeBilinearOptions belong to RESIZE_BILINEAR.
type ResizeBilinearOptions struct {
	union            `number:"15"`
	AlignCorners     bool `slot:"2"`
	HalfPixelCenters bool
}

// ResizeNearestNeighborOptions belong to RESIZE_NEAREST_NEIGHBOR.
type ResizeNearestNeighborOptions struct {
	union            `number:"74"`
	AlignCorners     bool
	HalfPixelCenters bool
}
