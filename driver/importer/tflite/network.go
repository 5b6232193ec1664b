// Package tflite imports TensorFlow Lite models: a .tflite file becomes an nn.Model in which every
// operation passed the operation table driver/ops.
//
// A file is hostile until proven otherwise: each offset and length is checked before it is believed, what is
// made from the file is bounded by a multiple of its size, and a file that is damaged gives an error. A model
// that cannot be computed exactly as TensorFlow Lite defines it is refused as a whole, naming every operator
// in the way (UnsupportedError).
//
// Constants are not copied. They are ConstantReference operands into pool 0, which is the caller's slice;
// Model.Values holds only what the import makes: scalars, zero biases, float16 weights widened to float32.
//
// Tensors of rank 0 become tensors of shape [1], because the HAL has no scalar tensors.
package tflite

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// Network is an imported model with what the file says about it.
type Network struct {
	Model *nn.Model
	// Inputs and Outputs describe Model.Main.Inputs and Model.Main.Outputs, in the same order.
	Inputs, Outputs []Tensor
	// Description is the file's own, such as "MLIR Converted.".
	Description string
	// Operators lists the operators of the file in running order.
	Operators []Operator
	Metadata  Metadata
}

// Tensor is an input or output of the network as the file describes it.
type Tensor struct {
	Name string
	Type ElementType
	// Shape is the shape the model was imported with, after rank 0 became [1].
	Shape []int
	// Signature is the file's shape with -1 for each open dimension; nil when every dimension is fixed. The
	// import takes the file's default for an open dimension, usually 1.
	Signature []int
	// Scale and ZeroPoint map a stored integer q to (q - ZeroPoint) * Scale; Scale is 0 when the tensor is
	// not quantised.
	Scale     float32
	ZeroPoint int32
}

// Operator is one operator of the file.
type Operator struct {
	Index   int
	Name    string // "CONV_2D"
	Version int
	// NN are indexes into Model.Main.Operations of what the operator became; empty when it was resolved at
	// import.
	NN []int
}

// Import decodes a .tflite model.
//
// The returned model retains data: its pool 0 is the slice itself, so it must not be changed as long as the
// model is in use. Nothing writes to it.
//
// The error is an *nn.Error with status INVALID_ARGUMENT. It wraps an *UnsupportedError when the file is
// sound but needs something that is not supported.
func Import(data []byte) (n *Network, err error) {
	// Every read is checked; this is for a mistake in those checks, so that a file cannot end the process.
	defer func() {
		if r := recover(); r != nil {
			n, err = nil, nn.Invalid("tflite model", "import stopped: %v", r)
		}
	}()
	return importFile(data)
}

// ElementType is the element type of a tensor; values are those of the .tflite schema.
type ElementType int8

// Element types that the importer knows by name in its own code.
const (
	Float32 ElementType = 0
	Float16 ElementType = 1
	Int32   ElementType = 2
	UInt8   ElementType = 3
	Int64   ElementType = 4
	Bool    ElementType = 6
	Int16   ElementType = 7
	Int8    ElementType = 9
)

func (t ElementType) String() string {
	if t >= 0 && int(t) < len(elementTypeNames) {
		return elementTypeNames[t]
	}
	return fmt.Sprintf("ElementType(%d)", int8(t))
}

// Operand is the type of an operand of a model with such elements; false for elements that no operand has.
func (t ElementType) Operand() (o nn.OperandType, ok bool) {
	o, ok = elementOperands[t]
	return o, ok
}

// bytes is the size of one element, 0 for a type that the importer does not read.
func (t ElementType) bytes() int {
	switch t {
	case Float32, Int32:
		return 4
	case Float16, Int16:
		return 2
	case UInt8, Int8, Bool:
		return 1
	case Int64:
		return 8
	}
	return 0
}
