package layers

import (
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// RNNCell are the tensors of an RNN of U units on rows of I numbers: weights [U, I], recurrent weights [U, U], a bias [U] and the
// state at first [B, U].
type RNNCell struct{ Weights, Recurrent, Bias, State uint32 }

func (c RNNCell) tensors() []uint32 { return []uint32{c.Weights, c.Recurrent, c.Bias, c.State} }

// RNN is the state after x [B, I], and the same as result.
func (b *Builder) RNN(x uint32, c RNNCell, act ops.CellActivation) (state, y uint32) {
	inputs := append([]uint32{x}, c.tensors()...)
	list := b.applyAll(nn.OpRnn, 2, nil, append(inputs, b.Scalar(int32(act))), nil)
	return list[0], list[1]
}

// SequenceRNN are the states after each step of x [B, T, I], or [T, B, I] with timeMajor, as results, and the last of them.
func (b *Builder) SequenceRNN(x uint32, c RNNCell, act ops.CellActivation, timeMajor bool) (y, state uint32) {
	major := int32(0)
	if timeMajor {
		major = 1
	}
	inputs := append([]uint32{x}, c.tensors()...)
	list := b.applyAll(nn.OpUnidirectionalSequenceRnn, 2, nil, append(inputs, b.Scalar(int32(act)), b.Scalar(major)), nil)
	return list[0], list[1]
}

// RNNLink is what links the two cells of an operation to another one before: a second input [B, T, A], or [T, B, A], and weights
// [U, A] of each cell, or nil for the backward cell's only input.
type RNNLink struct {
	Input   uint32
	Weights *[2]uint32
}

// Sequence are parameters of bidirectional sequences.
type Sequence struct {
	TimeMajor bool
	Merge     bool // one result, with the numbers of the forward cell before those of the backward one
}

// BidirectionalRNN gives the results of the forward and of the backward cell on x, one where they are merged, and then the last
// state of each. link may be nil.
func (b *Builder) BidirectionalRNN(x uint32, forward, backward RNNCell, link *RNNLink, act ops.CellActivation, s Sequence) []uint32 {
	inputs := append(append([]uint32{x}, forward.tensors()...), backward.tensors()...)
	aux := []uint32{b.left(x), b.left(x), b.left(x)}
	if link != nil {
		aux[0] = link.Input
		if link.Weights != nil {
			aux[1], aux[2] = link.Weights[0], link.Weights[1]
		}
	}
	inputs = append(inputs, aux...)
	inputs = append(inputs, b.Scalar(int32(act)), b.Scalar(s.TimeMajor), b.Scalar(s.Merge))
	return b.applyAll(nn.OpBidirectionalSequenceRnn, s.results()+2, nil, inputs, nil)
}

func (s Sequence) results() int {
	if s.Merge {
		return 1
	}
	return 2
}

// left is an operand without a value, of the type of x.
func (b *Builder) left(x uint32) uint32 { return b.Omitted(b.Operand(x).Type) }

// LSTM are the parameters of an LSTM. A clip of 0 is none.
type LSTM struct {
	Act                ops.CellActivation
	CellClip, ProjClip float64
}

// tensors are those of a cell in the operation's order, n in all; those that are not there have no value.
func (b *Builder) tensors(list map[int]uint32, first, n int, like uint32) []uint32 {
	var all []uint32
	for i := first; i < first+n; i++ {
		x, ok := list[i]
		if !ok {
			x = b.left(like)
		}
		all = append(all, x)
	}
	return all
}

func (l LSTM) parameters(b *Builder, x uint32) []uint32 {
	return b.list(x, int32(l.Act), l.CellClip, l.ProjClip)[1:]
}

// LSTMTensors are the tensors of an LSTM; those that are left off are not in it.
type LSTMTensors map[ops.LSTMTensor]uint32

func (t LSTMTensors) numbered() map[int]uint32 {
	list := map[int]uint32{}
	for k, x := range t {
		list[int(k)] = x
	}
	return list
}

// LSTM is a step of the cell. Its input is [B, I].
func (b *Builder) LSTM(t LSTMTensors, l LSTM) (outputState, cellState, y uint32) {
	x, list := t[ops.LSTMInput], t.numbered()
	inputs := append(b.tensors(list, 0, int(ops.LSTMNormWeights), x), l.parameters(b, x)...)
	y4 := b.applyAll(nn.OpLstm, 4, nil, append(inputs, b.tensors(list, int(ops.LSTMNormWeights), 4, x)...), nil)
	return y4[1], y4[2], y4[3]
}

// SequenceLSTM are the steps of the cell on an input [B, T, I], or [T, B, I] with timeMajor, and the states after the last.
func (b *Builder) SequenceLSTM(t LSTMTensors, l LSTM, timeMajor bool) (y, outputState, cellState uint32) {
	x, list := t[ops.LSTMInput], t.numbered()
	inputs := append(b.tensors(list, 0, int(ops.LSTMNormWeights), x), l.parameters(b, x)...)
	inputs = append(inputs, b.Scalar(timeMajor))
	y3 := b.applyAll(nn.OpUnidirectionalSequenceLstm, 3, nil, append(inputs, b.tensors(list, int(ops.LSTMNormWeights), 4, x)...), nil)
	return y3[0], y3[1], y3[2]
}

// BidirectionalLSTM gives the results of the forward and of the backward cell, one where they are merged, and then the output and
// the cell state of each. Tensors are by their places among those of the operation: ops.BidirectionalLSTMTensor, ops.LSTMAux,
// ops.LSTMAuxWeights.
func (b *Builder) BidirectionalLSTM(t map[int]uint32, l LSTM, s Sequence) []uint32 {
	x, norm := t[int(ops.LSTMInput)], ops.BidirectionalLSTMTensor(ops.LSTMNormWeights, false)
	inputs := append(b.tensors(t, 0, norm, x), l.parameters(b, x)...)
	inputs = append(inputs, b.Scalar(s.Merge), b.Scalar(s.TimeMajor))
	last := ops.BidirectionalLSTMTensor(ops.LSTMNormWeights+ops.GateOutput, true)
	return b.applyAll(nn.OpBidirectionalSequenceLstm, s.results()+4, nil, append(inputs, b.tensors(t, norm, last+1-norm, x)...), nil)
}

// Quantized16BitLSTM is a step of the cell whose states are of 16 and 8 bits; inputs are by ops.LSTM16Tensor.
func (b *Builder) Quantized16BitLSTM(inputs [ops.LSTM16OutputState + 1]uint32) (cellState, y uint32) {
	list := b.applyAll(nn.OpQuantized16BitLstm, 2, nil, inputs[:], nil)
	return list[0], list[1]
}

// QuantizedLSTM is a step of the cell of 8 and 16 bits. Its input is [B, I]. Results have the quantisation of the
// initial states.
func (b *Builder) QuantizedLSTM(t LSTMTensors, l ops.LSTM8) (outputState, cellState, y uint32) {
	list := t.numbered()
	var inputs []uint32
	for i := range int(ops.LSTMNormWeights) + 4 {
		x, ok := list[i]
		if !ok {
			x = b.Omitted(ops.LSTM8Type(i))
		}
		inputs = append(inputs, x)
	}
	for _, v := range append([]float32{l.CellClip, l.ProjClip}, l.Scales[:]...) {
		inputs = append(inputs, b.Scalar(v))
	}
	inputs = append(inputs, b.Scalar(l.HiddenZero), b.Scalar(l.HiddenScale))
	like := func(k ops.LSTMTensor) nn.Operand {
		o := b.Operand(t[k])
		return nn.Operand{Type: o.Type, Scale: o.Scale, ZeroPoint: o.ZeroPoint}
	}
	state := like(ops.LSTMOutputState)
	y3 := b.derive(nn.OpQuantizedLstm, inputs, []nn.Operand{state, like(ops.LSTMCellState), state})
	return y3[0], y3[1], y3[2]
}

// SVDFCell are the tensors of an SVDF of F filters on rows of I numbers: feature weights [F, I], time weights [F, M], the state at
// first [B, F*M], and where Bias is not nil a bias for each unit.
type SVDFCell struct {
	Feature, Time, State uint32
	Bias                 *uint32
}

// SVDF is the state after x [B, I], and the result [B, F/rank].
func (b *Builder) SVDF(x uint32, c SVDFCell, rank int, act ops.CellActivation) (state, y uint32) {
	bias := b.left(x)
	if c.Bias != nil {
		bias = *c.Bias
	}
	inputs := []uint32{x, c.Feature, c.Time, bias, c.State, b.Scalar(b.int32(rank)), b.Scalar(int32(act))}
	list := b.applyAll(nn.OpSvdf, 2, nil, inputs, nil)
	return list[0], list[1]
}
