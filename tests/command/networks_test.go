package command

import (
	"encoding/binary"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
)

// pairNetwork writes a network with the float inputs "left" and "right" of [1 2 3] and the outputs
// "sum" and "quotient".
func pairNetwork(t *testing.T) string {
	t.Helper()
	tensor := func(name string) tflitegen.Tensor {
		return tflitegen.Tensor{Name: name, Shape: []int{1, 2, 3}, Type: tflitegen.Float32}
	}
	return network(t, tflitegen.Subgraph{
		Tensors: []tflitegen.Tensor{tensor("left"), tensor("right"), tensor("sum"), tensor("quotient")},
		Inputs:  []int{0, 1}, Outputs: []int{2, 3},
		Operators: []tflitegen.Op{
			{Code: tflitegen.OpAdd, Inputs: []int{0, 1}, Outputs: []int{2}, Options: tflitegen.AddOptions{}},
			{Code: tflitegen.OpDiv, Inputs: []int{0, 1}, Outputs: []int{3}, Options: tflitegen.DivOptions{}},
		},
	})
}

// slowNetwork writes a network that keeps a software device busy for many seconds in one execution.
func slowNetwork(t *testing.T) string {
	t.Helper()
	const side, channels, layers = 320, 64, 24
	g := tflitegen.Subgraph{
		Tensors: []tflitegen.Tensor{
			{Name: "filter", Shape: []int{channels, 3, 3, channels}, Type: tflitegen.Float32, Data: make([]byte, channels*3*3*channels*4)},
			{Name: "bias", Shape: []int{channels}, Type: tflitegen.Float32, Data: make([]byte, channels*4)},
			{Name: "x", Shape: []int{1, side, side, channels}, Type: tflitegen.Float32},
		},
		Inputs: []int{2},
	}
	for i := range layers {
		g.Tensors = append(g.Tensors, tflitegen.Tensor{Name: "y", Shape: []int{1, side, side, channels}, Type: tflitegen.Float32})
		g.Operators = append(g.Operators, tflitegen.Op{
			Code: tflitegen.OpConv2D, Inputs: []int{2 + i, 0, 1}, Outputs: []int{3 + i},
			Options: tflitegen.Conv2DOptions{Padding: tflitegen.Same, StrideW: 1, StrideH: 1, DilationW: 1, DilationH: 1},
		})
	}
	g.Outputs = []int{2 + layers}
	return network(t, g)
}

func network(t *testing.T, g tflitegen.Subgraph) string {
	t.Helper()
	m := tflitegen.Model{Description: "test network", Subgraphs: []tflitegen.Subgraph{g}}
	data, err := m.Marshal()
	require.NoError(t, err)
	return write(t, filepath.Join(t.TempDir(), "model.tflite"), data)
}

// floats are the little-endian bytes of values.
func floats(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// npy is a file of NumPy's format, version 1.0.
func npy(descr, order, shape string, data []byte) []byte {
	head := "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	return append(append(b, head...), data...)
}
