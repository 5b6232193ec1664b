package nn

import "fmt"

// Level is a feature level of NNAPI: of operations, of operand types, and of the rules that a model was made for. 0 stands
// for the driver's own extension, and in a model for the newest level.
type Level int

// Feature levels, by the version of the HAL that they came with.
const (
	HAL10 Level = 1 + iota
	HAL11
	HAL12
	HAL13
	AIDL1
	AIDL2
	AIDL3
	AIDL4
)

// Valid reports whether l is one of the feature levels, or 0.
func (l Level) Valid() bool { return l >= 0 && l <= AIDL4 }

// String is the version of the HAL that the level is of.
func (l Level) String() string {
	switch {
	case l < HAL10:
		return "extension"
	case l <= HAL13:
		return fmt.Sprintf("1.%d", l-HAL10)
	}
	return fmt.Sprintf("AIDL %d", l-HAL13)
}

// Since is the first level that has operands of the type: NN HAL 1.0 to 1.3, types.hal. 0 of an unknown type.
func (t OperandType) Since() Level {
	switch {
	case !t.Valid():
		return 0
	case t <= TensorQuant8Asymm:
		return HAL10
	case t <= TensorQuant8Symm:
		return HAL12
	}
	return HAL13
}

// Since is the first level that has the operation, with some types: NN HAL 1.0 to 1.3, types.hal, and the operation codes
// of NNAPI behind them. 0 of the driver's extension.
func (t OperationType) Since() Level {
	switch {
	case !t.Valid() || t > OpReverse:
		return 0
	case t < OpBatchToSpaceNd:
		return HAL10
	case t < OpAbs:
		return HAL11
	case t < OpQuantizedLstm:
		return HAL12
	case t < OpBatchMatmul:
		return HAL13
	case t < OpMirrorPad:
		return AIDL2
	}
	return AIDL3
}
