package driver

import (
	"bytes"
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

// signatureOf keeps what a request is checked against: the main graph, its names and the pools, and the values only where
// they are needed, because the shapes of a request follow from them. own is m, whose constants nobody can change: the
// parameters that lie in its pools are copied, kept bytes, so that nobody closes or changes those later. The other
// constants are never read again.
func signatureOf(m, own *nn.Model) (s *nn.Model, kept int64, err error) {
	s = &nn.Model{Main: m.Main, Pools: m.Pools, Names: nn.Names{
		Inputs: slices.Clone(m.Names.Inputs), Outputs: slices.Clone(m.Names.Outputs),
	}}
	if !slices.ContainsFunc(m.Main.Inputs, func(i uint32) bool {
		o := &m.Main.Operands[i]
		return !known(o.Type, o.Dims)
	}) {
		return s, 0, nil
	}
	s.Values, s.Pools = m.Values, slices.Clip(m.Pools)
	s.Main.Operands = slices.Clone(m.Main.Operands)
	lists := make([]constants, len(own.Pools))
	for i := range own.Main.Operands {
		o := &own.Main.Operands[i]
		if o.Lifetime == nn.ConstantReference && isParameter(o) {
			s.Main.Operands[i].Location = o.Location
			lists[o.Location.PoolIndex].list = append(lists[o.Location.PoolIndex].list, &s.Main.Operands[i])
		}
	}
	for i := range lists {
		if len(lists[i].list) == 0 {
			continue
		}
		data, err := own.Pools[i].Bytes()
		if err != nil {
			return nil, 0, fmt.Errorf("pool %d: %w", i, err)
		}
		lists[i].from, lists[i].index = bytes.NewReader(data), uint32(len(s.Pools))
		lists[i].arrange()
		parameters, err := lists[i].move()
		if err != nil {
			return nil, 0, fmt.Errorf("pool %d: %w", i, err)
		}
		s.Pools, kept = append(s.Pools, parameters), kept+parameters.Size()
	}
	return s, kept, nil
}
