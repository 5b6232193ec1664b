package tflite

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	g "github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// lstm adds a UNIDIRECTIONAL_SEQUENCE_LSTM of one step of 3 sequences of 2 numbers to 4 units, with coupled gates unless
// change does something else, and returns its output.
func (n *net) lstm(o g.UnidirectionalSequenceLSTMOptions, change func(in []int)) int {
	weights := func(shape ...int) int {
		bytes := 4
		for _, d := range shape {
			bytes *= d
		}
		return n.tensor(g.Tensor{Name: "w", Shape: shape, Data: make([]byte, bytes)})
	}
	state := func() int { return n.tensor(g.Tensor{Name: "state", Shape: []int{3, 4}, IsVariable: true}) }
	in := slices.Repeat([]int{-1}, 24)
	in[ops.LSTMInput] = n.input(g.Float32, none, 3, 1, 2)
	for gate := ops.LSTMTensor(ops.GateForget); gate <= ops.GateOutput; gate++ {
		in[ops.LSTMInputWeights+gate], in[ops.LSTMRecurrentWeights+gate] = weights(4, 2), weights(4, 4)
		in[ops.LSTMBias+gate] = weights(4)
	}
	in[ops.LSTMOutputState], in[ops.LSTMCellState] = state(), state()
	if change != nil {
		change(in)
	}
	for len(in) > 20 && in[len(in)-1] < 0 { // files of version 1 end with the states
		in = in[:len(in)-1]
	}
	return n.op(g.OpUnidirectionalSequenceLSTM, o, f32(3, 1, 4), in...)
}

func TestSequenceLSTM(t *testing.T) {
	tanh := g.UnidirectionalSequenceLSTMOptions{Activation: g.ActivationTanh, CellClip: 3, ProjClip: 0.5}
	runTranslations(t, []translation{
		{name: "coupled gates", want: "UNIDIRECTIONAL_SEQUENCE_LSTM", build: func(n *net) int { return n.lstm(tanh, nil) },
			check: func(t *testing.T, m *nn.Model) {
				op := m.Main.Operations[0]
				operand := func(i int) *nn.Operand { return &m.Main.Operands[op.Inputs[i]] }
				for i := range op.Inputs {
					left := i == 1 || i == 5 || i >= 9 && i <= 12 || i == 16 || i == 17 || i >= 24
					require.Equal(t, left, operand(i).Lifetime == nn.NoValue, "input %d", i)
				}
				for _, i := range []int{18, 19} {
					require.Equal(t, nn.Dims{3, 4}, operand(i).Dims)
					require.Equal(t, nn.ConstantCopy, operand(i).Lifetime)
					l := operand(i).Location
					require.Equal(t, make([]byte, 48), m.Values[l.Offset:l.Offset+l.Length])
				}
				call, err := ops.Lookup(op.Type).Infer(&ops.Call{Model: m, Graph: &m.Main, Op: &op})
				require.NoError(t, err)
				require.Equal(t, ops.SequenceLSTM{Act: ops.CellTanh, CellClip: 3, ProjClip: 0.5}, call.Attrs)
			}},
		{name: "states from outside", want: "UNIDIRECTIONAL_SEQUENCE_LSTM", build: func(n *net) int {
			return n.lstm(tanh, func(in []int) { in[ops.LSTMCellState] = n.input(g.Float32, none, 3, 4) })
		}},
		{name: "half an input gate", err: "input gate", build: func(n *net) int {
			return n.lstm(tanh, func(in []int) { in[ops.LSTMInputWeights] = in[ops.LSTMInputWeights+1] })
		}},
		{name: "without a state", err: "input 19 is missing", build: func(n *net) int {
			return n.lstm(tanh, func(in []int) { in[ops.LSTMCellState] = -1 })
		}},
		{name: "variable weights", err: "variable tensor", build: func(n *net) int {
			return n.lstm(tanh, func(in []int) { in[ops.LSTMInputWeights+1] = in[ops.LSTMCellState] })
		}},
		{name: "short states", err: "variable tensor of INT16", build: func(n *net) int {
			return n.lstm(tanh, func(in []int) {
				in[ops.LSTMCellState] = n.tensor(g.Tensor{Type: g.Int16, Shape: []int{3, 4}, IsVariable: true})
			})
		}},
		{name: "diagonal weights", err: "diagonal recurrent weights", build: func(n *net) int {
			return n.lstm(g.UnidirectionalSequenceLSTMOptions{DiagonalRecurrentTensors: true}, nil)
		}},
		{name: "another activation", err: "activation 2", build: func(n *net) int {
			return n.lstm(g.UnidirectionalSequenceLSTMOptions{Activation: g.ActivationReluN1To1}, nil)
		}},
	})
}

