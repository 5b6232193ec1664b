package tflite

import (
	"fmt"
	"slices"

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

// cellTensors returns the operands of the first n tensors, some of which are states.
func (c *call) cellTensors(n int, state func(i int) bool) []uint32 {
	list := make([]uint32, n)
	for i := range list {
		list[i] = c.cellTensor(i, state(i))
	}
	return list
}

// cellTensor returns the operand of a tensor, without a value where the file leaves it off.
func (c *call) cellTensor(i int, state bool) uint32 {
	switch {
	case c.err == nil && !c.has(i) && i > 0 && !state:
		return c.absent(c.operand(uint32(c.values[c.in[0]].operand)).Type)
	case c.err == nil && state && c.has(i) && c.tensor(i).table.bool(tensorIsVariable):
		return c.zeroState(i)
	}
	return c.data(i)
}

// zeroState returns zeros of the shape of input i, a variable tensor.
func (c *call) zeroState(i int) uint32 {
	t := c.tensor(i)
	if _, ok := c.file.constant(t); ok || t.typ != typeFloat32 {
		c.fail(fmt.Errorf("input %d: variable tensor of %v, or with a value", i, t.typ))
	}
	d, err := t.dims()
	if err != nil {
		c.fail(fmt.Errorf("input %d: %w", i, err))
	}
	return c.zeros(floatType, d)
}

// cellActivation decodes an activation: NONE, RELU, RELU_N1_TO_1, RELU6 and TANH have the HAL's numbers.
func (c *call) cellActivation(slot int) int32 {
	act := int32(c.options.int8(slot))
	if act < 0 || act > int32(ops.CellTanh) {
		c.fail(fmt.Errorf("activation %d", act))
	}
	return act
}

// finishCell emits a cell of which result i is the output; those before are states that are dropped. Its inputs begin
// with tensors.
func (c *call) finishCell(op nn.OperationType, i int, tensors []uint32, inputs ...any) error {
	types := slices.Repeat([]spec{{Of: c.operand(tensors[0]).Type}}, i+1)
	types[i] = c.result()
	list := c.emitAll(op, types, append([]any{tensors}, inputs...)...)
	return c.bind(list[i])
}

// rnn: the HAL's operation gives the state before the result, which is the same.
func rnn(c *call) error {
	list := c.cellTensors(int(ops.RNNState)+1, func(i int) bool { return i == int(ops.RNNState) })
	return c.finishCell(nn.OpRnn, 1, list, c.cellActivation(rnnActivation))
}

func sequenceRNN(c *call) error {
	list := c.cellTensors(int(ops.RNNState)+1, func(i int) bool { return i == int(ops.RNNState) })
	act := c.cellActivation(rnnSequenceActivation)
	major := int32(0)
	if c.options.bool(rnnTimeMajor) {
		major = 1
	}
	return c.finish(nn.OpUnidirectionalSequenceRnn, list, act, major)
}

func bidirectionalRNN(c *call) error {
	list := c.cellTensors(int(ops.RNNAuxWeights)+2, func(i int) bool {
		return i == int(ops.RNNState) || i == int(ops.RNNState+ops.RNNBackward)
	})
	act := c.cellActivation(rnnSequenceActivation)
	return c.finishAll(nn.OpBidirectionalSequenceRnn, list, act, c.options.bool(rnnTimeMajor), c.options.bool(rnnMerge))
}

// svdf: TensorFlow Lite moves the state before it adds to it, the HAL's operation afterwards, which is the same only
// for zeros.
func svdf(c *call) error {
	if i := int(ops.SVDFState); c.has(i) && !c.tensor(i).table.bool(tensorIsVariable) {
		return fmt.Errorf("input %d: a state that is not a variable tensor", i)
	}
	list := c.cellTensors(int(ops.SVDFState)+1, func(i int) bool { return i == int(ops.SVDFState) })
	act := c.cellActivation(svdfActivation)
	return c.finishCell(nn.OpSvdf, 1, list, c.options.int32(svdfRank, 0), act)
}
