package importer

import (
	"fmt"
	"math"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// Reshape returns n with inputs of other dimensions, also where those of the file are fixed: inputs has the dimensions
// of each input, none at all where they stay. Errors are those of validate.Reshape; for a network that is Sized it is
// GENERAL_FAILURE, with nn.ErrUnsupported.
func (n *Network) Reshape(inputs []nn.Dims) (*Network, error) {
	if n.Sized {
		return nil, nn.Errorf(nn.StatusGeneralFailure, "inputs", "%w: the file computes with the dimensions of tensors, which the import took as they are", nn.ErrUnsupported)
	}
	m, err := validate.Reshape(n.Model, inputs)
	if err != nil {
		return nil, err
	}
	out := *n
	out.Model = m
	out.Inputs = reshaped(n.Inputs, m, m.Main.Inputs)
	out.Outputs = reshaped(n.Outputs, m, m.Main.Outputs)
	return &out, nil
}

// reshaped is list with the dimensions that operands of m have.
func reshaped(list []Tensor, m *nn.Model, operands []uint32) []Tensor {
	list = slices.Clone(list)
	for i := range list {
		list[i].Shape = nil
		for _, n := range m.Main.Operands[operands[i]].Dims {
			list[i].Shape = append(list[i].Shape, int(n))
		}
	}
	return list
}

// Batch is the dimensions of each input with size in the first place, for Reshape.
//
// Errors: INVALID_ARGUMENT where size is below 1, or an input has no dimensions.
func (n *Network) Batch(size int) ([]nn.Dims, error) {
	if size < 1 || size > math.MaxInt32 {
		return nil, nn.Invalid("batch", "%d", size)
	}
	list := make([]nn.Dims, len(n.Inputs))
	for i, t := range n.Inputs {
		if len(t.Shape) == 0 {
			return nil, nn.Invalid(fmt.Sprintf("input %d", i), "it has no dimensions")
		}
		list[i] = slices.Clone(n.Model.Main.Operands[n.Model.Main.Inputs[i]].Dims)
		list[i][0] = uint32(size)
	}
	return list, nil
}
