package tflitegen

// StridedSliceOptions belong to STRIDED_SLICE.
type StridedSliceOptions struct {
	union          `number:"32"`
	BeginMask      int32
	EndMask        int32
	EllipsisMask   int32
	NewAxisMask    int32
	ShrinkAxisMask int32
	Offset         bool
}

// GatherOptions belong to GATHER.
type GatherOptions struct {
	union     `number:"23"`
	Axis      int32
	BatchDims int32
}

// PackOptions belong to PACK.
type PackOptions struct {
	union       `number:"59"`
	ValuesCount int32
	Axis        int32
}

// UnpackOptions belong to UNPACK.
type UnpackOptions struct {
	union `number:"64"`
	Num   int32
	Axis  int32
}

// SplitVOptions belong to SPLIT_V.
type SplitVOptions struct {
	union     `number:"79"`
	NumSplits int32
}

// ShapeOptions belong to SHAPE.
type ShapeOptions struct {
	union   `number:"55"`
	OutType TensorType
}

// GeluOptions belong to GELU.
type GeluOptions struct {
	union       `number:"116"`
	Approximate bool
}

// OneHotOptions belong to ONE_HOT. The axis counts from the end where it is negative.
type OneHotOptions struct {
	union `number:"61"`
	Axis  int32
}
