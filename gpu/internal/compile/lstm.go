package compile

import (
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/ops"
	"github.com/nngpu/nngpu/gpu/internal/ir"
)

// layerNormEpsilon keeps a row of equal numbers from a division by zero. From kLayerNormEpsilon of
// packages/modules/NeuralNetworks, common/operations/LSTM.cpp.
const layerNormEpsilon = 1e-8

// lstm is a cell while its steps are expanded. Everything is computed in float32: a float16 model is converted at
// both ends, as the reference implementation of the HAL does it.
type lstm struct {
	*expansion
	attrs ops.SequenceLSTM
	in    []ir.ID // float32; by ops.LSTMTensor

	zeroUnits, zeroOutputs, one, epsilon ir.ID     // constants
	cellClip, projClip                   *[2]ir.ID // lower and upper bound; nil: none
}

// expandSequenceLSTM multiplies the whole sequence with the input weights of each gate, then goes through the steps.
//
// Numerics: float32, like the operation's formula; float16 is rounded at the end alone.
func expandSequenceLSTM(x *expansion, n *ir.Node) error {
	l := &lstm{expansion: x, attrs: n.Attrs.(ops.SequenceLSTM)}
	shape := x.graph.T(n.In[ops.LSTMInput]).Shape
	steps, batch := shape[0], shape[1]
	if !l.attrs.TimeMajor {
		steps, batch = batch, steps
	}
	if err := x.checkRoom(steps); err != nil {
		return err
	}
	units, outputs := x.graph.T(n.In[ops.LSTMCellState]).Shape[1], x.graph.T(n.In[ops.LSTMOutputState]).Shape[1]
	if err := x.takeConstants(units + outputs); err != nil {
		return err
	}
	for _, id := range n.In {
		l.in = append(l.in, x.float32(id))
	}
	l.constants(units, outputs)

	rows := x.into(x.tensor(steps*batch, shape[2]), nn.OpReshape, nil, l.timeMajor(l.in[ops.LSTMInput]))
	var gates [4][]ir.ID // of each step, what the input adds
	for g := range gates {
		if weights := l.in[int(ops.LSTMInputWeights)+g]; weights != ir.None {
			gates[g] = x.steps(x.product(rows, weights, l.bias(g)), steps)
		}
	}
	h, c := l.in[ops.LSTMOutputState], l.in[ops.LSTMCellState]
	all := make([]ir.ID, steps)
	for t := range steps {
		var fromInput [4]ir.ID
		for g := range gates {
			if gates[g] != nil {
				fromInput[g] = gates[g][t]
			}
		}
		h, c = l.step(fromInput, h, c)
		all[t] = h
		if err := x.checkRoom(len(x.nodes)); err != nil {
			return err
		}
	}
	if steps > 1 {
		h = x.into(x.tensor(steps*batch, outputs), nn.OpConcatenation, ops.Concatenation{}, all...)
	}
	y := x.into(x.tensor(steps, batch, outputs), nn.OpReshape, nil, h)
	l.finish(n.Out[0], l.timeMajor(y))
	if len(n.Out) > 1 {
		l.finish(n.Out[1], all[steps-1])
		l.finish(n.Out[2], c)
	}
	return nil
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

// timeMajor exchanges the first two dimensions of a where the model is not time-major.
func (l *lstm) timeMajor(a ir.ID) ir.ID {
	if l.attrs.TimeMajor {
		return a
	}
	s := l.graph.T(a).Shape
	out := l.tensor(s[1], s[0], s[2])
	if s[0] == 1 || s[1] == 1 {
		return l.into(out, nn.OpReshape, nil, a)
	}
	return l.into(out, nn.OpTranspose, ops.Transpose{Perm: []int{1, 0, 2}}, a)
}

// bias is what is added to a gate's products: zero where a normalisation comes between.
func (l *lstm) bias(gate int) ir.ID {
	if l.normalised() {
		return l.zeroUnits
	}
	return l.in[int(ops.LSTMBias)+gate]
}

// step computes output and cell state, [batch, outputs] and [batch, units], from those before and the gates' products
// with the input.
func (l *lstm) step(fromInput [4]ir.ID, h, c ir.ID) (ir.ID, ir.ID) {
	forget := l.like(nn.OpLogistic, nil, l.gate(ops.GateForget, fromInput, h, c, ops.LSTMPeepholeForget))
	var input ir.ID
	if l.has(ops.LSTMInputWeights) {
		input = l.like(nn.OpLogistic, nil, l.gate(ops.GateInput, fromInput, h, c, ops.LSTMPeepholeInput))
	} else {
		input = l.into(l.tensor(l.graph.T(forget).Shape...), nn.OpSub, ops.Arithmetic{}, l.one, forget)
	}
	update := l.activate(l.gate(ops.GateCell, fromInput, h, ir.None, 0))
	c = l.add(l.mul(forget, c), l.mul(input, update))
	if l.cellClip != nil {
		c = l.clamp(c, l.cellClip[0], l.cellClip[1])
	}
	output := l.like(nn.OpLogistic, nil, l.gate(ops.GateOutput, fromInput, h, c, ops.LSTMPeepholeOutput))
	h = l.mul(output, l.activate(c))
	if l.has(ops.LSTMProjectionWeights) {
		bias := l.zeroOutputs
		if l.has(ops.LSTMProjectionBias) {
			bias = l.in[ops.LSTMProjectionBias]
		}
		h = l.product(h, l.in[ops.LSTMProjectionWeights], bias)
		if l.projClip != nil {
			h = l.clamp(h, l.projClip[0], l.projClip[1])
		}
	}
	return h, c
}

// gate is what the activation of a gate takes. c is None for the gate without a peephole.
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

// activate applies the activation of the cell.
func (l *lstm) activate(a ir.ID) ir.ID {
	switch l.attrs.Act {
	case ops.LSTMRelu:
		return l.like(nn.OpRelu, nil, a)
	case ops.LSTMRelu6:
		return l.like(nn.OpRelu6, nil, a)
	case ops.LSTMTanh:
		return l.like(nn.OpTanh, nil, a)
	case ops.LSTMLogistic:
		return l.like(nn.OpLogistic, nil, a)
	}
	return a
}
