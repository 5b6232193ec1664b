// Package importer runs networks of single TensorFlow Lite operators. What comes out is compared with what TensorFlow Lite's
// definition of the operator gives, which the cases compute by themselves: of indices and elements, without the importer.
package importer

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/importer/tflite"
	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/internal/conformancedata"
	"github.com/nngpu/nngpu/internal/devices"
	"github.com/nngpu/nngpu/tests/internal/ref"
)

// net is a file under construction, with what its inputs get.
type net struct {
	sub    g.Subgraph
	inputs [][]byte
}

func (n *net) tensor(t g.Tensor) int {
	n.sub.Tensors = append(n.sub.Tensors, t)
	return len(n.sub.Tensors) - 1
}

// input adds an input and its value.
func (n *net) input(t g.TensorType, shape []int, value []byte) int {
	x := n.tensor(g.Tensor{Name: "x", Type: t, Shape: shape})
	n.sub.Inputs, n.inputs = append(n.sub.Inputs, x), append(n.inputs, value)
	return x
}

func (n *net) floats(shape []int, v ...float32) int { return n.input(g.Float32, shape, floats(v...)) }

// constant adds a constant.
func (n *net) constant(t g.TensorType, shape []int, value []byte) int {
	return n.tensor(g.Tensor{Name: "c", Type: t, Shape: shape, Data: value})
}

func (n *net) ints(shape []int, v ...int32) int { return n.constant(g.Int32, shape, int32s(v...)) }

// vector is a constant of rank 1.
func (n *net) vector(v ...int32) int { return n.ints([]int{len(v)}, v...) }

// op adds an operator and returns its outputs.
func (n *net) op(code g.Operator, o g.Options, outputs []g.Tensor, inputs ...int) []int {
	op := g.Op{Code: code, Version: 1, Options: o, Inputs: inputs}
	for _, y := range outputs {
		op.Outputs = append(op.Outputs, n.tensor(y))
	}
	n.sub.Operators = append(n.sub.Operators, op)
	return op.Outputs
}

func one(t g.TensorType, shape ...int) []g.Tensor {
	return []g.Tensor{{Name: "y", Type: t, Shape: shape}}
}

func floats(v ...float32) []byte { return nn.Bytes(v) }
func int32s(v ...int32) []byte   { return nn.Bytes(v) }

// count are the numbers 0, 1, 2, ...
func count(n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(i)
	}
	return list
}

// expectation is a case: build makes the network and returns its outputs and what they are to hold.
type expectation struct {
	name  string
	build func(n *net) (outputs []int, want [][]byte)
	tol   conformancedata.Tolerance
}

// runAll runs the cases in the oracle and on every device.
func runAll(t *testing.T, cases []expectation) {
	t.Helper()
	type prepared struct {
		expectation
		network *importer.Network
		inputs  [][]byte
		want    [][]byte
	}
	var list []prepared
	for _, tc := range cases {
		var n net
		outputs, want := tc.build(&n)
		n.sub.Outputs = outputs
		data, err := (&g.Model{Subgraphs: []g.Subgraph{n.sub}}).Marshal()
		require.NoError(t, err, tc.name)
		network, err := tflite.Import(data)
		require.NoError(t, err, tc.name)
		list = append(list, prepared{tc, network, n.inputs, want})
	}
	check := func(t *testing.T, p prepared, got [][]byte) {
		t.Helper()
		require.Len(t, got, len(p.want))
		for i, want := range p.want {
			o := p.network.Model.Main.Operands[p.network.Model.Main.Outputs[i]]
			require.NoError(t, conformancedata.CompareValues(o.Type, p.tol, got[i], want), "output %d %v %v", i, o.Type, o.Dims)
		}
	}
	t.Run("oracle", func(t *testing.T) {
		for _, p := range list {
			t.Run(p.name, func(t *testing.T) {
				got, _, err := ref.Run(p.network.Model, p.inputs)
				require.NoError(t, err)
				check(t, p, got)
			})
		}
	})
	devices.Each(t, func(t *testing.T, d *driver.Device) {
		client, err := d.NewClient(t.Name())
		require.NoError(t, err)
		defer client.Close()
		for _, p := range list {
			t.Run(p.name, func(t *testing.T) {
				pm, err := client.PrepareModel(context.Background(), p.network.Model)
				require.NoError(t, err)
				defer pm.Close()
				got := pm.NewOutputs()
				_, err = pm.Run(context.Background(), p.inputs, got)
				require.NoError(t, err)
				check(t, p, got)
			})
		}
	})
}

// at is element i of float32 bytes.
func at(b []byte, i int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])) }
