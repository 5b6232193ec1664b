package tflite

import (
	"slices"
	"testing"

	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

func TestConvolutions(t *testing.T) {
	s8, u8 := g.PerTensor(0.5, -3), g.PerTensor(0.5, 7)
	runTranslations(t, []translation{
		{name: "float, prime sizes, dilation", want: "CONV_2D", build: func(n *net) int {
			x := n.input(g.Float32, none, 1, 41, 37, 11)
			return n.op(g.OpConv2D, g.Conv2DOptions{Padding: g.Valid, StrideW: 2, StrideH: 3, Activation: g.ActivationRelu6, DilationW: 2, DilationH: 1},
				f32(1, 13, 17, 5), x, n.floats(5, 3, 3, 11), n.floats(5))
		}, check: func(t *testing.T, m *nn.Model) {
			in := m.Main.Operations[0].Inputs
			var got []int32
			for _, i := range append(slices.Clone(in[3:7]), in[8:]...) {
				got = append(got, constantInts(t, m, i)...)
			}
			if want := []int32{nn.PaddingValid, 2, 3, int32(nn.ActRelu6), 2, 1}; !slices.Equal(got, want) {
				t.Errorf("parameters %v, want %v", got, want)
			}
			if m.Main.Operands[in[1]].Lifetime != nn.ConstantReference {
				t.Error("weights were copied")
			}
		}},
		{name: "no bias, fused TANH", want: "CONV_2D TANH", build: func(n *net) int {
			x := n.input(g.Float32, none, 1, 5, 5, 3)
			return n.op(g.OpConv2D, g.Conv2DOptions{Activation: g.ActivationTanh}, f32(1, 5, 5, 2), x, n.floats(2, 3, 3, 3))
		}, check: func(t *testing.T, m *nn.Model) {
			if b := constantFloats(t, m, m.Main.Operations[0].Inputs[2]); !slices.Equal(b, []float32{0, 0}) {
				t.Errorf("bias %v", b)
			}
		}},
		{name: "int8 with one scale", want: "CONV_2D", build: func(n *net) int {
			x := n.input(g.Int8, s8, 1, 4, 4, 2)
			return n.op(g.OpConv2D, g.Conv2DOptions{}, shaped(g.Int8, g.PerTensor(1, 0), 1, 4, 4, 3), x,
				n.bytes(g.Int8, g.PerTensor(0.25, 0), 3, 1, 1, 2), n.ints([]int{3}, 1, 2, 3))
		}, check: checkPerChannel(0, []float32{0.25, 0.25, 0.25})},
		{name: "int8 depthwise per channel", want: "DEPTHWISE_CONV_2D", build: func(n *net) int {
			x := n.input(g.Int8, s8, 1, 4, 4, 2)
			return n.op(g.OpDepthwiseConv2D, g.DepthwiseConv2DOptions{DepthMultiplier: 2}, shaped(g.Int8, g.PerTensor(1, 0), 1, 4, 4, 4), x,
				n.bytes(g.Int8, g.PerChannel(3, []float32{1, 2, 3, 4}), 1, 3, 3, 4), n.ints([]int{4}, 1, 2, 3, 4))
		}, check: checkPerChannel(3, []float32{1, 2, 3, 4})},
		{name: "uint8", want: "CONV_2D", build: func(n *net) int {
			x := n.input(g.Uint8, u8, 1, 4, 4, 2)
			return n.op(g.OpConv2D, g.Conv2DOptions{}, shaped(g.Uint8, g.PerTensor(1, 0), 1, 4, 4, 3), x,
				n.bytes(g.Uint8, g.PerTensor(0.25, 128), 3, 1, 1, 2), n.ints([]int{3}, 1, 2, 3))
		}, check: func(t *testing.T, m *nn.Model) {
			in := m.Main.Operations[0].Inputs
			w, b := m.Main.Operands[in[1]], m.Main.Operands[in[2]]
			if w.Type != nn.TensorQuant8Asymm || w.ZeroPoint != 128 || b.Scale != 0.125 {
				t.Errorf("weights %+v, bias %+v", w, b)
			}
		}},
		{name: "grouped", want: "GROUPED_CONV_2D", build: func(n *net) int {
			x := n.input(g.Float32, none, 1, 5, 5, 6)
			return n.op(g.OpConv2D, g.Conv2DOptions{StrideW: 2, StrideH: 3, Activation: g.ActivationRelu}, f32(1, 2, 3, 9), x, n.floats(9, 3, 3, 2), n.floats(9))
		}, check: checkAttrs(ops.GroupedConv{Groups: 3, Conv: ops.Conv{Act: nn.ActRelu, Stride: [2]int{3, 2}, Dilation: [2]int{1, 1}, Pad: ops.Pad{Top: 0, Bottom: 1, Left: 1, Right: 1}}})},
		{name: "grouped and dilated", err: "operator 0 CONV_2D v1 (grouped convolution with dilations 2 and 1", build: func(n *net) int {
			x := n.input(g.Float32, none, 1, 4, 4, 4)
			return n.op(g.OpConv2D, g.Conv2DOptions{DilationW: 2}, f32(1, 4, 4, 2), x, n.floats(2, 1, 1, 2), n.floats(2))
		}},
		{name: "groups that do not divide", err: "4 output channels in 3 groups", build: func(n *net) int {
			x := n.input(g.Float32, none, 1, 4, 4, 6)
			return n.op(g.OpConv2D, g.Conv2DOptions{}, f32(1, 4, 4, 4), x, n.floats(4, 1, 1, 2), n.floats(4))
		}},
		{name: "transposed", want: "TRANSPOSE_CONV_2D", build: func(n *net) int {
			x := n.input(g.Float32, none, 1, 3, 4, 2)
			return n.op(g.OpTransposeConv, g.TransposeConvOptions{StrideW: 3, StrideH: 2}, f32(1, 6, 12, 5), n.ints([]int{4}, 1, 6, 12, 5), n.floats(5, 3, 5, 2), x)
		}, check: checkAttrs(ops.TransposeConv{Stride: [2]int{2, 3}, Pad: ops.Pad{Left: 1}})},
		{name: "transposed, int8 with bias", want: "TRANSPOSE_CONV_2D", build: func(n *net) int {
			x := n.input(g.Int8, s8, 1, 4, 4, 2)
			return n.op(g.OpTransposeConv, g.TransposeConvOptions{Padding: g.Valid, StrideW: 2, StrideH: 2}, shaped(g.Int8, g.PerTensor(1, 0), 1, 9, 9, 3),
				n.ints([]int{4}, 1, 9, 9, 3), n.bytes(g.Int8, g.PerChannel(0, []float32{1, 2, 3}), 3, 3, 3, 2), x, n.ints([]int{3}, 1, 2, 3))
		}, check: checkPerChannel(0, []float32{1, 2, 3})},
		{name: "transposed to another size", err: "dimension 1 of the output is 9", build: func(n *net) int {
			x := n.input(g.Float32, none, 1, 4, 4, 2)
			return n.op(g.OpTransposeConv, g.TransposeConvOptions{StrideW: 2, StrideH: 2}, f32(1, 9, 8, 3), n.ints([]int{4}, 1, 9, 8, 3), n.floats(3, 3, 3, 2), x)
		}},
		{name: "hybrid", err: "INT8 weights for float activations", build: func(n *net) int {
			x := n.input(g.Float32, none, 1, 4, 4, 2)
			return n.op(g.OpConv2D, g.Conv2DOptions{}, f32(1, 4, 4, 3), x, n.bytes(g.Int8, g.PerTensor(1, 0), 3, 1, 1, 2), n.floats(3))
		}},
		{name: "asymmetric int8 weights", err: "zero point 5", build: func(n *net) int {
			x := n.input(g.Int8, s8, 1, 4, 4, 2)
			return n.op(g.OpConv2D, g.Conv2DOptions{}, shaped(g.Int8, s8, 1, 4, 4, 3), x, n.bytes(g.Int8, g.PerTensor(1, 5), 3, 1, 1, 2))
		}},
		{name: "scales along the wrong dimension", err: "2 scales along dimension 3", build: func(n *net) int {
			x := n.input(g.Int8, s8, 1, 4, 4, 2)
			return n.op(g.OpConv2D, g.Conv2DOptions{}, shaped(g.Int8, s8, 1, 4, 4, 3), x, n.bytes(g.Int8, g.PerChannel(3, []float32{1, 2}), 3, 1, 1, 2))
		}},
		{name: "SIGN_BIT", err: "fused SIGN_BIT", build: func(n *net) int {
			x := n.input(g.Float32, none, 1, 4, 4, 2)
			return n.op(g.OpConv2D, g.Conv2DOptions{Activation: g.ActivationSignBit}, f32(1, 4, 4, 3), x, n.floats(3, 1, 1, 2), n.floats(3))
		}},
		{name: "int8 with fused TANH", err: "fused TANH on INT8", build: func(n *net) int {
			x := n.input(g.Int8, s8, 1, 4, 4, 2)
			return n.op(g.OpConv2D, g.Conv2DOptions{Activation: g.ActivationTanh}, shaped(g.Int8, s8, 1, 4, 4, 3), x, n.bytes(g.Int8, g.PerTensor(1, 0), 3, 1, 1, 2))
		}},
		{name: "int16 activations", err: "operator 0 CONV_2D v1", build: func(n *net) int {
			x := n.input(g.Float32, none, 1, 4, 4, 2)
			return n.op(g.OpConv2D, g.Conv2DOptions{}, shaped(g.Int16, g.PerTensor(1, 0), 1, 4, 4, 3), x, n.floats(3, 1, 1, 2))
		}},
		{name: "bias scale off", err: "scale of the bias", build: func(n *net) int {
			x := n.input(g.Uint8, u8, 1, 4, 4, 2)
			b := n.tensor(g.Tensor{Type: g.Int32, Shape: []int{3}, Data: make([]byte, 12), Quant: g.PerTensor(1, 0)})
			return n.op(g.OpConv2D, g.Conv2DOptions{}, shaped(g.Uint8, g.PerTensor(1, 0), 1, 4, 4, 3), x, n.bytes(g.Uint8, g.PerTensor(0.25, 128), 3, 1, 1, 2), b)
		}},
	})
}

// checkAttrs tests the parameters of operation 0.
func checkAttrs(want ops.Attrs) func(*testing.T, *nn.Model) {
	return func(t *testing.T, m *nn.Model) {
		op := &m.Main.Operations[0]
		inferred, err := ops.Lookup(op.Type).Infer(&ops.Call{Model: m, Graph: &m.Main, Op: op})
		if err != nil || inferred.Attrs != want {
			t.Errorf("%+v instead of %+v, %v", inferred.Attrs, want, err)
		}
	}
}

// checkPerChannel tests weights and bias of operation 0.
func checkPerChannel(dim uint32, scales []float32) func(*testing.T, *nn.Model) {
	return func(t *testing.T, m *nn.Model) {
		in := m.Main.Operations[0].Inputs
		w, b := m.Main.Operands[in[1]], m.Main.Operands[in[2]]
		if w.Type != nn.TensorQuant8PerChannel || w.Channel.ChannelDim != dim || !slices.Equal(w.Channel.Scales, scales) {
			t.Errorf("weights %+v %+v", w, w.Channel)
		}
		if b.Type != nn.TensorInt32 || b.Scale != 0 {
			t.Errorf("bias %+v", b)
		}
	}
}

func TestFullyConnected(t *testing.T) {
	s8 := g.PerTensor(0.5, -3)
	runTranslations(t, []translation{
		{name: "rank 4, no bias", want: "FULLY_CONNECTED", build: func(n *net) int {
			x := n.input(g.Float32, none, 2, 3, 1, 7)
			return n.op(g.OpFullyConnected, g.FullyConnectedOptions{}, f32(2, 5), x, n.floats(5, 21), g.OptionalTensor)
		}},
		{name: "rank 1 and 5", want: "RESHAPE FULLY_CONNECTED RESHAPE RESHAPE FULLY_CONNECTED", build: func(n *net) int {
			x := n.input(g.Float32, none, 7)
			y := n.op(g.OpFullyConnected, g.FullyConnectedOptions{}, f32(1, 4), x, n.floats(4, 7))
			z := n.op(g.OpReshape, g.ReshapeOptions{NewShape: []int32{1, 1, 1, 2, 2}}, f32(1, 1, 1, 2, 2), y)
			return n.op(g.OpFullyConnected, g.FullyConnectedOptions{}, f32(2, 3), z, n.floats(3, 2))
		}},
		{name: "keep dims, fused TANH", want: "FULLY_CONNECTED TANH RESHAPE", build: func(n *net) int {
			x := n.input(g.Float32, none, 2, 3, 7)
			return n.op(g.OpFullyConnected, g.FullyConnectedOptions{KeepNumDims: true, Activation: g.ActivationTanh}, f32(2, 3, 5), x, n.floats(5, 7))
		}},
		{name: "int8", want: "FULLY_CONNECTED", build: func(n *net) int {
			x := n.input(g.Int8, s8, 1, 8)
			return n.op(g.OpFullyConnected, g.FullyConnectedOptions{}, shaped(g.Int8, s8, 1, 3), x, n.bytes(g.Int8, g.PerTensor(0.25, 0), 3, 8))
		}},
		{name: "int8 per channel", want: "FULLY_CONNECTED", build: func(n *net) int {
			x := n.input(g.Int8, s8, 1, 8)
			return n.op(g.OpFullyConnected, g.FullyConnectedOptions{}, shaped(g.Int8, s8, 1, 3), x, n.bytes(g.Int8, g.PerChannel(0, []float32{1, 2, 3}), 3, 8))
		}, check: checkPerChannel(0, []float32{1, 2, 3})},
		{name: "hybrid", err: "INT8 weights for float activations", build: func(n *net) int {
			x := n.input(g.Float32, none, 1, 8)
			return n.op(g.OpFullyConnected, g.FullyConnectedOptions{}, f32(1, 3), x, n.bytes(g.Int8, g.PerTensor(0.25, 0), 3, 8))
		}},
		{name: "shuffled weights", err: "weights format 1", build: func(n *net) int {
			x := n.input(g.Uint8, g.PerTensor(1, 0), 1, 8)
			return n.op(g.OpFullyConnected, g.RawOptions{Union: 8, Fields: []g.Field{g.Int8Field(1, 1)}},
				shaped(g.Uint8, g.PerTensor(1, 0), 1, 3), x, n.bytes(g.Uint8, g.PerTensor(0.25, 0), 3, 8))
		}},
		{name: "option of a newer schema", err: "an option of a newer schema", build: func(n *net) int {
			x := n.input(g.Float32, none, 1, 8)
			return n.op(g.OpFullyConnected, g.RawOptions{Union: 8, Fields: []g.Field{g.Int8Field(9, 1)}}, f32(1, 3), x, n.floats(3, 8))
		}},
		{name: "options of another operator", err: "options of type 1 instead of 8", build: func(n *net) int {
			x := n.input(g.Float32, none, 1, 8)
			return n.op(g.OpFullyConnected, g.Conv2DOptions{}, f32(1, 3), x, n.floats(3, 8))
		}},
	})
}

func TestPools(t *testing.T) {
	o := g.Pool2DOptions{Padding: g.Same, StrideW: 2, StrideH: 1, FilterWidth: 3, FilterHeight: 2, Activation: g.ActivationRelu}
	for _, code := range []g.Operator{g.OpAveragePool2D, g.OpMaxPool2D, g.OpL2Pool2D} {
		n := &net{}
		x := n.input(g.Float32, none, 1, 7, 5, 3)
		got, err := imported(n.file(t, n.op(code, o, f32(1, 7, 3, 3), x)))
		if err != nil {
			t.Fatal(err)
		}
		var p []int32
		for _, i := range got.Model.Main.Operations[0].Inputs[1:] {
			p = append(p, constantInts(t, got.Model, i)...)
		}
		if want := []int32{nn.PaddingSame, 2, 1, 3, 2, int32(nn.ActRelu)}; !slices.Equal(p, want) {
			t.Errorf("code %d: parameters %v, want %v", code, p, want)
		}
	}
}
