package nntest

import (
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// Graph is the main graph of B. Refer gives the operands of it, which may be any
// scalars so far, that stand for graphs.
type Graph struct {
	B     *nn.Builder
	Refer map[uint32]uint32
}

// Join returns the model of main, whose referenced graphs are the others, in order.
func Join(main Graph, others ...Graph) *nn.Model {
	m := Build(main.B)
	refer(&m.Main, main.Refer)
	for _, o := range others {
		g := Build(o.B)
		shift := uint32(len(m.Values))
		m.Values = append(m.Values, g.Values...)
		for i := range g.Main.Operands {
			if o := &g.Main.Operands[i]; o.Lifetime == nn.ConstantCopy {
				o.Location.Offset += shift
			}
		}
		refer(&g.Main, o.Refer)
		m.Values = append(m.Values, make([]byte, -len(m.Values)&3)...)
		m.Referenced = append(m.Referenced, g.Main)
	}
	return m
}

func refer(g *nn.Graph, list map[uint32]uint32) {
	g.Operands = slices.Clone(g.Operands)
	for i, graph := range list {
		g.Operands[i] = nn.Operand{Type: nn.SubgraphRef, Lifetime: nn.Subgraph, Location: nn.Location{Offset: graph}}
	}
}
