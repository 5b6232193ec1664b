package tflitegen

// ReshapeOptions belong to RESHAPE.
type ReshapeOptions struct {
	NewShape []int32
}

func (o ReshapeOptions) table() (byte, []Field) { return 17, fieldsOf(o) }

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

// PackOptions belong to PACK.
type PackOptions struct {
	ValuesCount int32
	Axis        int32
}

func (o PackOptions) table() (byte, []Field) { return 59, fieldsOf(o) }

// UnpackOptions belong to UNPACK.
type UnpackOptions struct {
	Num  int32
	Axis int32
}

func (o UnpackOptions) table() (byte, []Field) { return 64, fieldsOf(o) }

// SplitOptions belong to SPLIT.
type SplitOptions struct {
	NumSplits int32
}

func (o SplitOptions) table() (byte, []Field) { return 35, fieldsOf(o) }

// SplitVOptions belong to SPLIT_V.
type SplitVOptions struct {
	NumSplits int32
}

func (o SplitVOptions) table() (byte, []Field) { return 79, fieldsOf(o) }

// StridedSliceOptions belong to STRIDED_SLICE.
type StridedSliceOptions struct {
	BeginMask      int32
	EndMask        int32
	EllipsisMask   int32
	NewAxisMask    int32
	ShrinkAxisMask int32
	Offset         bool
}

func (o StridedSliceOptions) table() (byte, []Field) { return 32, fieldsOf(o) }

// GatherOptions belong to GATHER.
type GatherOptions struct {
	Axis      int32
	BatchDims int32
}

func (o GatherOptions) table() (byte, []Field) { return 23, fieldsOf(o) }

// OneHotOptions belong to ONE_HOT.
type OneHotOptions struct {
	Axis int32
}

func (o OneHotOptions) table() (byte, []Field) { return 61, fieldsOf(o) }

// MirrorPadOptions belong to MIRROR_PAD.
type MirrorPadOptions struct {
	Mode MirrorPadMode
}

func (o MirrorPadOptions) table() (byte, []Field) { return 77, fieldsOf(o) }

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

// ReverseSequenceOptions belong to REVERSE_SEQUENCE.
type ReverseSequenceOptions struct {
	SeqDim   int32
	BatchDim int32
}

func (o ReverseSequenceOptions) table() (byte, []Field) { return 87, fieldsOf(o) }

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

// ShapeOptions belong to SHAPE.
type ShapeOptions struct {
	OutType TensorType
}

func (o ShapeOptions) table() (byte, []Field) { return 55, fieldsOf(o) }
