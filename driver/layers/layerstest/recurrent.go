package layerstest

import (
	"github.com/nngpu/nngpu/driver/layers"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// Sizes of the cells.
const steps, batch, size, units = 2, 3, 4, 5

func (b *builder) rnn() layers.RNNCell {
	return layers.RNNCell{Weights: b.w(units, size), Recurrent: b.w(units, units), Bias: b.w(units), State: b.x(batch, units)}
}

// lstm are the tensors of an LSTM that couples its input gate to the forget gate.
func (b *builder) lstm(x uint32) layers.LSTMTensors {
	t := layers.LSTMTensors{ops.LSTMInput: x, ops.LSTMOutputState: b.x(batch, units), ops.LSTMCellState: b.x(batch, units)}
	for g := ops.LSTMTensor(ops.GateForget); g <= ops.GateOutput; g++ {
		t[ops.LSTMInputWeights+g], t[ops.LSTMRecurrentWeights+g], t[ops.LSTMBias+g] = b.w(units, size), b.w(units, units), b.w(units)
	}
	return t
}

var recurrent = map[nn.OperationType]func(b *builder) []uint32{
	nn.OpRnn: func(b *builder) []uint32 {
		state, y := b.RNN(b.x(batch, size), b.rnn(), ops.CellTanh)
		return []uint32{state, y}
	},
	nn.OpUnidirectionalSequenceRnn: func(b *builder) []uint32 {
		y, state := b.SequenceRNN(b.x(batch, steps, size), b.rnn(), ops.CellTanh, false)
		return []uint32{y, state}
	},
	nn.OpBidirectionalSequenceRnn: func(b *builder) []uint32 {
		return b.BidirectionalRNN(b.x(steps, batch, size), b.rnn(), b.rnn(), nil, ops.CellTanh, layers.Sequence{TimeMajor: true})
	},
	nn.OpLstm: func(b *builder) []uint32 {
		output, cell, y := b.LSTM(b.lstm(b.x(batch, size)), layers.LSTM{Act: ops.CellTanh})
		return []uint32{output, cell, y}
	},
	nn.OpUnidirectionalSequenceLstm: func(b *builder) []uint32 {
		y, output, cell := b.SequenceLSTM(b.lstm(b.x(steps, batch, size)), layers.LSTM{Act: ops.CellTanh, CellClip: 3}, true)
		return []uint32{y, output, cell}
	},
	nn.OpBidirectionalSequenceLstm: func(b *builder) []uint32 {
		x := b.x(steps, batch, size)
		t := map[int]uint32{}
		for _, backward := range []bool{false, true} {
			for k, y := range b.lstm(x) {
				t[ops.BidirectionalLSTMTensor(k, backward)] = y
			}
		}
		return b.BidirectionalLSTM(t, layers.LSTM{Act: ops.CellTanh}, layers.Sequence{TimeMajor: true, Merge: true})
	},
	nn.OpSvdf: func(b *builder) []uint32 {
		bias := b.w(2)
		c := layers.SVDFCell{Feature: b.w(4, size), Time: b.w(4, 3), State: b.x(batch, 12), Bias: &bias}
		state, y := b.SVDF(b.x(batch, size), c, 2, ops.CellRelu)
		return []uint32{state, y}
	},
	nn.OpQuantized16BitLstm: func(b *builder) []uint32 {
		var in [ops.LSTM16OutputState + 1]uint32
		in[ops.LSTM16Input] = b.Input(nn.TensorQuant8Asymm, nn.Dims{batch, size}, ops.LSTM16ValueScale, 128)
		for g := range ops.LSTM16Tensor(4) {
			in[ops.LSTM16InputWeights+g] = b.zeros(nn.TensorQuant8Asymm, 0.5, 100, nn.Dims{units, size})
			in[ops.LSTM16RecurrentWeights+g] = b.zeros(nn.TensorQuant8Asymm, 0.5, 100, nn.Dims{units, units})
			in[ops.LSTM16Bias+g] = b.zeros(nn.TensorInt32, ops.LSTM16ValueScale*0.5, 0, nn.Dims{units})
		}
		in[ops.LSTM16CellState] = b.Input(nn.TensorQuant16Symm, nn.Dims{batch, units}, ops.LSTM16CellScale, 0)
		in[ops.LSTM16OutputState] = b.Input(nn.TensorQuant8Asymm, nn.Dims{batch, units}, ops.LSTM16ValueScale, 128)
		cell, y := b.Quantized16BitLSTM(in)
		return []uint32{cell, y}
	},
	nn.OpQuantizedLstm: func(b *builder) []uint32 {
		t := layers.LSTMTensors{
			ops.LSTMInput:       b.Input(nn.TensorQuant8AsymmSigned, nn.Dims{batch, size}, 1./128, 0),
			ops.LSTMOutputState: b.Input(nn.TensorQuant8AsymmSigned, nn.Dims{batch, units}, 1./128, 0),
			ops.LSTMCellState:   b.Input(nn.TensorQuant16Symm, nn.Dims{batch, units}, 1./2048, 0),
		}
		for g := ops.LSTMTensor(ops.GateForget); g <= ops.GateOutput; g++ {
			t[ops.LSTMInputWeights+g] = b.zeros(nn.TensorQuant8Symm, 0.01, 0, nn.Dims{units, size})
			t[ops.LSTMRecurrentWeights+g] = b.zeros(nn.TensorQuant8Symm, 0.01, 0, nn.Dims{units, units})
			t[ops.LSTMBias+g] = b.zeros(nn.TensorInt32, 0.01/128, 0, nn.Dims{units})
		}
		output, cell, y := b.QuantizedLSTM(t, ops.LSTM8{Scales: [4]float32{0, 0.01, 0.01, 0.01}, HiddenScale: 1. / 128})
		return []uint32{output, cell, y}
	},
}
