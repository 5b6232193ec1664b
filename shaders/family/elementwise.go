package family

// UnaryOp is a function of elementwise/unary.comp.
type UnaryOp string

// Functions of one operand. Clamp is the RELU family.
const (
	Clamp     UnaryOp = "clamp"
	Elu       UnaryOp = "elu"
	HardSwish UnaryOp = "hardswish"
	Tanh      UnaryOp = "tanh"
	Logistic  UnaryOp = "logistic"
	Abs       UnaryOp = "abs"
	Neg       UnaryOp = "neg"
	Exp       UnaryOp = "exp"
	Log       UnaryOp = "log"
	Sqrt      UnaryOp = "sqrt"
	Rsqrt     UnaryOp = "rsqrt"
	Sin       UnaryOp = "sin"
	Floor     UnaryOp = "floor"
)

// UnaryOps are all of them. Floats have all, TENSOR_INT32 those of UnaryIntegerOps; those of 8-bit types go by a table.
var (
	UnaryOps        = []UnaryOp{Clamp, Elu, HardSwish, Tanh, Logistic, Abs, Neg, Exp, Log, Sqrt, Rsqrt, Sin, Floor}
	UnaryIntegerOps = []UnaryOp{Abs, Neg}
)

// Unary is the key of elementwise/unary.comp.
type Unary struct {
	Op   UnaryOp
	Elem Elem
}

// Name implements Key.
func (k Unary) Name() string { return "unary_" + string(k.Op) + "_" + string(k.Elem) }

// BinaryOp is a function of elementwise/binary.comp.
type BinaryOp string

// Functions of two operands. AddSub and MaxMin are of 8-bit types only.
const (
	Add    BinaryOp = "add"
	Sub    BinaryOp = "sub"
	Mul    BinaryOp = "mul"
	Div    BinaryOp = "div"
	Max    BinaryOp = "max"
	Min    BinaryOp = "min"
	SqDiff BinaryOp = "sqdiff"
	Pow    BinaryOp = "pow"
	Prelu  BinaryOp = "prelu"
	AddSub BinaryOp = "addsub"
	MaxMin BinaryOp = "maxmin"
)

// BinaryOps are those of floats, BinaryIntegerOps those of TENSOR_INT32, BinaryByteOps those of 8-bit types.
var (
	BinaryOps        = []BinaryOp{Add, Sub, Mul, Div, Max, Min, SqDiff, Pow, Prelu}
	BinaryIntegerOps = []BinaryOp{Add, Sub, Mul, Div, Max, Min, SqDiff}
	BinaryByteOps    = []BinaryOp{AddSub, Mul, MaxMin, Prelu, SqDiff}
)

// Operands says how the second operand of a binary kernel lies, and the first; see elementwise/broadcast.glsl.
type Operands uint8

// Forms of operands.
const (
	Same      Operands = iota // both as the output
	Row                       // the first as the output, the second one row or one number
	Broadcast                 // any others
)

// suffix is what names have for o.
func (o Operands) suffix() string { return [...]string{"", "_row", "_bcast"}[o] }

// Binary is the key of elementwise/binary.comp.
type Binary struct {
	Op       BinaryOp
	Elem     Elem
	Operands Operands
	Access   Access
}

// Name implements Key.
func (k Binary) Name() string {
	return "binary_" + string(k.Op) + "_" + string(k.Elem) + k.Operands.suffix() + k.Access.suffix()
}

// Compare is the key of elementwise/compare.comp, which does every comparison; booleans are Q8.
type Compare struct {
	Elem     Elem
	Operands Operands
}

// Name implements Key.
func (k Compare) Name() string { return "compare_" + string(k.Elem) + k.Operands.suffix() }

// Cast is the key of elementwise/cast.comp, which converts stored numbers; Q8 are unsigned.
type Cast struct{ From, To Elem }

// Name implements Key.
func (k Cast) Name() string {
	name := map[Elem]string{F32: "f32", F16: "f16", I32: "i32", Q8: "u8"}
	return "cast_" + name[k.From] + "_" + name[k.To]
}

// Quantize is the key of elementwise/quantize.comp, from Elem to 8 or, Wide, 16 bits.
type Quantize struct {
	Elem Elem
	Wide bool
}

// Name implements Key.
func (k Quantize) Name() string { return "quantize_" + on(k.Wide, "wide_") + string(k.Elem) }

// Dequantize is the key of elementwise/dequantize.comp, from 8 or, Wide, 16 bits to Elem.
type Dequantize struct {
	Elem Elem
	Wide bool
}

// Name implements Key.
func (k Dequantize) Name() string { return "dequantize_" + on(k.Wide, "wide_") + string(k.Elem) }

// Program is the key of elementwise/program.comp, which does several operations on floats at once.
type Program struct{ Elem Elem }

// Name implements Key.
func (k Program) Name() string { return "program_" + string(k.Elem) }
