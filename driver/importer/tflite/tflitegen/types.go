package tflitegen

import "fmt"

// TensorType is the element type of a tensor; values are the schema's TensorType.
type TensorType int8

// Element types.
const (
	Float32    TensorType = 0
	Float16    TensorType = 1
	Int32      TensorType = 2
	Uint8      TensorType = 3
	Int64      TensorType = 4
	String     TensorType = 5
	Bool       TensorType = 6
	Int16      TensorType = 7
	Complex64  TensorType = 8
	Int8       TensorType = 9
	Float64    TensorType = 10
	Complex128 TensorType = 11
	Uint64     TensorType = 12
	Resource   TensorType = 13
	Variant    TensorType = 14
	Uint32     TensorType = 15
	Uint16     TensorType = 16
	Int4       TensorType = 17
	BFloat16   TensorType = 18
	Int2       TensorType = 19
	Uint4      TensorType = 20
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

func (t TensorType) String() string {
	if s, ok := tensorTypeNames[t]; ok {
		return s
	}
	return fmt.Sprintf("TensorType(%d)", int8(t))
}

var tensorTypeNames = map[TensorType]string{
	0:  "FLOAT32",
	1:  "FLOAT16",
	2:  "INT32",
	3:  "UINT8",
	4:  "INT64",
	5:  "STRING",
	6:  "BOOL",
	7:  "INT16",
	8:  "COMPLEX64",
	9:  "INT8",
	10: "FLOAT64",
	11: "COMPLEX128",
	12: "UINT64",
	13: "RESOURCE",
	14: "VARIANT",
	15: "UINT32",
	16: "UINT16",
	17: "INT4",
	18: "BFLOAT16",
	19: "INT2",
	20: "UINT4",
}
