package driver

import (
	"fmt"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// maxParameter is the size of the largest constant that can be a parameter of an operation, in bytes: shapes follow
// from those. The longest are pairs of numbers for each dimension.
const maxParameter = 256

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
		if o.Lifetime != nn.ConstantReference || o.Location.Length > maxParameter {
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
