package nn

import "fmt"

// OperandType is the element type of an operand; values are the NN HAL's.
type OperandType int32

// Operand types of NN HAL 1.3. The scalar types describe one value, the Tensor types row-major arrays.
const (
	Float32                 OperandType = 0
	Int32                   OperandType = 1
	Uint32                  OperandType = 2
	TensorFloat32           OperandType = 3
	TensorInt32             OperandType = 4
	TensorQuant8Asymm       OperandType = 5
	Bool                    OperandType = 6
	TensorQuant16Symm       OperandType = 7
	TensorFloat16           OperandType = 8
	TensorBool8             OperandType = 9
	Float16                 OperandType = 10
	TensorQuant8PerChannel  OperandType = 11
	TensorQuant16Asymm      OperandType = 12
	TensorQuant8Symm        OperandType = 13
	TensorQuant8AsymmSigned OperandType = 14
	SubgraphRef             OperandType = 15
)

type typeFact struct {
	name   string
	bytes  int
	tensor bool
}

// From NN HAL 1.3 types.hal, OperandType.
var typeFacts = [...]typeFact{
	Float32:                 {"FLOAT32", 4, false},
	Int32:                   {"INT32", 4, false},
	Uint32:                  {"UINT32", 4, false},
	TensorFloat32:           {"TENSOR_FLOAT32", 4, true},
	TensorInt32:             {"TENSOR_INT32", 4, true},
	TensorQuant8Asymm:       {"TENSOR_QUANT8_ASYMM", 1, true},
	Bool:                    {"BOOL", 1, false},
	TensorQuant16Symm:       {"TENSOR_QUANT16_SYMM", 2, true},
	TensorFloat16:           {"TENSOR_FLOAT16", 2, true},
	TensorBool8:             {"TENSOR_BOOL8", 1, true},
	Float16:                 {"FLOAT16", 2, false},
	TensorQuant8PerChannel:  {"TENSOR_QUANT8_SYMM_PER_CHANNEL", 1, true},
	TensorQuant16Asymm:      {"TENSOR_QUANT16_ASYMM", 2, true},
	TensorQuant8Symm:        {"TENSOR_QUANT8_SYMM", 1, true},
	TensorQuant8AsymmSigned: {"TENSOR_QUANT8_ASYMM_SIGNED", 1, true},
	SubgraphRef:             {"SUBGRAPH", 0, false},
}

// Valid reports whether t is a type of NN HAL 1.3.
func (t OperandType) Valid() bool { return t >= 0 && int(t) < len(typeFacts) }

func (t OperandType) String() string {
	if t.Valid() {
		return typeFacts[t].name
	}
	return fmt.Sprintf("OperandType(%d)", int32(t))
}

// ParseOperandType returns the type of the given HAL name, such as "TENSOR_FLOAT32".
func ParseOperandType(name string) (OperandType, error) {
	for i, f := range typeFacts {
		if f.name == name {
			return OperandType(i), nil
		}
	}
	return 0, fmt.Errorf("unknown operand type %q", name)
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
	Temporary         Lifetime = 0
	SubgraphInput     Lifetime = 1
	SubgraphOutput    Lifetime = 2
	ConstantCopy      Lifetime = 3
	ConstantReference Lifetime = 4
	NoValue           Lifetime = 5
	Subgraph          Lifetime = 6
)

var lifetimeNames = [...]string{"TEMPORARY_VARIABLE", "SUBGRAPH_INPUT", "SUBGRAPH_OUTPUT", "CONSTANT_COPY", "CONSTANT_REFERENCE", "NO_VALUE", "SUBGRAPH"}

// Valid reports whether l is a lifetime of NN HAL 1.3.
func (l Lifetime) Valid() bool { return l >= 0 && int(l) < len(lifetimeNames) }

func (l Lifetime) String() string {
	if l.Valid() {
		return lifetimeNames[l]
	}
	return fmt.Sprintf("Lifetime(%d)", int32(l))
}

// ParseLifetime returns the lifetime of the given HAL name.
func ParseLifetime(name string) (Lifetime, error) {
	for i, n := range lifetimeNames {
		if n == name {
			return Lifetime(i), nil
		}
	}
	return 0, fmt.Errorf("unknown lifetime %q", name)
}

// Activation is the function fused into an operation; values are the NN HAL's FusedActivationFunc.
type Activation int32

// Fused activations.
const (
	ActNone  Activation = 0
	ActRelu  Activation = 1 // max(0, x)
	ActRelu1 Activation = 2 // clamp to [-1, 1]
	ActRelu6 Activation = 3 // clamp to [0, 6]
)

func (a Activation) String() string {
	if a >= 0 && a <= ActRelu6 {
		return [...]string{"none", "relu", "relu1", "relu6"}[a]
	}
	return fmt.Sprintf("Activation(%d)", int32(a))
}

// Padding schemes of the implicit forms of convolutions and pools.
const (
	PaddingSame  int32 = 1
	PaddingValid int32 = 2
)

// Preference is what the caller optimises for; values are the HAL's ExecutionPreference.
type Preference int32

// Execution preferences.
const (
	LowPower         Preference = 0
	FastSingleAnswer Preference = 1
	SustainedSpeed   Preference = 2
)

// Valid reports whether p is one of the three preferences.
func (p Preference) Valid() bool { return p >= LowPower && p <= SustainedSpeed }

func (p Preference) String() string {
	if p.Valid() {
		return [...]string{"LOW_POWER", "FAST_SINGLE_ANSWER", "SUSTAINED_SPEED"}[p]
	}
	return fmt.Sprintf("Preference(%d)", int32(p))
}

// Priority orders executions of one client on one device; values are the HAL's.
type Priority int32

// Priorities of NN HAL 1.3.
const (
	PriorityLow    Priority = 0
	PriorityMedium Priority = 1
	PriorityHigh   Priority = 2
)

// Valid reports whether p is one of the three priorities.
func (p Priority) Valid() bool { return p >= PriorityLow && p <= PriorityHigh }

func (p Priority) String() string {
	if p.Valid() {
		return [...]string{"LOW", "MEDIUM", "HIGH"}[p]
	}
	return fmt.Sprintf("Priority(%d)", int32(p))
}
