package tflite

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
)

// sharedDir returns the folder of data beside the module, and skips the test when there is none.
func sharedDir(t testing.TB) string {
	t.Helper()
	return nntest.Shared(t)
}

// net builds small files: tensors are added one by one, operators refer to them.
type net struct {
	g tflitegen.Subgraph
}

func (n *net) tensor(t tflitegen.Tensor) int {
	n.g.Tensors = append(n.g.Tensors, t)
	return len(n.g.Tensors) - 1
}

func (n *net) input(typ tflitegen.TensorType, q tflitegen.Quant, shape ...int) int {
	i := n.tensor(tflitegen.Tensor{Name: "x", Type: typ, Quant: q, Shape: shape})
	n.g.Inputs = append(n.g.Inputs, i)
	return i
}

func (n *net) floats(shape ...int) int {
	size := 4
	for _, d := range shape {
		size *= d
	}
	return n.tensor(tflitegen.Tensor{Name: "w", Shape: shape, Data: make([]byte, size)})
}

func (n *net) bytes(typ tflitegen.TensorType, q tflitegen.Quant, shape ...int) int {
	size := 1
	for _, d := range shape {
		size *= d
	}
	return n.tensor(tflitegen.Tensor{Name: "w", Type: typ, Quant: q, Shape: shape, Data: make([]byte, size)})
}

func (n *net) ints(shape []int, x ...int32) int {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return n.tensor(tflitegen.Tensor{Name: "p", Type: tflitegen.Int32, Shape: shape, Data: b})
}

func (n *net) longs(shape []int, x ...int64) int {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return n.tensor(tflitegen.Tensor{Name: "p", Type: tflitegen.Int64, Shape: shape, Data: b})
}

// op adds an operator with one new output and returns that.
func (n *net) op(code tflitegen.Operator, o tflitegen.Options, out tflitegen.Tensor, inputs ...int) int {
	y := n.tensor(out)
	n.g.Operators = append(n.g.Operators, tflitegen.Op{Code: code, Options: o, Inputs: inputs, Outputs: []int{y}})
	return y
}

// topK adds a TOPK_V2 of x and returns its outputs.
func (n *net) topK(x, k int, outputs ...tflitegen.Tensor) []int {
	op := tflitegen.Op{Code: tflitegen.OpTopKV2, Inputs: []int{x, k}}
	for _, o := range outputs {
		op.Outputs = append(op.Outputs, n.tensor(o))
	}
	n.g.Operators = append(n.g.Operators, op)
	return op.Outputs
}

// split adds a SPLIT of x and returns its outputs.
func (n *net) split(axis int32, parts int, x int, outputs ...tflitegen.Tensor) []int {
	op := tflitegen.Op{Code: tflitegen.OpSplit, Options: tflitegen.SplitOptions{NumSplits: int32(parts)}, Inputs: []int{n.ints(nil, axis), x}}
	for _, o := range outputs {
		op.Outputs = append(op.Outputs, n.tensor(o))
	}
	n.g.Operators = append(n.g.Operators, op)
	return op.Outputs
}

func (n *net) model() *tflitegen.Model {
	return &tflitegen.Model{Description: "test", Subgraphs: []tflitegen.Subgraph{n.g}}
}

// file finishes the network: y are its outputs.
func (n *net) file(t testing.TB, y ...int) []byte {
	t.Helper()
	n.g.Outputs = y
	return marshal(t, n.model())
}

func marshal(t testing.TB, m *tflitegen.Model) []byte {
	t.Helper()
	b, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func shaped(typ tflitegen.TensorType, q tflitegen.Quant, shape ...int) tflitegen.Tensor {
	return tflitegen.Tensor{Name: "y", Type: typ, Quant: q, Shape: shape}
}

func f32(shape ...int) tflitegen.Tensor {
	return shaped(tflitegen.Float32, tflitegen.Quant{}, shape...)
}

var none tflitegen.Quant

// operations lists the names of a model's operations.
func operations(m *nn.Model) string {
	var names []string
	for _, o := range m.Main.Operations {
		names = append(names, o.Type.String())
	}
	return strings.Join(names, " ")
}

// constantInts decodes the value of an integer operand.
func constantInts(t testing.TB, m *nn.Model, operand uint32) []int32 {
	t.Helper()
	b, err := m.Value(&m.Main.Operands[operand])
	if err != nil || b == nil {
		t.Fatalf("operand %d: value %v, %v", operand, b, err)
	}
	var x []int32
	for ; len(b) >= 4; b = b[4:] {
		x = append(x, int32(binary.LittleEndian.Uint32(b)))
	}
	return x
}

func constantFloats(t testing.TB, m *nn.Model, operand uint32) []float32 {
	t.Helper()
	var x []float32
	for _, v := range constantInts(t, m, operand) {
		x = append(x, math.Float32frombits(uint32(v)))
	}
	return x
}

// translation is a case of a table test: build returns the outputs of the network.
type translation struct {
	name  string
	build func(n *net) int
	want  string // operations
	err   string // part of the message, when the import must fail
	check func(t *testing.T, m *nn.Model)
}

func runTranslations(t *testing.T, cases []translation) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			n := &net{}
			got, err := imported(n.file(t, tc.build(n)))
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("error %v, want one with %q", err, tc.err)
				}
				if nn.StatusOf(err) != nn.StatusInvalidArgument {
					t.Fatalf("status %v", nn.StatusOf(err))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if ops := operations(got.Model); ops != tc.want {
				t.Fatalf("operations %s, want %s", ops, tc.want)
			}
			last := got.Model.Main.Operations[len(got.Model.Main.Operations)-1]
			if !slices.ContainsFunc(last.Outputs, func(x uint32) bool { return got.Model.Main.Operands[x].Lifetime == nn.SubgraphOutput }) {
				t.Fatal("no result of the last operation is an output")
			}
			if tc.check != nil {
				tc.check(t, got.Model)
			}
		})
	}
}
