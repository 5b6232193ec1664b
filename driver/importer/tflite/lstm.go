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

// lstmParameters appends what all LSTMs have in common.
func (c *call) lstmParameters(tensors []uint32) ([]uint32, error) {
	act, err := c.cellActivation(lstmActivation)
	if err != nil {
		return nil, err
	}
	if act == int32(ops.CellRelu1) {
		return nil, fmt.Errorf("activation %d", act)
	}
	return c.Scalars(c.operand(tensors[0]).Type, slices.Clip(tensors), act, c.options.float32(lstmCellClip), c.options.float32(lstmProjClip))
}

// lstmTensors returns those of an LSTM, of a step or a sequence.
func (c *call) lstmTensors() ([]uint32, error) {
	return c.cellTensors(int(ops.LSTMNormWeights)+4, func(i int) bool {
		return i == int(ops.LSTMOutputState) || i == int(ops.LSTMCellState)
	})
}

// sequenceLSTM: the parameters stand before the weights of the layer normalisation.
func sequenceLSTM(c *call) error {
	if c.options.bool(lstmDiagonal) {
		return errors.New("diagonal recurrent weights")
	}
	list, err := c.lstmTensors()
	if err != nil {
		return err
	}
	inputs, err := c.lstmParameters(list[:ops.LSTMNormWeights])
	if err != nil {
		return err
	}
	if inputs, err = c.Scalars(nn.TensorFloat32, inputs, c.options.bool(lstmTimeMajor)); err != nil {
		return err
	}
	return c.finish(nn.OpUnidirectionalSequenceLstm, append(inputs, list[ops.LSTMNormWeights:]...)...)
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
	list, err := c.lstmTensors()
	if err != nil {
		return err
	}
	inputs, err := c.lstmParameters(list[:ops.LSTMNormWeights])
	if err != nil {
		return err
	}
	return c.finishCell(nn.OpLstm, 3, append(inputs, list[ops.LSTMNormWeights:]...))
}

// bidirectionalLSTM: no file has weights of a layer normalisation here.
func bidirectionalLSTM(c *call) error {
	norm := ops.BidirectionalLSTMTensor(ops.LSTMNormWeights, false) // behind all tensors of the file
	states := []int{}
	for _, backward := range []bool{false, true} {
		states = append(states, ops.BidirectionalLSTMTensor(ops.LSTMOutputState, backward), ops.BidirectionalLSTMTensor(ops.LSTMCellState, backward))
	}
	list, err := c.cellTensors(norm, func(i int) bool { return slices.Contains(states, i) })
	if err != nil {
		return err
	}
	inputs, err := c.lstmParameters(list)
	if err != nil {
		return err
	}
	major := c.options.bool(lstmBothTimeMajor) || !c.options.has(lstmBothTimeMajor) // true by default
	if inputs, err = c.Scalars(nn.TensorFloat32, inputs, c.options.bool(lstmMerge), major); err != nil {
		return err
	}
	for i := norm; i <= ops.BidirectionalLSTMTensor(ops.LSTMNormWeights+ops.GateOutput, true); i++ {
		inputs = append(inputs, c.Add(nn.Operand{Type: c.operand(list[0]).Type, Lifetime: nn.NoValue}))
	}
	return c.finishAll(nn.OpBidirectionalSequenceLstm, inputs...)
}

// Inputs of an LSTM of the basic kernel, and its outputs, of which the last two are what it makes on the way.
const (
	basicInput, basicOutputState, basicWeights, basicBias, basicCellState = 0, 1, 2, 3, 4

	basicOutput, basicCell, basicJoined, basicGates = 0, 1, 2, 3
)

// basicLSTM becomes operations on floats: weights times input and output state, one behind the other, are the gates input, cell,
// forget and output.
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
	list, err := c.cellTensors(5, func(i int) bool { return i == basicOutputState || i == basicCellState })
	if err != nil {
		return err
	}
	e := floatChain{call: c}
	joined := e.emit(nn.OpConcatenation, list[basicInput], list[basicOutputState], int32(1))
	gates := e.emit(nn.OpFullyConnected, joined, list[basicWeights], list[basicBias], nn.ActNone)
	parts := e.split(gates, 4)
	cell := e.emit(nn.OpAdd,
		e.emit(nn.OpMul, e.emit(nn.OpLogistic, parts[0]), e.emit(nn.OpTanh, parts[1]), nn.ActNone),
		e.emit(nn.OpMul, e.emit(nn.OpLogistic, parts[2]), list[basicCellState], nn.ActNone), nn.ActNone)
	output := e.emit(nn.OpMul, e.emit(nn.OpLogistic, parts[3]), e.emit(nn.OpTanh, cell), nn.ActNone)
	for i, x := range []uint32{basicOutput: output, basicCell: cell, basicJoined: joined, basicGates: gates} {
		if e.err == nil {
			if _, e.err = c.resultOf(i); e.err == nil {
				e.err = c.bindTo(c.out[i], x)
			}
		}
	}
	return e.err
}
