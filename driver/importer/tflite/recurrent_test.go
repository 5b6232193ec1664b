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