// weights adds a float constant of zeros; state a variable tensor.
func (n *net) weights(shape ...int) int { return n.floats(shape...) }

func (n *net) state(shape ...int) int {
	return n.tensor(g.Tensor{Name: "state", Shape: shape, IsVariable: true})
}

// cell adds an RNN of 3 rows of 2 numbers and 4 units, of the given code.
func (n *net) cell(code g.Operator, o g.Options, input, output []int) int {
	x := n.input(g.Float32, none, input...)
	return n.op(code, o, f32(output...), x, n.weights(4, 2), n.weights(4, 4), n.weights(4), n.state(3, 4))
}

// attributes are those of the last operation.
func attributes(t *testing.T, m *nn.Model) ops.Attrs {
	t.Helper()
	op := m.Main.Operations[len(m.Main.Operations)-1]
	call, err := ops.Lookup(op.Type).Infer(&ops.Call{Model: m, Graph: &m.Main, Op: &op})
	require.NoError(t, err)
	return call.Attrs
}

// has checks the attributes of the last operation.
func has(want ops.Attrs) func(*testing.T, *nn.Model) {
	return func(t *testing.T, m *nn.Model) { require.Equal(t, want, attributes(t, m)) }
}

func TestRNN(t *testing.T) {
	both := func(n *net, o g.BidirectionalSequenceRNNOptions, aux bool, outputs ...g.Tensor) int {
		in := []int{n.input(g.Float32, none, 5, 3, 2)}
		for range 2 {
			in = append(in, n.weights(4, 2), n.weights(4, 4), n.weights(4), n.state(3, 4))
		}
		if in = append(in, -1, -1, -1); aux {
			in[9], in[10], in[11] = n.input(g.Float32, none, 5, 3, 6), n.weights(4, 6), n.weights(4, 6)
		}
		return n.parts(g.OpBidirectionalSequenceRNN, o, outputs, in...)[0]
	}
	runTranslations(t, []translation{
		{name: "a step", build: func(n *net) int {
			return n.cell(g.OpRNN, g.RNNOptions{Activation: g.ActivationReluN1To1}, []int{3, 2}, []int{3, 4})
		},
			want: "RNN"},
		{name: "activation SIGN_BIT", err: "activation 5", build: func(n *net) int {
			return n.cell(g.OpRNN, g.RNNOptions{Activation: g.ActivationSignBit}, []int{3, 2}, []int{3, 4})
		}},
		{name: "of another size", err: "dimension 1 is the input size", build: func(n *net) int {
			return n.cell(g.OpRNN, g.RNNOptions{}, []int{3, 5}, []int{3, 4})
		}},
		{name: "short inputs", err: "INT16", build: func(n *net) int {
			x := n.input(g.Int16, none, 3, 2)
			return n.op(g.OpRNN, nil, f32(3, 4), x, n.weights(4, 2), n.weights(4, 4), n.weights(4), n.state(3, 4))
		}},
		{name: "8-bit weights", err: "TENSOR_QUANT8_ASYMM_SIGNED", build: func(n *net) int {
			x := n.input(g.Float32, none, 3, 2)
			return n.op(g.OpRNN, nil, f32(3, 4), x, n.bytes(g.Int8, g.PerTensor(1, 0), 4, 2), n.weights(4, 4), n.weights(4), n.state(3, 4))
		}},
		{name: "without a bias", err: "has no value", build: func(n *net) int {
			return n.op(g.OpRNN, nil, f32(3, 4), n.input(g.Float32, none, 3, 2), n.weights(4, 2), n.weights(4, 4), -1, n.state(3, 4))
		}},
		{name: "an open state", err: "empty dimension", build: func(n *net) int {
			return n.op(g.OpRNN, nil, f32(3, 4), n.input(g.Float32, none, 3, 2), n.weights(4, 2), n.weights(4, 4), n.weights(4), n.state(0, 4))
		}},
		{name: "a sequence", want: "UNIDIRECTIONAL_SEQUENCE_RNN", build: func(n *net) int {
			return n.cell(g.OpUnidirectionalSequenceRNN, g.SequenceRNNOptions{Activation: g.ActivationTanh}, []int{3, 5, 2}, []int{3, 5, 4})
		}, check: has(ops.RNN{Act: ops.CellTanh})},
		{name: "a sequence, time first", want: "UNIDIRECTIONAL_SEQUENCE_RNN", build: func(n *net) int {
			return n.cell(g.OpUnidirectionalSequenceRNN, g.SequenceRNNOptions{TimeMajor: true, Activation: g.ActivationRelu6}, []int{5, 3, 2}, []int{5, 3, 4})
		}, check: has(ops.RNN{Act: ops.CellRelu6, TimeMajor: true})},
		{name: "both ways", want: "BIDIRECTIONAL_SEQUENCE_RNN", build: func(n *net) int {
			return both(n, g.BidirectionalSequenceRNNOptions{TimeMajor: true}, false, f32(5, 3, 4), f32(5, 3, 4))
		}, check: has(ops.RNN{TimeMajor: true})},
		{name: "both ways, merged", want: "BIDIRECTIONAL_SEQUENCE_RNN", build: func(n *net) int {
			return both(n, g.BidirectionalSequenceRNNOptions{TimeMajor: true, MergeOutputs: true, Activation: g.ActivationTanh}, true, f32(5, 3, 8))
		}, check: has(ops.RNN{Act: ops.CellTanh, TimeMajor: true, Merge: true})},
		{name: "both ways, another number of outputs", err: "merge outputs is true", build: func(n *net) int {
			return both(n, g.BidirectionalSequenceRNNOptions{TimeMajor: true, MergeOutputs: true}, false, f32(5, 3, 4), f32(5, 3, 4))
		}},
	})
}

