package tflite

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// Recurrent cells: the file's tensors are those of the HAL's operation, in its order. An execution is a sequence, or a step of
// one: states that the file keeps in variable tensors are zero where it begins, as TensorFlow Lite has them at first and after
// its reset of all variables. States that are inputs and outputs of the network are the caller's.

// Slots of RNNOptions, SequenceRNNOptions, BidirectionalSequenceRNNOptions and SVDFOptions.
const (
	rnnActivation                                 = 0
	rnnTimeMajor, rnnSequenceActivation, rnnMerge = 0, 1, 2
	svdfRank, svdfActivation                      = 0, 1
)

// cellTensors returns the operands of the first n tensors, of which some are states.
func (c *call) cellTensors(n int, state func(i int) bool) ([]uint32, error) {
	var list []uint32
	for i := range n {
		x, err := c.cellTensor(i, state(i))
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}

// cellTensor returns the operand of a tensor, without a value where the file leaves it off.
func (c *call) cellTensor(i int, state bool) (uint32, error) {
	switch {
	case !c.has(i) && i > 0 && !state:
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

// cellActivation decodes an activation, of which NONE, RELU, RELU_N1_TO_1, RELU6 and TANH have the HAL's numbers.
func (c *call) cellActivation(slot int) (int32, error) {
	act := int32(c.options.int8(slot))
	if act < 0 || act > int32(ops.CellTanh) {
		return 0, fmt.Errorf("activation %d", act)
	}
	return act, nil
}

// finishCell emits a cell of which result i is the output; those before are states that go nowhere.
func (c *call) finishCell(op nn.OperationType, i int, inputs []uint32) error {
	s, err := c.result()
	if err != nil {
		return err
	}
	types := make([]spec, i+1)
	for k := range types {
		types[k] = spec{Of: c.operand(inputs[0]).Type}
	}
	types[i] = s
	list, err := c.EmitAll(op, types, inputs...)
	if err != nil {
		return err
	}
	return c.bind(list[i])
}

// rnn: the HAL's operation gives the state before the result, which is the same.
func rnn(c *call) error {
	list, err := c.cellTensors(int(ops.RNNState)+1, func(i int) bool { return i == int(ops.RNNState) })
	if err != nil {
		return err
	}
	act, err := c.cellActivation(rnnActivation)
	if err != nil {
		return err
	}
	inputs, err := c.Scalars(c.operand(list[0]).Type, list, act)
	if err != nil {
		return err
	}
	return c.finishCell(nn.OpRnn, 1, inputs)
}

func sequenceRNN(c *call) error {
	list, err := c.cellTensors(int(ops.RNNState)+1, func(i int) bool { return i == int(ops.RNNState) })
	if err != nil {
		return err
	}
	act, err := c.cellActivation(rnnSequenceActivation)
	if err != nil {
		return err
	}
	major := int32(0)
	if c.options.bool(rnnTimeMajor) {
		major = 1
	}
	inputs, err := c.Scalars(c.operand(list[0]).Type, list, act, major)
	if err != nil {
		return err
	}
	return c.finish(nn.OpUnidirectionalSequenceRnn, inputs...)
}

func bidirectionalRNN(c *call) error {
	list, err := c.cellTensors(int(ops.RNNAuxWeights)+2, func(i int) bool {
		return i == int(ops.RNNState) || i == int(ops.RNNState+ops.RNNBackward)
	})
	if err != nil {
		return err
	}
	act, err := c.cellActivation(rnnSequenceActivation)
	if err != nil {
		return err
	}
	inputs, err := c.Scalars(c.operand(list[0]).Type, list, act, c.options.bool(rnnTimeMajor), c.options.bool(rnnMerge))
	if err != nil {
		return err
	}
	return c.finishAll(nn.OpBidirectionalSequenceRnn, inputs...)
}

// svdf: TensorFlow Lite moves the state before it adds to it, the HAL's operation afterwards, which is the same for zeros alone.
func svdf(c *call) error {
	if i := int(ops.SVDFState); c.has(i) && !c.tensor(i).table.bool(tensorIsVariable) {
		return fmt.Errorf("input %d: a state that is not a variable tensor", i)
	}
	list, err := c.cellTensors(int(ops.SVDFState)+1, func(i int) bool { return i == int(ops.SVDFState) })
	if err != nil {
		return err
	}
	act, err := c.cellActivation(svdfActivation)
	if err != nil {
		return err
	}
	inputs, err := c.Scalars(c.operand(list[0]).Type, list, c.options.int32(svdfRank, 0), act)
	if err != nil {
		return err
	}
	return c.finishCell(nn.OpSvdf, 1, inputs)
}
