package compile

import (
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// layerNormEpsilon keeps a row of equal numbers from a division by zero. From kLayerNormEpsilon of
// packages/modules/NeuralNetworks, common/operations/LSTM.cpp.
const layerNormEpsilon = 1e-8

// lstm is a cell while its steps are expanded.
type lstm struct {
	*recurrence
	attrs ops.SequenceLSTM
	in    []ir.ID  // float32; by ops.LSTMTensor
	aux   [4]ir.ID // weights of the auxiliary input, of each gate

	zeroUnits, zeroOutputs, one, epsilon ir.ID     // constants
	cellClip, projClip                   *[2]ir.ID // lower and upper bound; nil: none

	apart bool    // gates are wanted one by one
	h, c  ir.ID   // output and cell state, [batch, outputs] and [batch, units]
	gates []ir.ID // of the last step: input, where there is one, cell, forget, output
}

// expandLSTM makes a step.
func expandLSTM(x *expansion, n *ir.Node) error {
	r, err := x.recurrence(n, true)
	if err != nil {
		return err
	}
	l, err := r.lstm(n.Attrs.(ops.SequenceLSTM), func(t ops.LSTMTensor) int { return int(t) })
	if err != nil {
		return err
	}
	l.apart = true
	if _, err := l.run(r.rows(l.in[ops.LSTMInput]), ir.None, false); err != nil {
		return err
	}
	scratch := x.tensor(x.graph.T(n.Out[0]).Shape...)
	x.finish(n.Out[0], x.into(scratch, nn.OpConcatenation, ops.Concatenation{Axis: 1}, l.gates...))
	for i, a := range []ir.ID{l.h, l.c, l.h} {
		x.finish(n.Out[1+i], a)
	}
	return nil
}

// expandSequenceLSTM multiplies the whole sequence with the input weights of each gate, or of all at once, then goes through the
// steps.
//
// Numerics: float32, like the operation's formula; float16 is rounded only at the end.
func expandSequenceLSTM(x *expansion, n *ir.Node) error {
	a := n.Attrs.(ops.SequenceLSTM)
	r, err := x.recurrence(n, a.TimeMajor)
	if err != nil {
		return err
	}
	l, err := r.lstm(a, func(t ops.LSTMTensor) int { return int(t) })
	if err != nil {
		return err
	}
	all, err := l.run(r.rows(l.in[ops.LSTMInput]), ir.None, false)
	if err != nil {
		return err
	}
	r.finishAll(n, r.joined(all), l.h, l.c)
	return nil
}

// expandBidirectionalLSTM goes through the steps in both directions.
func expandBidirectionalLSTM(x *expansion, n *ir.Node) error {
	a := n.Attrs.(ops.SequenceLSTM)
	r, err := x.recurrence(n, a.TimeMajor)
	if err != nil {
		return err
	}
	var cells [2]*lstm
	var all [2][]ir.ID
	input, aux := r.linked(ops.LSTMAux, ops.LSTMAuxWeights+ops.GateForget)
	for i, backward := range []bool{false, true} {
		l, err := r.lstm(a, func(t ops.LSTMTensor) int { return ops.BidirectionalLSTMTensor(t, backward) })
		if err != nil {
			return err
		}
		copy(l.aux[:], r.in[ops.LSTMAuxWeights+4*i:])
		if all[i], err = l.run(input[i], aux, backward); err != nil {
			return err
		}
		cells[i] = l
	}
	r.finishAll(n, r.merged(a.Merge, all, cells[0].h, cells[0].c, cells[1].h, cells[1].c)...)
	return nil
}

// lstm makes a cell. at says where its tensors are among those of the operation.
func (r *recurrence) lstm(a ops.SequenceLSTM, at func(ops.LSTMTensor) int) (*lstm, error) {
	l := &lstm{recurrence: r, attrs: a}
	for t := ops.LSTMInput; t < ops.LSTMNormWeights+4; t++ {
		id := ir.None
		if k := at(t); k < len(r.in) {
			id = r.in[k]
		}
		l.in = append(l.in, id)
	}
	for g := range l.aux {
		l.aux[g] = ir.None
	}
	l.h, l.c = l.in[ops.LSTMOutputState], l.in[ops.LSTMCellState]
	units, outputs := r.graph.T(l.c).Shape[1], r.graph.T(l.h).Shape[1]
	if err := r.takeConstants(units + outputs); err != nil {
		return nil, err
	}
	l.constants(units, outputs)
	return l, nil
}

// run goes through the steps. input and aux, None for none, are rows of all steps.
func (l *lstm) run(input, aux ir.ID, backward bool) ([]ir.ID, error) {
	if l.stacks() {
		return l.runStacked(input, aux, backward)
	}
	var gates [4][]ir.ID // of each step, what the inputs add
	for g := range gates {
		weights := l.in[int(ops.LSTMInputWeights)+g]
		if weights == ir.None {
			continue
		}
		sum := l.product(input, weights, l.bias(g))
		if l.aux[g] != ir.None {
			sum = l.add(sum, l.product(aux, l.aux[g], l.zeroUnits))
		}
		gates[g] = l.steps(sum, l.length)
	}
	return l.recurrence.run(backward, func(t int) ir.ID {
		var fromInput [4]ir.ID
		for g := range gates {
			if gates[g] != nil {
				fromInput[g] = gates[g][t]
			}
		}
		l.step(fromInput)
		return l.h
	})
}

func (l *lstm) has(t ops.LSTMTensor) bool { return l.in[t] != ir.None }

func (l *lstm) normalised() bool { return l.has(ops.LSTMNormWeights + ops.GateForget) }

func (l *lstm) constants(units, outputs int) {
	l.zeroUnits, l.zeroOutputs = l.constant(units, 0), l.constant(outputs, 0)
	l.one, l.epsilon = l.constant(1, 1), l.constant(1, layerNormEpsilon)
	bounds := func(clip float64) *[2]ir.ID {
		if clip == 0 {
			return nil
		}
		return &[2]ir.ID{l.constant(1, -float32(clip)), l.constant(1, float32(clip))}
	}
	l.cellClip, l.projClip = bounds(l.attrs.CellClip), bounds(l.attrs.ProjClip)
}

// bias is what is added to a gate's products: zero where a normalisation comes between.
func (l *lstm) bias(gate int) ir.ID {
	if l.normalised() {
		return l.zeroUnits
	}
	return l.in[int(ops.LSTMBias)+gate]
}

// step computes the states from those before and the gates' products with the input.
func (l *lstm) step(fromInput [4]ir.ID) {
	h, c := l.h, l.c
	forget := l.like(nn.OpLogistic, nil, l.gate(ops.GateForget, fromInput, h, c, ops.LSTMPeepholeForget))
	var input ir.ID
	if l.has(ops.LSTMInputWeights) {
		input = l.like(nn.OpLogistic, nil, l.gate(ops.GateInput, fromInput, h, c, ops.LSTMPeepholeInput))
	} else {
		input = l.into(l.tensor(l.graph.T(forget).Shape...), nn.OpSub, ops.Arithmetic{}, l.one, forget)
	}
	update := l.activate(l.attrs.Act, l.gate(ops.GateCell, fromInput, h, ir.None, 0))
	c = l.add(l.mul(forget, c), l.mul(input, update))
	if l.cellClip != nil {
		c = l.clamp(c, l.cellClip[0], l.cellClip[1])
	}
	output := l.like(nn.OpLogistic, nil, l.gate(ops.GateOutput, fromInput, h, c, ops.LSTMPeepholeOutput))
	h = l.mul(output, l.activate(l.attrs.Act, c))
	l.h, l.c, l.gates = l.projected(h), c, []ir.ID{update, forget, output}
	if l.has(ops.LSTMInputWeights) {
		l.gates = append([]ir.ID{input}, l.gates...)
	}
}

// projected is the output of the cell; h is its value before the projection.
func (l *lstm) projected(h ir.ID) ir.ID {
	if !l.has(ops.LSTMProjectionWeights) {
		return h
	}
	bias := l.zeroOutputs
	if l.has(ops.LSTMProjectionBias) {
		bias = l.in[ops.LSTMProjectionBias]
	}
	h = l.product(h, l.in[ops.LSTMProjectionWeights], bias)
	if l.projClip != nil {
		h = l.clamp(h, l.projClip[0], l.projClip[1])
	}
	return h
}

// gate is the input of a gate's activation. c is None for the gate without a peephole.
func (l *lstm) gate(gate int, fromInput [4]ir.ID, h, c ir.ID, peephole ops.LSTMTensor) ir.ID {
	sum := l.add(fromInput[gate], l.product(h, l.in[int(ops.LSTMRecurrentWeights)+gate], l.zeroUnits))
	if c != ir.None && l.has(peephole) {
		sum = l.add(sum, l.mul(c, l.in[peephole]))
	}
	if l.normalised() {
		centred, scale := l.normalise(sum, l.epsilon, 1)
		scaled := l.mul(l.mul(centred, scale), l.in[int(ops.LSTMNormWeights)+gate])
		sum = l.add(scaled, l.in[int(ops.LSTMBias)+gate])
	}
	return sum
}
