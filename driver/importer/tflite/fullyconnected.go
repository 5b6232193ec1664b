package tflite

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/importer"
	"github.com/nngpu/nngpu/driver/nn"
)

// Vtable slots of FullyConnectedOptions.
const fcActivation, fcWeightsFormat, fcKeepDims, fcBiasType = 0, 1, 2, 4

// fullyConnected: weights [U, I]. The HAL's operation takes rank 2 to 4 and gives [B, U], so that other ranks
// on either side need a RESHAPE.
func fullyConnected(c *call) error {
	if f := c.options.int8(fcWeightsFormat); f != 0 {
		return fmt.Errorf("weights format %d (shuffled)", f)
	}
	if t := elementType(c.options.int8(fcBiasType)); t != typeFloat32 && t != typeInt32 {
		return fmt.Errorf("bias of type %v", t)
	}
	x, err := c.data(0)
	if err != nil {
		return err
	}
	w, err := c.fullyConnectedWeights(x)
	if err != nil {
		return err
	}
	in, d := slices.Clone(c.operand(x).Dims), c.operand(w).Dims
	if len(d) != 2 {
		return fmt.Errorf("weights of rank %d", len(d))
	}
	units, depth := d[0], d[1]
	elements, err := in.Elements()
	if err != nil {
		return importer.Damaged("%w", err)
	}
	if elements%depth != 0 {
		return fmt.Errorf("input %v is no whole number of rows of %d", []uint32(in), depth)
	}
	b, err := c.bias(x, w, units)
	if err != nil {
		return err
	}
	act, tanh, err := c.activation(fcActivation)
	if err != nil {
		return err
	}
	if len(in) < 2 || len(in) > 4 {
		if x, err = c.reshape(x, nn.Dims{elements / depth, depth}); err != nil {
			return err
		}
	}
	inputs, err := c.Scalars(c.operand(x).Type, []uint32{x, w, b}, act)
	if err != nil {
		return err
	}
	if !c.options.bool(fcKeepDims) || len(in) == 2 {
		return c.finishFused(nn.OpFullyConnected, tanh, inputs...)
	}
	if in[len(in)-1] != depth {
		return fmt.Errorf("input %v with weights of %d columns", []uint32(in), depth)
	}
	s, err := c.result()
	if err != nil {
		return err
	}
	y, err := c.Emit(nn.OpFullyConnected, s, inputs...)
	if err == nil && tanh {
		y, err = c.Emit(nn.OpTanh, s, y)
	}
	if err != nil {
		return err
	}
	in[len(in)-1] = units
	if y, err = c.reshape(y, in); err != nil {
		return err
	}
	return c.bind(y)
}

// fullyConnectedWeights: signed weights with one scale have the HAL's asymmetric type, those with a scale for
// each unit the symmetric one, which driver/ops takes as an extension.
func (c *call) fullyConnectedWeights(x uint32) (uint32, error) {
	if c.has(1) && c.tensor(1).quant.scales.n > 1 {
		if c.operand(x).Type != nn.TensorQuant8AsymmSigned {
			return 0, errors.New("per-channel weights for activations that are not INT8")
		}
		return c.weights(x, 0)
	}
	if c.has(1) && c.operand(x).Type.IsFloat() && c.tensor(1).quant.scales.n > 0 {
		return 0, fmt.Errorf("%v weights for float activations", c.tensor(1).typ)
	}
	return c.data(1)
}