func TestSVDF(t *testing.T) {
	cell := func(n *net, o g.SVDFOptions, bias, state int) int {
		return n.op(g.OpSVDF, o, f32(3, 4), n.input(g.Float32, none, 3, 2), n.weights(8, 2), n.weights(8, 5), bias, state)
	}
	runTranslations(t, []translation{
		{name: "of rank 2", want: "SVDF", build: func(n *net) int {
			return cell(n, g.SVDFOptions{Rank: 2, Activation: g.ActivationRelu}, n.weights(4), n.state(3, 40))
		}, check: has(ops.SVDF{Act: ops.CellRelu, Rank: 2})},
		{name: "without a bias", want: "SVDF", build: func(n *net) int { return cell(n, g.SVDFOptions{Rank: 2}, -1, n.state(3, 40)) }},
		{name: "rank 0", err: "rank 0", build: func(n *net) int { return cell(n, g.SVDFOptions{}, -1, n.state(3, 40)) }},
		{name: "rank 3", err: "8 filters of rank 3", build: func(n *net) int { return cell(n, g.SVDFOptions{Rank: 3}, -1, n.state(3, 40)) }},
		{name: "state of another size", err: "state of 39 numbers", build: func(n *net) int { return cell(n, g.SVDFOptions{Rank: 2}, -1, n.state(3, 39)) }},
		{name: "state from outside", err: "a state that is not a variable tensor", build: func(n *net) int {
			return cell(n, g.SVDFOptions{Rank: 2}, -1, n.input(g.Float32, none, 3, 40))
		}},
	})
}

// lstmCell adds an LSTM of 3 rows of 2 numbers and 4 units with coupled gates.
func (n *net) lstmCell(o g.LSTMOptions, outputs ...g.Tensor) int {
	in := slices.Repeat([]int{-1}, 20)
	in[ops.LSTMInput] = n.input(g.Float32, none, 3, 2)
	for gate := ops.LSTMTensor(ops.GateForget); gate <= ops.GateOutput; gate++ {
		in[ops.LSTMInputWeights+gate], in[ops.LSTMRecurrentWeights+gate] = n.weights(4, 2), n.weights(4, 4)
		in[ops.LSTMBias+gate] = n.weights(4)
	}
	in[ops.LSTMOutputState], in[ops.LSTMCellState] = n.state(3, 4), n.state(3, 4)
	return n.parts(g.OpLSTM, o, outputs, in...)[0]
}

