package driver

import (
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// signatureOf keeps what a request is checked against: the main graph, its names, and the pools, which no output may
// overlap. Constants are not read there.
func signatureOf(m *nn.Model) *nn.Model {
	return &nn.Model{Main: m.Main, Pools: m.Pools, Names: nn.Names{
		Inputs: slices.Clone(m.Names.Inputs), Outputs: slices.Clone(m.Names.Outputs),
	}}
}
