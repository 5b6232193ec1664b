package tflite

import (
	"encoding/binary"
	"slices"
	"testing"

	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

func TestQuantisation(t *testing.T) {
	q := g.PerTensor(0.5, 3)
	half := func(x ...uint16) []byte {
		var b []byte
		for _, v := range x {
			b = binary.LittleEndian.AppendUint16(b, v)
		}
		return b
	}
	runTranslations(t, []translation{
		{name: "quantize", want: "QUANTIZE", build: func(n *net) int {
			return n.op(g.OpQuantize, nil, shaped(g.Int8, q, 5), n.input(g.Float32, none, 5))
		}},
		{name: "dequantize", want: "DEQUANTIZE", build: func(n *net) int {
			return n.op(g.OpDequantize, nil, f32(5), n.input(g.Uint8, q, 5))
		}},
		{name: "dequantize of float16 data", want: "CAST", build: func(n *net) int {
			return n.op(g.OpDequantize, nil, f32(5), n.input(g.Float16, none, 5))
		}},
		{name: "dequantize of a float16 constant", want: "ADD", build: func(n *net) int {
			w := n.tensor(g.Tensor{Type: g.Float16, Shape: []int{3}, Data: half(0x3C00, 0xC000, 1)})
			f := n.op(g.OpDequantize, nil, f32(3), w)
			return n.op(g.OpAdd, g.AddOptions{}, f32(2, 3), n.input(g.Float32, none, 2, 3), f)
		}, check: func(t *testing.T, m *nn.Model) {
			if x := constantFloats(t, m, m.Main.Operations[0].Inputs[1]); !slices.Equal(x, []float32{1, -2, 1.0 / (1 << 24)}) {
				t.Errorf("widened to %v", x)
			}
		}},
		{name: "float16 bias of rank 2", want: "FULLY_CONNECTED", build: func(n *net) int {
			w := n.tensor(g.Tensor{Type: g.Float16, Shape: []int{1, 3}, Data: half(0x3C00, 0xC000, 1)})
			f := n.op(g.OpDequantize, nil, f32(1, 3), w)
			return n.op(g.OpFullyConnected, nil, f32(2, 3), n.input(g.Float32, none, 2, 7), n.floats(3, 7), f)
		}},
		{name: "dequantize of per-channel weights", want: "DEQUANTIZE ADD", build: func(n *net) int {
			f := n.op(g.OpDequantize, nil, f32(2, 3), n.bytes(g.Int8, g.PerChannel(0, []float32{1, 2}), 2, 3))
			return n.op(g.OpAdd, nil, f32(2, 3), n.input(g.Float32, none, 2, 3), f)
		}, check: func(t *testing.T, m *nn.Model) {
			if o := m.Main.Operands[m.Main.Operations[0].Inputs[0]]; o.Type != nn.TensorQuant8PerChannel {
				t.Errorf("input %+v", o)
			}
		}},
		{name: "per-channel activations", err: "per-channel scales on a tensor that is not a filter", build: func(n *net) int {
			return n.op(g.OpQuantize, nil, shaped(g.Int8, g.PerChannel(0, []float32{1, 2}), 2), n.input(g.Float32, none, 2))
		}},
		{name: "zero point out of range", err: "zero point 200 of INT8", build: func(n *net) int {
			return n.op(g.OpQuantize, nil, shaped(g.Int8, g.PerTensor(1, 200), 2), n.input(g.Float32, none, 2))
		}},
		{name: "negative scale", err: "scale -1", build: func(n *net) int {
			return n.op(g.OpQuantize, nil, shaped(g.Int8, g.PerTensor(-1, 0), 2), n.input(g.Float32, none, 2))
		}},
		{name: "mean of one quantisation", want: "MEAN", build: func(n *net) int {
			return n.op(g.OpMean, nil, shaped(g.Int8, q, 2), n.input(g.Int8, q, 2, 3), n.ints([]int{1}, 1))
		}},
	})
}

// One 8-bit quantisation to another is one operation, and so is a mean that changes it.
func TestRequantise(t *testing.T) {
	q, r := g.PerTensor(0.5, 130), g.PerTensor(0.25, -7)
	for _, tc := range []struct {
		name  string
		build func(n *net) int
		want  string
	}{
		{"uint8 to int8", func(n *net) int {
			return n.op(g.OpQuantize, nil, shaped(g.Int8, r, 2, 3), n.input(g.Uint8, q, 2, 3))
		}, "REQUANTIZE"},
		{"mean", func(n *net) int {
			return n.op(g.OpMean, nil, shaped(g.Int8, r, 2), n.input(g.Int8, g.PerTensor(0.5, 3), 2, 3), n.ints([]int{1}, 1))
		}, "MEAN"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := &net{}
			got, err := imported(n.file(t, tc.build(n)))
			if err != nil {
				t.Fatal(err)
			}
			if s := operations(got.Model); s != tc.want {
				t.Errorf("operations %s, want %s", s, tc.want)
			}
			if list := got.Operators[0].NN; len(list) != len(got.Model.Main.Operations) {
				t.Errorf("operator became %v", list)
			}
		})
	}
}

// Every operation of every translation is checked by the table, so that a model that comes out passes it.
func TestTableAgrees(t *testing.T) {
	n := &net{}
	x := n.input(g.Uint8, g.PerTensor(0.5, 3), 1, 4, 4, 2)
	y := n.op(g.OpConv2D, g.Conv2DOptions{}, shaped(g.Uint8, g.PerTensor(1, 0), 1, 4, 4, 3), x, n.bytes(g.Uint8, g.PerTensor(0.25, 1), 3, 1, 1, 2))
	got, err := imported(n.file(t, y))
	if err != nil {
		t.Fatal(err)
	}
	m := got.Model
	for i := range m.Main.Operations {
		o := &m.Main.Operations[i]
		if err := ops.Lookup(o.Type).Check(&ops.Call{Model: m, Graph: &m.Main, Op: o}); err != nil {
			t.Errorf("%v: %v", o.Type, err)
		}
	}
}
