package tflitegen

// AddOptions belong to ADD.
type AddOptions struct {
	Activation Activation
}

func (o AddOptions) table() (byte, []Field) {
	return 11, []Field{
		Int8Field(0, int8(o.Activation)),
	}
}

// SubOptions belong to SUB.
type SubOptions struct {
	Activation Activation
}

func (o SubOptions) table() (byte, []Field) {
	return 28, []Field{
		Int8Field(0, int8(o.Activation)),
	}
}

// MulOptions belong to MUL.
type MulOptions struct {
	Activation Activation
}

func (o MulOptions) table() (byte, []Field) {
	return 21, []Field{
		Int8Field(0, int8(o.Activation)),
	}
}

// DivOptions belong to DIV.
type DivOptions struct {
	Activation Activation
}

func (o DivOptions) table() (byte, []Field) {
	return 29, []Field{
		Int8Field(0, int8(o.Activation)),
	}
}

// ReducerOptions belong to MEAN, SUM and the REDUCE family.
type ReducerOptions struct {
	KeepDims bool
}

func (o ReducerOptions) table() (byte, []Field) {
	return 27, []Field{
		BoolField(0, o.KeepDims),
	}
}

// CumsumOptions belong to CUMSUM.
type CumsumOptions struct {
	Exclusive bool
	Reverse   bool
}

func (o CumsumOptions) table() (byte, []Field) {
	return 102, []Field{
		BoolField(0, o.Exclusive),
		BoolField(1, o.Reverse),
	}
}

// CastOptions belong to CAST.
type CastOptions struct {
	InDataType  TensorType
	OutDataType TensorType
}

func (o CastOptions) table() (byte, []Field) {
	return 37, []Field{
		Int8Field(0, int8(o.InDataType)),
		Int8Field(1, int8(o.OutDataType)),
	}
}

// ArgMaxOptions belong to ARG_MAX.
type ArgMaxOptions struct {
	OutputType TensorType
}

func (o ArgMaxOptions) table() (byte, []Field) {
	return 40, []Field{
		Int8Field(0, int8(o.OutputType)),
	}
}

// ArgMinOptions belong to ARG_MIN.
type ArgMinOptions struct {
	OutputType TensorType
}

func (o ArgMinOptions) table() (byte, []Field) {
	return 57, []Field{
		Int8Field(0, int8(o.OutputType)),
	}
}

// LeakyReluOptions belong to LEAKY_RELU.
type LeakyReluOptions struct {
	Alpha float32
}

func (o LeakyReluOptions) table() (byte, []Field) {
	return 75, []Field{
		FloatField(0, o.Alpha),
	}
}

// GeluOptions belong to GELU.
type GeluOptions struct {
	Approximate bool
}

func (o GeluOptions) table() (byte, []Field) {
	return 116, []Field{
		BoolField(0, o.Approximate),
	}
}

// IfOptions belong to IF.
type IfOptions struct {
	ThenSubgraphIndex int32
	ElseSubgraphIndex int32
}

func (o IfOptions) table() (byte, []Field) {
	return 92, []Field{
		Int32Field(0, o.ThenSubgraphIndex),
		Int32Field(1, o.ElseSubgraphIndex),
	}
}

// WhileOptions belong to WHILE.
type WhileOptions struct {
	CondSubgraphIndex int32
	BodySubgraphIndex int32
}

func (o WhileOptions) table() (byte, []Field) {
	return 93, []Field{
		Int32Field(0, o.CondSubgraphIndex),
		Int32Field(1, o.BodySubgraphIndex),
	}
}
