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
	x := c.data(0)
	w := c.fullyConnectedWeights(x)
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
	b := c.bias(x, w, units)
	act, tanh := c.activation(fcActivation)
	if len(in) < 2 || len(in) > 4 {
		x = c.reshape(x, nn.Dims{elements / depth, depth})
	}
	if !c.options.bool(fcKeepDims) || len(in) == 2 {
		return c.finishFused(nn.OpFullyConnected, tanh, x, w, b, act)
	}
	if in[len(in)-1] != depth {
		return fmt.Errorf("input %v with weights of %d columns", []uint32(in), depth)
	}
	s := c.result()
	y := c.emit(nn.OpFullyConnected, s, x, w, b, act)
	if tanh {
		y = c.emit(nn.OpTanh, s, y)
	}
	in[len(in)-1] = units
	return c.bind(c.reshape(y, in))
}

// fullyConnectedWeights: signed weights with one scale have the HAL's asymmetric type, those with a scale for
// each unit the symmetric one, which driver/ops takes as an extension.
func (c *call) fullyConnectedWeights(x uint32) uint32 {
	typ := c.operand(x).Type
	switch {
	case !c.has(1):
	case c.tensor(1).quant.scales.n > 1:
		if typ != nn.TensorQuant8AsymmSigned {
			c.fail(errors.New("per-channel weights for activations that are not INT8"))
		}
		return c.weights(x, 0)
	case typ.IsFloat() && c.tensor(1).quant.scales.n > 0:
		c.fail(fmt.Errorf("%v weights for float activations", c.tensor(1).typ))
	}
	return c.data(1)
}
