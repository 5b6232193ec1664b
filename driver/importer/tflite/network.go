// Package tflite imports TensorFlow Lite models: a .tflite file becomes an nn.Model in which every
// operation passed the operation table driver/ops.
//
// Constants are not copied. They are ConstantReference operands into pool 0, which is the caller's slice;
// Model.Values holds only what the import makes: scalars, zero biases, float16 weights widened to float32.
//
// Tensors of rank 0 become tensors of shape [1], because the HAL has no scalar tensors.
package tflite

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

func init() {
	importer.Register(importer.Format{
		Name: "TensorFlow Lite", Extension: ".tflite", Mark: fmt.Sprintf("identifier %q", identifier), Check: Check, Import: Import,
		Matches: func(head []byte) bool { return len(head) == headBytes && checkIdentifier(head, identifier) == nil },
	})
}

// Import decodes a .tflite model.
//
// The returned model retains data: its pool 0 is the slice itself, so it must not be changed as long as the
// model is in use. Nothing writes to it.
//
// The error is an *nn.Error with status INVALID_ARGUMENT. It wraps an *importer.UnsupportedError when the file is
// sound but needs something that is not supported.
func Import(data []byte) (n *importer.Network, err error) {
	// Every read is checked; this is for a mistake in those checks, so that a file cannot end the process.
	defer func() {
		if r := recover(); r != nil {
			n, err = nil, nn.Invalid("tflite model", "import stopped: %v", r)
		}
	}()
	return importFile(data)
}

// invalid turns an error into the one that Import returns.
func invalid(err error) error {
	return &nn.Error{Status: nn.StatusInvalidArgument, Where: "tflite model", Err: err}
}

// elementType is the element type of a tensor; values are those of the .tflite schema.
type elementType int8

// Element types that the import knows by name in its own code.
const (
	typeFloat32 elementType = 0
	typeFloat16 elementType = 1
	typeInt32   elementType = 2
	typeUInt8   elementType = 3
	typeInt64   elementType = 4
	typeBool    elementType = 6
	typeInt16   elementType = 7
	typeInt8    elementType = 9
)

func (t elementType) String() string {
	if t >= 0 && int(t) < len(elementTypeNames) {
		return elementTypeNames[t]
	}
	return fmt.Sprintf("ElementType(%d)", int8(t))
}

// operandName is the type of an operand with such elements, or the schema's name where no operand has them.
func (t elementType) operandName() string {
	if o, ok := elementOperands[t]; ok {
		return o.String()
	}
	return t.String()
}

// bytes is the size of one element, 0 for a type that the importer does not read.
func (t elementType) bytes() int {
	switch t {
	case typeFloat32, typeInt32:
		return 4
	case typeFloat16, typeInt16:
		return 2
	case typeUInt8, typeInt8, typeBool:
		return 1
	case typeInt64:
		return 8
	}
	return 0
}
