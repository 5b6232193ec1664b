package compile

import (
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
	"github.com/nngpu/nngpu/gpu/internal/lower"
)

// A cell without peepholes and normalisation has one matrix with the weights of all gates: a step is a product, and one
// kernel for the rest.

// gateList are the gates that the cell has, by ops.GateInput and so on.
func (l *lstm) gateList() []int {
	if l.has(ops.LSTMInputWeights) {
		return []int{ops.GateInput, ops.GateForget, ops.GateCell, ops.GateOutput}
	}
	return []int{ops.GateForget, ops.GateCell, ops.GateOutput}
}

// stacks reports whether the gates can be computed together.
func (l *lstm) stacks() bool {
	if l.apart || l.normalised() || l.has(ops.LSTMPeepholeForget) || l.has(ops.LSTMPeepholeOutput) {
		return false
	}
	columns := func(id ir.ID) int { return l.graph.T(id).Shape[1] }
	sizes := []int{columns(l.in[ops.LSTMInputWeights+ops.GateForget]), columns(l.h)}
	if l.aux[ops.GateForget] != ir.None {
		sizes = append(sizes, columns(l.aux[ops.GateForget]))
	}
	return lower.LSTMFits(l.facts, columns(l.c), len(l.gateList()), l.length*l.batch, sizes...)
}

// stacked are the tensors of all gates that the cell has, one below the other.
func (l *lstm) stacked(tensor func(gate int) ir.ID) ir.ID {
	var list []ir.ID
	for _, g := range l.gateList() {
		list = append(list, tensor(g))
	}
	shape := append([]int(nil), l.graph.T(list[0]).Shape...)
	shape[0] *= len(list)
	return l.into(l.tensor(shape...), nn.OpConcatenation, ops.Concatenation{}, list...)
}

// from is stacked for tensors of the operation; first is the one of the input gate.
func (l *lstm) from(first ops.LSTMTensor) ir.ID {
	return l.stacked(func(gate int) ir.ID { return l.in[int(first)+gate] })
}

// runStacked is run where the cell stacks.
func (l *lstm) runStacked(input, aux ir.ID, backward bool) ([]ir.ID, error) {
	units := l.graph.T(l.c).Shape[1]
	if err := l.takeConstants(4 * units); err != nil {
		return nil, err
	}
	zero := l.constant(len(l.gateList())*units, 0)
	sum := l.product(input, l.from(ops.LSTMInputWeights), l.from(ops.LSTMBias))
	if l.aux[ops.GateForget] != ir.None {
		sum = l.add(sum, l.product(aux, l.stacked(func(gate int) ir.ID { return l.aux[gate] }), zero))
	}
	fromInput, recurrent := l.steps(sum, l.length), l.from(ops.LSTMRecurrentWeights)
	return l.recurrence.run(backward, func(t int) ir.ID {
		h, c := l.tensor(l.batch, units), l.tensor(l.batch, units)
		in := []ir.ID{fromInput[t], l.product(l.h, recurrent, zero), l.c}
		attrs := ops.SequenceLSTM{Act: l.attrs.Act, CellClip: l.attrs.CellClip}
		l.nodes = append(l.nodes, ir.Node{Op: nn.OpLstm, In: in, Out: []ir.ID{h, c}, Attrs: attrs, Source: l.source})
		l.h, l.c = l.projected(h), c
		return l.h
	})
}