func TestLSTM(t *testing.T) {
	basic := func(n *net, o g.LSTMOptions, typ g.TensorType) int {
		o.KernelType = 1
		y := func(shape ...int) g.Tensor { return shaped(typ, none, shape...) }
		return n.parts(g.OpLSTM, o, []g.Tensor{y(3, 4), f32(3, 4), f32(3, 6), f32(3, 16)},
			n.input(typ, none, 3, 2), n.input(typ, none, 3, 4), n.weights(16, 6), n.weights(16), n.input(g.Float32, none, 3, 4))[0]
	}
	tanh := g.ActivationTanh
	runTranslations(t, []translation{
		{name: "a step", want: "LSTM", build: func(n *net) int {
			return n.lstmCell(g.LSTMOptions{Activation: tanh, CellClip: 3, ProjClip: 0.5}, f32(3, 4))
		}, check: has(ops.SequenceLSTM{Act: ops.CellTanh, CellClip: 3, ProjClip: 0.5})},
		{name: "RELU_N1_TO_1", err: "activation 2", build: func(n *net) int {
			return n.lstmCell(g.LSTMOptions{Activation: g.ActivationReluN1To1}, f32(3, 4))
		}},
		{name: "four outputs", err: "20 inputs and 4 outputs", build: func(n *net) int {
			return n.lstmCell(g.LSTMOptions{Activation: tanh}, f32(3, 4), f32(3, 4), f32(3, 4), f32(3, 4))
		}},
		{name: "an unknown kernel", err: "kernel type 2", build: func(n *net) int {
			return n.lstmCell(g.LSTMOptions{Activation: tanh, KernelType: 2}, f32(3, 4))
		}},
		{name: "basic", want: "CONCATENATION FULLY_CONNECTED SPLIT LOGISTIC TANH MUL LOGISTIC MUL ADD LOGISTIC TANH MUL",
			build: func(n *net) int { return basic(n, g.LSTMOptions{Activation: tanh}, g.Float32) }},
		{name: "basic with bytes", err: "basic kernel of UINT8", build: func(n *net) int { return basic(n, g.LSTMOptions{Activation: tanh}, g.Uint8) }},
		{name: "basic with RELU", err: "another activation than TANH", build: func(n *net) int { return basic(n, g.LSTMOptions{Activation: g.ActivationRelu}, g.Float32) }},
		{name: "basic of a full size", err: "20 inputs and 1 outputs", build: func(n *net) int { return n.lstmCell(g.LSTMOptions{Activation: tanh, KernelType: 1}, f32(3, 4)) }},
	})
}

func TestBidirectionalLSTM(t *testing.T) {
	both := func(n *net, o g.BidirectionalSequenceLSTMOptions, outputs ...g.Tensor) int {
		in := slices.Repeat([]int{-1}, 48)
		in[0] = n.input(g.Float32, none, 5, 3, 2)
		for _, backward := range []bool{false, true} {
			at := func(k ops.LSTMTensor) int { return ops.BidirectionalLSTMTensor(k, backward) }
			for gate := ops.LSTMTensor(ops.GateForget); gate <= ops.GateOutput; gate++ {
				in[at(ops.LSTMInputWeights+gate)], in[at(ops.LSTMRecurrentWeights+gate)] = n.weights(4, 2), n.weights(4, 4)
				in[at(ops.LSTMBias+gate)] = n.weights(4)
			}
			in[at(ops.LSTMOutputState)], in[at(ops.LSTMCellState)] = n.state(3, 4), n.state(3, 4)
		}
		return n.parts(g.OpBidirectionalSequenceLSTM, o, outputs, in...)[0]
	}
	tanh := g.BidirectionalSequenceLSTMOptions{Activation: g.ActivationTanh, MergeOutputs: true, TimeMajor: true}
	rows := tanh
	rows.TimeMajor = false
	runTranslations(t, []translation{
		{name: "merged", want: "BIDIRECTIONAL_SEQUENCE_LSTM", build: func(n *net) int { return both(n, tanh, f32(5, 3, 8)) },
			check: has(ops.SequenceLSTM{Act: ops.CellTanh, TimeMajor: true, Merge: true})},
		{name: "rows first", err: "batch", build: func(n *net) int { return both(n, rows, f32(5, 3, 8)) }},
		{name: "two results merged", err: "merge outputs is true", build: func(n *net) int { return both(n, tanh, f32(5, 3, 4), f32(5, 3, 4)) }},
		{name: "of another size", err: "output has shape", build: func(n *net) int { return both(n, tanh, f32(5, 3, 9)) }},
	})
}
