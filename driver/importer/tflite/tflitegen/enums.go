package tflitegen

// Padding values are the schema's Padding.
type Padding int8

// Paddings.
const (
	Same  Padding = 0
	Valid Padding = 1
)

// Activation is the activation fused into an operator; values are the schema's ActivationFunctionType.
type Activation int8

// Activations.
const (
	ActivationNone      Activation = 0
	ActivationRelu      Activation = 1
	ActivationReluN1To1 Activation = 2
	ActivationRelu6     Activation = 3
	ActivationTanh      Activation = 4
	ActivationSignBit   Activation = 5
)

// MirrorPadMode values are the schema's MirrorPadMode.
type MirrorPadMode int8

// Ways to mirror: Reflect leaves the edge out, Symmetric repeats it.
const (
	Reflect   MirrorPadMode = 0
	Symmetric MirrorPadMode = 1
)

// LSHProjectionType values are the schema's LSHProjectionType.
type LSHProjectionType int8

// What is made of the bits of a projection.
const (
	LSHUnknown LSHProjectionType = 0
	LSHSparse  LSHProjectionType = 1
	LSHDense   LSHProjectionType = 2
)
