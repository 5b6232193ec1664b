package tflitegen

// Model is one file. Subgraphs[0] is the main subgraph; the others are what IF, WHILE and CALL_ONCE name.
type Model struct {
	Description string
	Subgraphs   []Subgraph

	// Metadata lists named blobs, each stored in a buffer of its own.
	Metadata []Blob

	// Info, when not nil, is written as the blob "TFLITE_METADATA" that TFLite Support defines.
	Info *ModelInfo

	// Files are packed into a zip archive behind the flatbuffer, where TFLite Support looks for the label files that
	// Info names. Readers of the flatbuffer do not see them.
	Files []Blob

	// Unchecked leaves out the consistency checks of Marshal, for files that are wrong on purpose.
	Unchecked bool
}

// Blob is a named run of bytes.
type Blob struct {
	Name string
	Data []byte
}

// Subgraph is a list of operators in execution order over a list of tensors. Inputs and Outputs index Tensors.
type Subgraph struct {
	Name      string
	Tensors   []Tensor
	Operators []Op
	Inputs    []int
	Outputs   []int
}

// Tensor is a value of a subgraph. With Data it is a constant: row-major, dense, little-endian.
type Tensor struct {
	Name  string
	Shape []int // empty for a scalar

	// ShapeSignature, when not nil, is Shape with -1 for every open dimension.
	ShapeSignature []int

	Type       TensorType
	Quant      Quant
	Data       []byte
	IsVariable bool
}

// Quant maps stored integers to real values: real = Scale[i] * (q - ZeroPoint[i]).
//
// One scale holds for the whole tensor; several are per index i of dimension Dim. ZeroPoint is as long as Scale.
// Without a scale the tensor is not quantized.
type Quant struct {
	Scale     []float32
	ZeroPoint []int64
	Dim       int
}

// PerTensor is the quantization of a whole tensor.
func PerTensor(scale float32, zeroPoint int64) Quant {
	return Quant{Scale: []float32{scale}, ZeroPoint: []int64{zeroPoint}}
}

// PerChannel is a symmetric quantization with one scale for each index of dimension dim.
func PerChannel(dim int, scale []float32) Quant {
	return Quant{Scale: scale, ZeroPoint: make([]int64, len(scale)), Dim: dim}
}

// OptionalTensor stands in Op.Inputs for an input that is left out.
const OptionalTensor = -1

// Op is one operator. Inputs and Outputs index the subgraph's tensors; OptionalTensor leaves an input out.
type Op struct {
	Code       Operator
	CustomCode string // the name of a Custom operator
	Version    int    // 0 means 1

	Inputs, Outputs []int
	Intermediates   []int

	Options       Options // nil for an operator without options
	CustomOptions []byte
}
