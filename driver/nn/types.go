package nn

import "fmt"

//go:generate go tool stringer -linecomment -output=names_gen.go -type=OperandType,OperationType,Lifetime,Activation,Preference,Priority,Status

// parse returns the value within one of the ranges, first and last, that has the name.
func parse[T interface {
	~int32
	fmt.Stringer
}](what, name string, ranges ...[2]T) (T, error) {
	for _, r := range ranges {
		for v := r[0]; v <= r[1]; v++ {
			if v.String() == name {
				return v, nil
			}
		}
	}
	return 0, fmt.Errorf("unknown %s %q", what, name)
}

// OperandType is the element type of an operand; values are the NN HAL's.
type OperandType int32

// Operand types of NN HAL 1.3. The scalar types describe one value, the Tensor types row-major arrays.
const (
	Float32                 OperandType = 0  // FLOAT32
	Int32                   OperandType = 1  // INT32
	Uint32                  OperandType = 2  // UINT32
	TensorFloat32           OperandType = 3  // TENSOR_FLOAT32
	TensorInt32             OperandType = 4  // TENSOR_INT32
	TensorQuant8Asymm       OperandType = 5  // TENSOR_QUANT8_ASYMM
	Bool                    OperandType = 6  // BOOL
	TensorQuant16Symm       OperandType = 7  // TENSOR_QUANT16_SYMM
	TensorFloat16           OperandType = 8  // TENSOR_FLOAT16
	TensorBool8             OperandType = 9  // TENSOR_BOOL8
	Float16                 OperandType = 10 // FLOAT16
	TensorQuant8PerChannel  OperandType = 11 // TENSOR_QUANT8_SYMM_PER_CHANNEL
	TensorQuant16Asymm      OperandType = 12 // TENSOR_QUANT16_ASYMM
	TensorQuant8Symm        OperandType = 13 // TENSOR_QUANT8_SYMM
	TensorQuant8AsymmSigned OperandType = 14 // TENSOR_QUANT8_ASYMM_SIGNED
	SubgraphRef             OperandType = 15 // SUBGRAPH
)

type typeFact struct {
	bytes  int
	tensor bool
}

// From NN HAL 1.3 types.hal, OperandType.
var typeFacts = [...]typeFact{
	Float32:                 {4, false},
	Int32:                   {4, false},
	Uint32:                  {4, false},
	TensorFloat32:           {4, true},
	TensorInt32:             {4, true},
	TensorQuant8Asymm:       {1, true},
	Bool:                    {1, false},
	TensorQuant16Symm:       {2, true},
	TensorFloat16:           {2, true},
	TensorBool8:             {1, true},
	Float16:                 {2, false},
	TensorQuant8PerChannel:  {1, true},
	TensorQuant16Asymm:      {2, true},
	TensorQuant8Symm:        {1, true},
	TensorQuant8AsymmSigned: {1, true},
	SubgraphRef:             {0, false},
}

// Valid reports whether t is a type of NN HAL 1.3.
func (t OperandType) Valid() bool { return t >= 0 && int(t) < len(typeFacts) }

// ParseOperandType returns the type of the given HAL name, such as "TENSOR_FLOAT32".
func ParseOperandType(name string) (OperandType, error) {
	return parse("operand type", name, [2]OperandType{Float32, SubgraphRef})
}

// Bytes is the size of one element; 0 for an unknown type and for SubgraphRef.
func (t OperandType) Bytes() int {
	if t.Valid() {
		return typeFacts[t].bytes
	}
	return 0
}

// IsTensor reports whether t describes an array.
func (t OperandType) IsTensor() bool { return t.Valid() && typeFacts[t].tensor }

// IsFloat reports whether the elements of t are floating-point numbers.
func (t OperandType) IsFloat() bool {
	return t == TensorFloat32 || t == TensorFloat16 || t == Float32 || t == Float16
}

// IsQuant8 reports whether t is one of the two asymmetric 8-bit types, whose
// real value is (q - zero point) * scale.
func (t OperandType) IsQuant8() bool { return t == TensorQuant8Asymm || t == TensorQuant8AsymmSigned }

// Lifetime says where the value of an operand comes from; values are the NN HAL's.
type Lifetime int32

// Lifetimes of NN HAL 1.3.
const (
	Temporary         Lifetime = 0 // TEMPORARY_VARIABLE
	SubgraphInput     Lifetime = 1 // SUBGRAPH_INPUT
	SubgraphOutput    Lifetime = 2 // SUBGRAPH_OUTPUT
	ConstantCopy      Lifetime = 3 // CONSTANT_COPY
	ConstantReference Lifetime = 4 // CONSTANT_REFERENCE
	NoValue           Lifetime = 5 // NO_VALUE
	Subgraph          Lifetime = 6 // SUBGRAPH
)

// Valid reports whether l is a lifetime of NN HAL 1.3.
func (l Lifetime) Valid() bool { return l >= 0 && l <= Subgraph }

// ParseLifetime returns the lifetime of the given HAL name.
func ParseLifetime(name string) (Lifetime, error) {
	return parse("lifetime", name, [2]Lifetime{Temporary, Subgraph})
}

// Activation is the function fused into an operation; values are the NN HAL's FusedActivationFunc.
type Activation int32

// Fused activations: none, max(0, x), clamp to [-1, 1], clamp to [0, 6].
const (
	ActNone  Activation = 0 // none
	ActRelu  Activation = 1 // relu
	ActRelu1 Activation = 2 // relu1
	ActRelu6 Activation = 3 // relu6
)

// Padding schemes of the implicit forms of convolutions and pools.
const (
	PaddingSame  int32 = 1
	PaddingValid int32 = 2
)

// Preference is what the caller optimises for; values are the HAL's ExecutionPreference.
type Preference int32

// Execution preferences.
const (
	LowPower         Preference = 0 // LOW_POWER
	FastSingleAnswer Preference = 1 // FAST_SINGLE_ANSWER
	SustainedSpeed   Preference = 2 // SUSTAINED_SPEED
)

// Valid reports whether p is one of the three preferences.
func (p Preference) Valid() bool { return p >= LowPower && p <= SustainedSpeed }

// Priority orders executions of one client on one device; values are the HAL's.
type Priority int32

// Priorities of NN HAL 1.3.
const (
	PriorityLow    Priority = 0 // LOW
	PriorityMedium Priority = 1 // MEDIUM
	PriorityHigh   Priority = 2 // HIGH
)

// Valid reports whether p is one of the three priorities.
func (p Priority) Valid() bool { return p >= PriorityLow && p <= PriorityHigh }
