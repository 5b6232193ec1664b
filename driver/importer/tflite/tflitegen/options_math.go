package tflitegen

// AddOptions belong to ADD.
type AddOptions struct {
	Activation Activation
}

func (o AddOptions) table() (byte, []Field) { return 11, fieldsOf(o) }

// SubOptions belong to SUB.
type SubOptions struct {
	Activation Activation
}

func (o SubOptions) table() (byte, []Field) { return 28, fieldsOf(o) }

// MulOptions belong to MUL.
type MulOptions struct {
	Activation Activation
}

func (o MulOptions) table() (byte, []Field) { return 21, fieldsOf(o) }

// DivOptions belong to DIV.
type DivOptions struct {
	Activation Activation
}

func (o DivOptions) table() (byte, []Field) { return 29, fieldsOf(o) }

// ReducerOptions belong to MEAN, SUM and the REDUCE family.
type ReducerOptions struct {
	KeepDims bool
}

func (o ReducerOptions) table() (byte, []Field) { return 27, fieldsOf(o) }

// CumsumOptions belong to CUMSUM.
type CumsumOptions struct {
	Exclusive bool
	Reverse   bool
}

func (o CumsumOptions) table() (byte, []Field) { return 102, fieldsOf(o) }

// CastOptions belong to CAST.
type CastOptions struct {
	InDataType  TensorType
	OutDataType TensorType
}

func (o CastOptions) table() (byte, []Field) { return 37, fieldsOf(o) }

// ArgMaxOptions belong to ARG_MAX.
type ArgMaxOptions struct {
	OutputType TensorType
}

func (o ArgMaxOptions) table() (byte, []Field) { return 40, fieldsOf(o) }

// ArgMinOptions belong to ARG_MIN.
type ArgMinOptions struct {
	OutputType TensorType
}

func (o ArgMinOptions) table() (byte, []Field) { return 57, fieldsOf(o) }

// LeakyReluOptions belong to LEAKY_RELU.
type LeakyReluOptions struct {
	Alpha float32
}

func (o LeakyReluOptions) table() (byte, []Field) { return 75, fieldsOf(o) }

// GeluOptions belong to GELU.
type GeluOptions struct {
	Approximate bool
}

func (o GeluOptions) table() (byte, []Field) { return 116, fieldsOf(o) }

// IfOptions belong to IF.
type IfOptions struct {
	ThenSubgraphIndex int32
	ElseSubgraphIndex int32
}

func (o IfOptions) table() (byte, []Field) { return 92, fieldsOf(o) }

// WhileOptions belong to WHILE.
type WhileOptions struct {
	CondSubgraphIndex int32
	BodySubgraphIndex int32
}

func (o WhileOptions) table() (byte, []Field) { return 93, fieldsOf(o) }
