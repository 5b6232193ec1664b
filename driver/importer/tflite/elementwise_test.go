package tflite

import (
	"slices"
	"testing"

	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
	"github.com/nngpu/nngpu/driver/nn"
)

func TestUnaryOperators(t *testing.T) {
	for _, tc := range []struct {
		code g.Operator
		want nn.OperationType
	}{
		{g.OpFloor, nn.OpFloor}, {g.OpLogistic, nn.OpLogistic}, {g.OpRelu, nn.OpRelu}, {g.OpReluN1To1, nn.OpRelu1},
		{g.OpRelu6, nn.OpRelu6}, {g.OpTanh, nn.OpTanh}, {g.OpExp, nn.OpExp}, {g.OpNeg, nn.OpNeg}, {g.OpSin, nn.OpSin},
		{g.OpLog, nn.OpLog}, {g.OpSqrt, nn.OpSqrt}, {g.OpRsqrt, nn.OpRsqrt}, {g.OpSquare, nn.OpMul}, {g.OpAbs, nn.OpAbs},
		{g.OpElu, nn.OpElu}, {g.OpHardSwish, nn.OpHardSwish}, {g.OpLogSoftmax, nn.OpLogSoftmax},
	} {
		n := &net{}
		x := n.input(g.Float32, none, 3, 7)
		got, err := imported(n.file(t, n.op(tc.code, nil, f32(3, 7), x)))
		if err != nil {
			t.Errorf("code %d: %v", tc.code, err)
		} else if ops := operations(got.Model); ops != tc.want.String() {
			t.Errorf("code %d became %s, want %v", tc.code, ops, tc.want)
		}
	}
}

func TestBinaryOperators(t *testing.T) {
	for _, tc := range []struct {
		code g.Operator
		opts g.Options
		want nn.OperationType
	}{
		{g.OpAdd, g.AddOptions{}, nn.OpAdd}, {g.OpSub, g.SubOptions{}, nn.OpSub}, {g.OpMul, g.MulOptions{}, nn.OpMul},
		{g.OpDiv, g.DivOptions{}, nn.OpDiv}, {g.OpMaximum, nil, nn.OpMaximum}, {g.OpMinimum, nil, nn.OpMinimum},
		{g.OpPow, nil, nn.OpPow}, {g.OpPrelu, nil, nn.OpPrelu}, {g.OpSquaredDifference, nil, nn.OpSquaredDifference},
	} {
		n := &net{}
		x := n.input(g.Float32, none, 2, 1, 7)
		got, err := imported(n.file(t, n.op(tc.code, tc.opts, f32(2, 3, 7), x, n.floats(3, 1))))
		if err != nil {
			t.Errorf("code %d: %v", tc.code, err)
		} else if ops := operations(got.Model); ops != tc.want.String() {
			t.Errorf("code %d became %s, want %v", tc.code, ops, tc.want)
		}
	}
}

func TestComparisonOperators(t *testing.T) {
	for code, want := range map[g.Operator]nn.OperationType{
		g.OpEqual: nn.OpEqual, g.OpNotEqual: nn.OpNotEqual, g.OpLess: nn.OpLess, g.OpLessEqual: nn.OpLessEqual,
		g.OpGreater: nn.OpGreater, g.OpGreaterEqual: nn.OpGreaterEqual,
	} {
		n := &net{}
		x := n.input(g.Int32, none, 2, 1, 7)
		got, err := imported(n.file(t, n.op(code, nil, shaped(g.Bool, none, 2, 3, 7), x, n.ints([]int{3, 1}, 1, 2, 3))))
		if err != nil {
			t.Errorf("code %d: %v", code, err)
		} else if ops := operations(got.Model); ops != want.String() {
			t.Errorf("code %d became %s, want %v", code, ops, want)
		}
	}
}

func TestLogicalOperators(t *testing.T) {
	b := shaped(g.Bool, none, 2, 3)
	runTranslations(t, []translation{
		{name: "both", want: "LOGICAL_AND", build: func(n *net) int {
			return n.op(g.OpLogicalAnd, nil, b, n.input(g.Bool, none, 2, 3), n.input(g.Bool, none, 3))
		}},
		{name: "one", want: "LOGICAL_OR", build: func(n *net) int {
			return n.op(g.OpLogicalOr, nil, b, n.input(g.Bool, none, 2, 3), n.input(g.Bool, none, 3))
		}},
		{name: "none", want: "LOGICAL_NOT", build: func(n *net) int { return n.op(g.OpLogicalNot, nil, b, n.input(g.Bool, none, 2, 3)) }},
		{name: "of numbers", err: "TENSOR_FLOAT32", build: func(n *net) int {
			return n.op(g.OpLogicalNot, nil, b, n.input(g.Float32, none, 2, 3))
		}},
	})
}

