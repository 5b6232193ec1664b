package networks

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
	"github.com/nngpu/nngpu/driver/nn"
)

// File writes a network as a .tflite file with the given description.
//
// Engines for such files have no arithmetic of float16. A network of that type is written the way converters do: its
// weights are float16, and DEQUANTIZE turns them into float32, the type of everything else.
func File(n *Network, description string) ([]byte, error) {
	w := &fileWriter{m: n.Model, tensors: map[uint32]int{}}
	g := &w.graph
	for i := range w.m.Main.Operations {
		if w.operation(&w.m.Main.Operations[i]); w.err != nil {
			return nil, fmt.Errorf("operation %d (%v): %w", i, w.m.Main.Operations[i].Type, w.err)
		}
	}
	for _, side := range []struct {
		operands []uint32
		names    []string
		list     *[]int
	}{{w.m.Main.Inputs, w.m.Names.Inputs, &g.Inputs}, {w.m.Main.Outputs, w.m.Names.Outputs, &g.Outputs}} {
		for i, at := range side.operands {
			t := w.tensors[at]
			g.Tensors[t].Name = side.names[i]
			*side.list = append(*side.list, t)
		}
	}
	m := tflitegen.Model{Description: description, Subgraphs: []tflitegen.Subgraph{w.graph}}
	return m.Marshal()
}

// fileWriter makes a subgraph of a model. Its first error sticks.
type fileWriter struct {
	m       *nn.Model
	graph   tflitegen.Subgraph
	tensors map[uint32]int // of operands
	err     error
}

// value is that of a constant of the model.
func (w *fileWriter) value(operand uint32) []byte {
	b, err := w.m.Value(&w.m.Main.Operands[operand])
	w.err = cmp.Or(w.err, err)
	return b
}

var elements = map[nn.OperandType]tflitegen.TensorType{
	nn.TensorFloat32: tflitegen.Float32, nn.TensorFloat16: tflitegen.Float16, nn.TensorInt32: tflitegen.Int32,
	nn.TensorQuant8AsymmSigned: tflitegen.Int8, nn.TensorQuant8PerChannel: tflitegen.Int8,
}

// tensor is that of an operand.
func (w *fileWriter) tensor(operand uint32) int {
	if t, ok := w.tensors[operand]; ok {
		return t
	}
	o := &w.m.Main.Operands[operand]
	element, ok := elements[o.Type]
	if !ok {
		w.err = cmp.Or(w.err, fmt.Errorf("%v in a file", o.Type))
	}
	t := tflitegen.Tensor{Name: fmt.Sprintf("tensor%d", operand), Type: element}
	for _, d := range o.Dims {
		t.Shape = append(t.Shape, int(d))
	}
	switch {
	case o.Channel != nil:
		t.Quant = tflitegen.PerChannel(int(o.Channel.ChannelDim), o.Channel.Scales)
	case o.Scale != 0:
		t.Quant = tflitegen.PerTensor(o.Scale, int64(o.ZeroPoint))
	}
	t.Data = w.value(operand)
	if o.Type == nn.TensorFloat16 {
		return w.half(operand, t)
	}
	return w.add(operand, t)
}

// half adds a tensor of float16: a constant together with its conversion to float32; anything else as float32.
func (w *fileWriter) half(operand uint32, t tflitegen.Tensor) int {
	wide := t
	wide.Type, wide.Data = tflitegen.Float32, nil
	if t.Data == nil {
		return w.add(operand, wide)
	}
	t.Name += "/half"
	w.graph.Tensors = append(w.graph.Tensors, t)
	narrow := len(w.graph.Tensors) - 1
	at := w.add(operand, wide)
	w.emit(tflitegen.OpDequantize, []int{narrow}, []int{at}, nil)
	return at
}

func (w *fileWriter) add(operand uint32, t tflitegen.Tensor) int {
	w.graph.Tensors = append(w.graph.Tensors, t)
	w.tensors[operand] = len(w.graph.Tensors) - 1
	return w.tensors[operand]
}

// vector adds a constant of INT32; without dims of shape [len(v)].
func (w *fileWriter) vector(v ...int32) int {
	t := tflitegen.Tensor{Name: fmt.Sprintf("constant%d", len(w.graph.Tensors)), Shape: []int{len(v)}, Type: tflitegen.Int32, Data: nn.Bytes(v)}
	w.graph.Tensors = append(w.graph.Tensors, t)
	return len(w.graph.Tensors) - 1
}

func (w *fileWriter) emit(code tflitegen.Operator, inputs, outputs []int, o tflitegen.Options) {
	op := tflitegen.Op{Code: code, Version: w.version(code, inputs), Inputs: inputs, Outputs: outputs, Options: o}
	w.graph.Operators = append(w.graph.Operators, op)
}

// version is that which TensorFlow Lite gives the operator for such tensors (tools/versioning/op_version.cc).
func (w *fileWriter) version(code tflitegen.Operator, inputs []int) int {
	type row struct{ float, int8 int }
	versions := map[tflitegen.Operator]row{
		tflitegen.OpConv2D: {1, 3}, tflitegen.OpDepthwiseConv2D: {1, 3}, tflitegen.OpFullyConnected: {1, 4},
		tflitegen.OpAdd: {1, 2}, tflitegen.OpAveragePool2D: {1, 2}, tflitegen.OpMaxPool2D: {1, 2},
		tflitegen.OpConcatenation: {1, 2}, tflitegen.OpSoftmax: {1, 2}, tflitegen.OpTranspose: {1, 2},
		tflitegen.OpSplit: {1, 2}, tflitegen.OpSlice: {1, 2}, tflitegen.OpDequantize: {1, 2},
	}
	r, ok := versions[code]
	if !ok {
		return 1
	}
	for _, i := range inputs {
		switch t := w.graph.Tensors[i]; {
		case t.Type == tflitegen.Float16:
			return 3 // DEQUANTIZE
		case code == tflitegen.OpFullyConnected && t.Data != nil && len(t.Quant.Scale) > 1:
			return 12 // scales for each channel
		case t.Type == tflitegen.Int8:
			return r.int8
		}
	}
	return r.float
}

// scalars are the values of an operation's inputs after the first n, all scalars of 32 bits or less.
func (w *fileWriter) scalars(op *nn.Operation, n int) []int32 {
	var list []int32
	for _, at := range op.Inputs[n:] {
		word := make([]byte, 4)
		copy(word, w.value(at))
		list = append(list, int32(binary.LittleEndian.Uint32(word)))
	}
	return list
}

// ints are the elements of a constant of INT32.
func (w *fileWriter) ints(operand uint32) []int32 {
	b := w.value(operand)
	list := make([]int32, len(b)/4)
	for i := range list {
		list[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return list
}

// float is a scalar of FLOAT32 or FLOAT16.
func (w *fileWriter) float(operand uint32) float32 {
	word := make([]byte, 4)
	copy(word, w.value(operand))
	if w.m.Main.Operands[operand].Type == nn.Float16 {
		return nn.Half(binary.LittleEndian.Uint16(word)).Float32()
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(word))
}
