package tflitegen

// ReshapeOptions belong to RESHAPE.
type ReshapeOptions struct {
	NewShape []int32
}

func (o ReshapeOptions) table() (byte, []Field) {
	return 17, []Field{
		IntsField(0, o.NewShape),
	}
}

// SqueezeOptions belong to SQUEEZE.
type SqueezeOptions struct {
	SqueezeDims []int32
}

func (o SqueezeOptions) table() (byte, []Field) {
	return 30, []Field{
		IntsField(0, o.SqueezeDims),
	}
}

// ConcatenationOptions belong to CONCATENATION.
type ConcatenationOptions struct {
	Axis       int32
	Activation Activation
}

func (o ConcatenationOptions) table() (byte, []Field) {
	return 10, []Field{
		Int32Field(0, o.Axis),
		Int8Field(1, int8(o.Activation)),
	}
}

// PackOptions belong to PACK.
type PackOptions struct {
	ValuesCount int32
	Axis        int32
}

func (o PackOptions) table() (byte, []Field) {
	return 59, []Field{
		Int32Field(0, o.ValuesCount),
		Int32Field(1, o.Axis),
	}
}

// UnpackOptions belong to UNPACK.
type UnpackOptions struct {
	Num  int32
	Axis int32
}

func (o UnpackOptions) table() (byte, []Field) {
	return 64, []Field{
		Int32Field(0, o.Num),
		Int32Field(1, o.Axis),
	}
}

// SplitOptions belong to SPLIT.
type SplitOptions struct {
	NumSplits int32
}

func (o SplitOptions) table() (byte, []Field) {
	return 35, []Field{
		Int32Field(0, o.NumSplits),
	}
}

// SplitVOptions belong to SPLIT_V.
type SplitVOptions struct {
	NumSplits int32
}

func (o SplitVOptions) table() (byte, []Field) {
	return 79, []Field{
		Int32Field(0, o.NumSplits),
	}
}

// StridedSliceOptions belong to STRIDED_SLICE.
type StridedSliceOptions struct {
	BeginMask      int32
	EndMask        int32
	EllipsisMask   int32
	NewAxisMask    int32
	ShrinkAxisMask int32
	Offset         bool
}

func (o StridedSliceOptions) table() (byte, []Field) {
	return 32, []Field{
		Int32Field(0, o.BeginMask),
		Int32Field(1, o.EndMask),
		Int32Field(2, o.EllipsisMask),
		Int32Field(3, o.NewAxisMask),
		Int32Field(4, o.ShrinkAxisMask),
		BoolField(5, o.Offset),
	}
}

// GatherOptions belong to GATHER.
type GatherOptions struct {
	Axis      int32
	BatchDims int32
}

func (o GatherOptions) table() (byte, []Field) {
	return 23, []Field{
		Int32Field(0, o.Axis),
		Int32Field(1, o.BatchDims),
	}
}

// OneHotOptions belong to ONE_HOT.
type OneHotOptions struct {
	Axis int32
}

func (o OneHotOptions) table() (byte, []Field) {
	return 61, []Field{
		Int32Field(0, o.Axis),
	}
}

// MirrorPadOptions belong to MIRROR_PAD.
type MirrorPadOptions struct {
	Mode MirrorPadMode
}

func (o MirrorPadOptions) table() (byte, []Field) {
	return 77, []Field{
		Int8Field(0, int8(o.Mode)),
	}
}

// SpaceToDepthOptions belong to SPACE_TO_DEPTH.
type SpaceToDepthOptions struct {
	BlockSize int32
}

func (o SpaceToDepthOptions) table() (byte, []Field) {
	return 19, []Field{
		Int32Field(0, o.BlockSize),
	}
}

// DepthToSpaceOptions belong to DEPTH_TO_SPACE.
type DepthToSpaceOptions struct {
	BlockSize int32
}

func (o DepthToSpaceOptions) table() (byte, []Field) {
	return 94, []Field{
		Int32Field(0, o.BlockSize),
	}
}

// ReverseSequenceOptions belong to REVERSE_SEQUENCE.
type ReverseSequenceOptions struct {
	SeqDim   int32
	BatchDim int32
}

func (o ReverseSequenceOptions) table() (byte, []Field) {
	return 87, []Field{
		Int32Field(0, o.SeqDim),
		Int32Field(1, o.BatchDim),
	}
}

// ResizeBilinearOptions belong to RESIZE_BILINEAR.
type ResizeBilinearOptions struct {
	AlignCorners     bool
	HalfPixelCenters bool
}

func (o ResizeBilinearOptions) table() (byte, []Field) {
	return 15, []Field{
		BoolField(2, o.AlignCorners),
		BoolField(3, o.HalfPixelCenters),
	}
}

// ResizeNearestNeighborOptions belong to RESIZE_NEAREST_NEIGHBOR.
type ResizeNearestNeighborOptions struct {
	AlignCorners     bool
	HalfPixelCenters bool
}

func (o ResizeNearestNeighborOptions) table() (byte, []Field) {
	return 74, []Field{
		BoolField(0, o.AlignCorners),
		BoolField(1, o.HalfPixelCenters),
	}
}

// ShapeOptions belong to SHAPE.
type ShapeOptions struct {
	OutType TensorType
}

func (o ShapeOptions) table() (byte, []Field) {
	return 55, []Field{
		Int8Field(0, int8(o.OutType)),
	}
}
