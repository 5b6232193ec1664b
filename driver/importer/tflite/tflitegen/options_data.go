package tflitegen

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

// SplitVOptions belong to SPLIT_V.
type SplitVOptions struct {
	NumSplits int32
}

func (o SplitVOptions) table() (byte, []Field) { return 79, fieldsOf(o) }

// ShapeOptions belong to SHAPE.
type ShapeOptions struct {
	OutType TensorType
}

func (o ShapeOptions) table() (byte, []Field) { return 55, fieldsOf(o) }

// GeluOptions belong to GELU.
type GeluOptions struct {
	Approximate bool
}

func (o GeluOptions) table() (byte, []Field) { return 116, fieldsOf(o) }

// OneHotOptions belong to ONE_HOT. The axis counts from the end where it is negative.
type OneHotOptions struct {
	Axis int32
}

func (o OneHotOptions) table() (byte, []Field) { return 61, fieldsOf(o) }
