package driver

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
)

// maxScalar and maxList are the sizes of the largest constants that can be a parameter of an operation, in bytes: shapes
// follow from those. A list is a TENSOR_INT32, of at most ops.MaxIndices elements.
const (
	maxScalar = 4
	maxList   = 4 * ops.MaxIndices
)

// isParameter reports whether o, a constant, may be a parameter.
func isParameter(o *nn.Operand) bool {
	if o.Type == nn.TensorInt32 {
		return o.Location.Length <= maxList
	}
	return o.Location.Length <= maxScalar
}

// signatureOf keeps what a request is checked against: the main graph and the pools, and the values only where they
// are needed, because the shapes of a request follow from them. full is m with its pools open: the parameters that
// lie in pools are copied, so that nobody closes, shortens or changes them later.
func signatureOf(m, full *nn.Model) (*nn.Model, error) {
	s := &nn.Model{Main: m.Main, Pools: m.Pools}
	if !slices.ContainsFunc(m.Main.Inputs, func(i uint32) bool {
		o := &m.Main.Operands[i]
		return !known(o.Type, o.Dims)
	}) {
		return s, nil
	}
	s.Values = m.Values
	var parameters nn.HostMemory
	for i := range full.Main.Operands {
		o := &full.Main.Operands[i]
		if o.Lifetime != nn.ConstantReference || !isParameter(o) {
			continue
		}
		value, err := full.Value(o)
		if err != nil {
			return nil, fmt.Errorf("operand %d: %w", i, err)
		}
		if parameters == nil {
			s.Main.Operands = slices.Clone(s.Main.Operands)
		}
		s.Main.Operands[i].Location = nn.Location{
			PoolIndex: uint32(len(m.Pools)), Offset: uint32(len(parameters)), Length: uint32(len(value)),
		}
		parameters = append(parameters, value...)
	}
	if parameters != nil {
		s.Pools = append(slices.Clip(m.Pools), parameters)
	}
	return s, nil
}