func TestElementwise(t *testing.T) {
	a, b := g.PerTensor(0.5, 3), g.PerTensor(0.25, -7)
	runTranslations(t, []translation{
		{name: "scalar constant", want: "ADD", build: func(n *net) int {
			x := n.input(g.Float32, none, 2, 3)
			return n.op(g.OpAdd, g.AddOptions{Activation: g.ActivationRelu}, f32(2, 3), x, n.floats())
		}},
		{name: "fused TANH", want: "MUL TANH", build: func(n *net) int {
			x := n.input(g.Float32, none, 2, 3)
			return n.op(g.OpMul, g.MulOptions{Activation: g.ActivationTanh}, f32(2, 3), x, x)
		}},
		{name: "integer division", want: "ABS ABS DIV LESS LESS NOT_EQUAL NEG SELECT", build: func(n *net) int {
			x := n.input(g.Int32, none, 2, 3)
			return n.op(g.OpDiv, g.DivOptions{}, shaped(g.Int32, none, 2, 3), x, x)
		}},
		{name: "integer division with an activation", err: "INT32 division with an activation", build: func(n *net) int {
			x := n.input(g.Int32, none, 2, 3)
			return n.op(g.OpDiv, g.DivOptions{Activation: g.ActivationRelu}, shaped(g.Int32, none, 2, 3), x, x)
		}},
		{name: "rounded", want: "FLOOR SUB MUL FLOOR NOT_EQUAL GREATER EQUAL LOGICAL_AND LOGICAL_OR FILL FILL SELECT ADD", build: func(n *net) int {
			return n.op(g.OpRound, nil, f32(5), n.input(g.Float32, none, 5))
		}},
		{name: "rounded bytes", err: "ROUND of INT8", build: func(n *net) int {
			return n.op(g.OpRound, nil, shaped(g.Int8, a, 5), n.input(g.Int8, a, 5))
		}},
		{name: "sign", want: "GREATER FILL FILL SELECT LESS FILL FILL SELECT SUB", build: func(n *net) int {
			return n.op(g.OpSign, nil, f32(5), n.input(g.Float32, none, 5))
		}},
		{name: "one of many", want: "RESHAPE EQUAL FILL FILL SELECT", build: func(n *net) int {
			one := n.tensor(g.Tensor{Data: []byte{0, 0, 128, 63}})
			return n.op(g.OpOneHot, g.OneHotOptions{Axis: -1}, f32(2, 3, 4), n.input(g.Int32, none, 2, 3), n.ints(nil, 4), one, n.floats())
		}},
		{name: "one of many, other numbers", want: "RESHAPE EQUAL FILL FILL SELECT MUL ADD", build: func(n *net) int {
			return n.op(g.OpOneHot, nil, shaped(g.Int32, none, 4, 2), n.input(g.Int32, none, 2), n.ints(nil, 4), n.ints(nil, 7), n.ints(nil, -3))
		}},
		{name: "one of none", err: "depth 0", build: func(n *net) int {
			return n.op(g.OpOneHot, nil, f32(1, 2), n.input(g.Int32, none, 2), n.ints(nil, 0), n.floats(), n.floats())
		}},
		{name: "one of very many", err: "exceed the size of the file", build: func(n *net) int {
			return n.op(g.OpOneHot, nil, f32(1<<27, 2), n.input(g.Int32, none, 2), n.ints(nil, 1<<27), n.floats(), n.floats())
		}},
		{name: "one of as many as the data say", err: "input 1 (depth) is not a single constant", build: func(n *net) int {
			return n.op(g.OpOneHot, nil, f32(1, 2), n.input(g.Int32, none, 2), n.input(g.Int32, none), n.floats(), n.floats())
		}},
		{name: "maximum of one quantisation", want: "MAXIMUM", build: func(n *net) int {
			x := n.input(g.Int8, a, 5)
			return n.op(g.OpMaximum, nil, shaped(g.Int8, a, 5), x, x)
		}},
		{name: "maximum of two quantisations", err: "quantisation of inputs and output differs", build: func(n *net) int {
			x := n.input(g.Int8, a, 5)
			return n.op(g.OpMaximum, nil, shaped(g.Int8, a, 5), x, n.bytes(g.Int8, b, 5))
		}},
		{name: "comparison", want: "LESS", build: func(n *net) int {
			return n.op(g.OpLess, nil, shaped(g.Bool, none, 2, 3), n.input(g.Float32, none, 2, 3), n.floats(3))
		}},
		{name: "comparison of one quantisation", want: "LESS", build: func(n *net) int {
			return n.op(g.OpLess, nil, shaped(g.Bool, none, 5), n.input(g.Int8, a, 5), n.bytes(g.Int8, a, 5))
		}},
		{name: "comparison of two quantisations", err: "quantisation of the inputs differs", build: func(n *net) int {
			return n.op(g.OpLess, nil, shaped(g.Bool, none, 5), n.input(g.Int8, a, 5), n.bytes(g.Int8, b, 5))
		}},
		{name: "comparison of fine steps", err: "finer than the steps of 1/256", build: func(n *net) int {
			x := n.input(g.Uint8, g.PerTensor(1./512, 0), 5)
			return n.op(g.OpLess, nil, shaped(g.Bool, none, 5), x, x)
		}},
		{name: "comparison to numbers", err: "type TENSOR_FLOAT32 instead of TENSOR_BOOL8", build: func(n *net) int {
			x := n.input(g.Float32, none, 5)
			return n.op(g.OpLess, nil, f32(5), x, x)
		}},
		{name: "relu of one quantisation", want: "RELU6", build: func(n *net) int {
			return n.op(g.OpRelu6, nil, shaped(g.Int8, a, 5), n.input(g.Int8, a, 5))
		}},
		{name: "leaky relu", want: "PRELU", build: func(n *net) int {
			return n.op(g.OpLeakyRelu, g.LeakyReluOptions{Alpha: 0.3}, f32(5), n.input(g.Float32, none, 5))
		}, check: func(t *testing.T, m *nn.Model) {
			if x := constantFloats(t, m, m.Main.Operations[0].Inputs[1]); !slices.Equal(x, []float32{0.3}) {
				t.Errorf("alpha %v", x)
			}
		}},
		{name: "quantised leaky relu, negative alpha", want: "PRELU", build: func(n *net) int {
			return n.op(g.OpLeakyRelu, g.LeakyReluOptions{Alpha: -0.3}, shaped(g.Uint8, b2(), 5), n.input(g.Uint8, b2(), 5))
		}, check: func(t *testing.T, m *nn.Model) {
			o := m.Main.Operands[m.Main.Operations[0].Inputs[1]]
			v, err := m.Value(&o)
			if err != nil || float32(int32(v[0])-o.ZeroPoint)*o.Scale != -0.3 {
				t.Errorf("alpha %v of %+v, %v", v, o, err)
			}
		}},
		{name: "logistic with a wrong scale", err: "LOGISTIC v1", build: func(n *net) int {
			return n.op(g.OpLogistic, nil, shaped(g.Int8, a, 5), n.input(g.Int8, a, 5))
		}},
		{name: "cast", want: "CAST CAST", build: func(n *net) int {
			x := n.input(g.Uint8, none, 5)
			y := n.op(g.OpCast, g.CastOptions{InDataType: g.Uint8, OutDataType: g.Float32}, f32(5), x)
			return n.op(g.OpCast, g.CastOptions{}, shaped(g.Int32, none, 5), y)
		}},
		{name: "softmax", want: "SOFTMAX", build: func(n *net) int {
			return n.op(g.OpSoftmax, g.SoftmaxOptions{Beta: 2}, f32(1, 2, 5), n.input(g.Float32, none, 1, 2, 5))
		}},
		{name: "float16 softmax", want: "SOFTMAX", build: func(n *net) int {
			return n.op(g.OpSoftmax, g.SoftmaxOptions{Beta: 1}, shaped(g.Float16, none, 1, 5), n.input(g.Float16, none, 1, 5))
		}, check: func(t *testing.T, m *nn.Model) {
			o := m.Main.Operands[m.Main.Operations[0].Inputs[1]]
			if v, _ := m.Value(&o); o.Type != nn.Float16 || v[0] != 0 || v[1] != 0x3C {
				t.Errorf("beta %v of %v", v, o.Type)
			}
		}},
	})
}

// b2 is a quantisation of uint8.
func b2() g.Quant { return g.PerTensor(0.25, 100) }

// A RELU that changes the quantisation requantises first: the clamp is then in the output's steps.
func TestReluRequantises(t *testing.T) {
	n := &net{}
	x := n.input(g.Int8, g.PerTensor(0.5, 3), 5)
	got, err := imported(n.file(t, n.op(g.OpRelu6, nil, shaped(g.Int8, g.PerTensor(0.25, -7), 5), x)))
	if err != nil {
		t.Fatal(err)
	}
	m := got.Model
	last := m.Main.Operations[len(m.Main.Operations)-1]
	in := m.Main.Operands[last.Inputs[0]]
	if last.Type != nn.OpRelu6 || in.Scale != 0.25 || in.ZeroPoint != -7 || len(m.Main.Operations) < 2 {
		t.Errorf("%s; last input %+v", operations(m), in)
	}
}
