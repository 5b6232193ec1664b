package tflitegen

//go:generate go tool stringer -linecomment -output=names_gen.go -type=TensorType

// TensorType is the element type of a tensor; values are the schema's TensorType.
type TensorType int8

// Element types.
const (
	Float32    TensorType = 0  // FLOAT32
	Float16    TensorType = 1  // FLOAT16
	Int32      TensorType = 2  // INT32
	Uint8      TensorType = 3  // UINT8
	Int64      TensorType = 4  // INT64
	String     TensorType = 5  // STRING
	Bool       TensorType = 6  // BOOL
	Int16      TensorType = 7  // INT16
	Complex64  TensorType = 8  // COMPLEX64
	Int8       TensorType = 9  // INT8
	Float64    TensorType = 10 // FLOAT64
	Complex128 TensorType = 11 // COMPLEX128
	Uint64     TensorType = 12 // UINT64
	Resource   TensorType = 13 // RESOURCE
	Variant    TensorType = 14 // VARIANT
	Uint32     TensorType = 15 // UINT32
	Uint16     TensorType = 16 // UINT16
	Int4       TensorType = 17 // INT4
	BFloat16   TensorType = 18 // BFLOAT16
	Int2       TensorType = 19 // INT2
	Uint4      TensorType = 20 // UINT4
)

// bits is the width of one element, 0 where elements have no fixed width.
var bits = map[TensorType]int{
	Float32: 32, Float16: 16, Int32: 32, Uint8: 8, Int64: 64, Bool: 8, Int16: 16, Complex64: 64, Int8: 8, Float64: 64,
	Complex128: 128, Uint64: 64, Uint32: 32, Uint16: 16, Int4: 4, BFloat16: 16, Int2: 2, Uint4: 4,
}

// sizeBytes is the size of a dense constant of the given shape, elements narrower than a byte packed; ok is false
// where the type has no fixed size or the product overflows.
func sizeBytes(t TensorType, shape []int) (n int, ok bool) {
	n = bits[t]
	if n == 0 {
		return 0, false
	}
	for _, d := range shape {
		if d < 0 || d > 0 && n > maxFileBytes*8/d {
			return 0, false
		}
		n *= d
	}
	return (n + 7) / 8, true
}
