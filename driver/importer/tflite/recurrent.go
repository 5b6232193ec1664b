package tflite

import (
	"errors"
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// Slots of UnidirectionalSequenceLSTMOptions.
const (
	lstmActivation, lstmCellClip, lstmProjClip = 0, 1, 2
	lstmTimeMajor, lstmDiagonal                = 3, 5
)

// sequenceLSTM: the file's tensors are the operation's, in its order; the parameters stand before those of the layer
// normalisation. A sequence is an execution: states that the file keeps in variable tensors are zero where it begins, as
// TensorFlow Lite has them at first and after its reset of all variables.
func sequenceLSTM(c *call) error {
	if c.options.bool(lstmDiagonal) {
		return errors.New("diagonal recurrent weights")
	}
	var tensors []uint32
	for i := range int(ops.LSTMNormWeights) + 4 {
		x, err := c.lstmTensor(ops.LSTMTensor(i))
		if err != nil {
			return err
		}
		tensors = append(tensors, x)
	}
	act := int32(c.options.int8(lstmActivation))
	switch act {
	case 0, 1, 3, 4: // NONE, RELU, RELU6 and TANH have the HAL's numbers
	default:
		return fmt.Errorf("activation %d", act)
	}
	inputs, err := c.Scalars(c.operand(tensors[0]).Type, tensors[:ops.LSTMNormWeights:ops.LSTMNormWeights],
		act, c.options.float32(lstmCellClip), c.options.float32(lstmProjClip), c.options.bool(lstmTimeMajor))
	if err != nil {
		return err
	}
	return c.finish(nn.OpUnidirectionalSequenceLstm, append(inputs, tensors[ops.LSTMNormWeights:]...)...)
}

// lstmTensor returns the operand of a tensor, without a value where the file leaves it off.
func (c *call) lstmTensor(k ops.LSTMTensor) (uint32, error) {
	i := int(k)
	state := k == ops.LSTMOutputState || k == ops.LSTMCellState
	switch {
	case !c.has(i) && k != ops.LSTMInput && !state:
		return c.Add(nn.Operand{Type: c.operand(uint32(c.values[c.in[0]].operand)).Type, Lifetime: nn.NoValue}), nil
	case state && c.has(i) && c.tensor(i).table.bool(tensorIsVariable):
		return c.zeroState(i)
	}
	return c.data(i)
}

// zeroState returns zeros of the shape of input i, a variable tensor.
func (c *call) zeroState(i int) (uint32, error) {
	t := c.tensor(i)
	if _, ok := c.file.constant(t); ok || t.typ != typeFloat32 {
		return 0, fmt.Errorf("input %d: variable tensor of %v, or with a value", i, t.typ)
	}
	d, err := t.dims()
	if err != nil {
		return 0, fmt.Errorf("input %d: %w", i, err)
	}
	return c.Zeros(spec{Of: nn.TensorFloat32}, d)
}
