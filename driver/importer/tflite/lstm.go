package tflite

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// Slots of LSTMOptions, UnidirectionalSequenceLSTMOptions and BidirectionalSequenceLSTMOptions.
const (
	lstmActivation, lstmCellClip, lstmProjClip = 0, 1, 2
	lstmKernel                                 = 3 // of LSTM
	lstmTimeMajor, lstmDiagonal                = 3, 5
	lstmMerge, lstmBothTimeMajor               = 3, 4
)

// lstmBasic is the kernel type of an LSTM that has all weights in one tensor.
const lstmBasic = 1

// lstmParameters are what all LSTMs have in common.
func (c *call) lstmParameters() []any {
	act := c.cellActivation(lstmActivation)
	if act == int32(ops.CellRelu1) {
		c.fail(fmt.Errorf("activation %d", act))
	}
	return []any{act, c.options.float32(lstmCellClip), c.options.float32(lstmProjClip)}
}

// lstmTensors returns the tensors of an LSTM, for a step or a sequence: those before the weights of the layer
// normalisation, and the rest.
func (c *call) lstmTensors() (list, norm []uint32) {
	list = c.cellTensors(int(ops.LSTMNormWeights)+4, func(i int) bool {
		return i == int(ops.LSTMOutputState) || i == int(ops.LSTMCellState)
	})
	return list[:ops.LSTMNormWeights], list[ops.LSTMNormWeights:]
}

// sequenceLSTM: the parameters stand before the weights of the layer normalisation.
func sequenceLSTM(c *call) error {
	if c.options.bool(lstmDiagonal) {
		return errors.New("diagonal recurrent weights")
	}
	list, norm := c.lstmTensors()
	inputs := append([]any{list}, c.lstmParameters()...)
	return c.finish(nn.OpUnidirectionalSequenceLstm, append(inputs, c.options.bool(lstmTimeMajor), norm)...)
}

// lstm: the HAL's operation gives scratch memory and both states before the result.
func lstm(c *call) error {
	if kernel := c.options.int8(lstmKernel); kernel == lstmBasic {
		return c.basicLSTM()
	} else if kernel != 0 {
		return importer.Damaged("kernel type %d", kernel)
	}
	if n := len(c.in); n != 20 && n != 24 || len(c.out) != 1 {
		return importer.Damaged("%d inputs and %d outputs", n, len(c.out))
	}
	list, norm := c.lstmTensors()
	return c.finishCell(nn.OpLstm, 3, list, append(c.lstmParameters(), norm)...)
}

// bidirectionalLSTM: no file has weights of a layer normalisation here.
func bidirectionalLSTM(c *call) error {
	norm := ops.BidirectionalLSTMTensor(ops.LSTMNormWeights, false) // behind all tensors of the file
	states := []int{}
	for _, backward := range []bool{false, true} {
		states = append(states, ops.BidirectionalLSTMTensor(ops.LSTMOutputState, backward), ops.BidirectionalLSTMTensor(ops.LSTMCellState, backward))
	}
	list := c.cellTensors(norm, func(i int) bool { return slices.Contains(states, i) })
	major := c.options.bool(lstmBothTimeMajor) || !c.options.has(lstmBothTimeMajor) // true by default
	inputs := append([]any{list}, c.lstmParameters()...)
	inputs = append(inputs, c.options.bool(lstmMerge), major)
	for i := norm; i <= ops.BidirectionalLSTMTensor(ops.LSTMNormWeights+ops.GateOutput, true); i++ {
		inputs = append(inputs, c.absent(c.operand(list[0]).Type))
	}
	return c.finishAll(nn.OpBidirectionalSequenceLstm, inputs...)
}

// Inputs of an LSTM of the basic kernel, and its outputs, the last two of which are intermediate results.
const (
	basicInput, basicOutputState, basicWeights, basicBias, basicCellState = 0, 1, 2, 3, 4

	basicOutput, basicCell, basicJoined, basicGates = 0, 1, 2, 3
)

// basicLSTM becomes operations on floats: weights times the concatenated input and output state are the gates input,
// cell, forget and output.
func (c *call) basicLSTM() error {
	if len(c.in) != 5 || len(c.out) != 4 {
		return importer.Damaged("%d inputs and %d outputs", len(c.in), len(c.out))
	}
	if t := c.tensor(basicInput).typ; t != typeFloat32 {
		return fmt.Errorf("basic kernel of %v", t)
	}
	if act := c.options.int8(lstmActivation); act != 4 || c.options.float32(lstmCellClip) != 0 || c.options.float32(lstmProjClip) != 0 {
		return errors.New("basic kernel with another activation than TANH, or with clipping")
	}
	list := c.cellTensors(5, func(i int) bool { return i == basicOutputState || i == basicCellState })
	joined := c.float(nn.OpConcatenation, list[basicInput], list[basicOutputState], int32(1))
	gates := c.float(nn.OpFullyConnected, joined, list[basicWeights], list[basicBias], nn.ActNone)
	parts := c.emitAll(nn.OpSplit, slices.Repeat([]spec{floatType}, 4), gates, int32(1), int32(4))
	cell := c.float(nn.OpAdd,
		c.float(nn.OpMul, c.float(nn.OpLogistic, parts[0]), c.float(nn.OpTanh, parts[1]), nn.ActNone),
		c.float(nn.OpMul, c.float(nn.OpLogistic, parts[2]), list[basicCellState], nn.ActNone), nn.ActNone)
	output := c.float(nn.OpMul, c.float(nn.OpLogistic, parts[3]), c.float(nn.OpTanh, cell), nn.ActNone)
	for i, x := range []uint32{basicOutput: output, basicCell: cell, basicJoined: joined, basicGates: gates} {
		c.resultOf(i)
		c.bindTo(c.out[i], x)
	}
	return c.err
}
