package ops

import (
	"cmp"
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// LSTMTensor is the place of a tensor among those of an LSTM (Row.Tensors).
type LSTMTensor int

// The tensors of an LSTM. A gate's are in the order of the gates: input, forget, cell, output.
const (
	LSTMInput             LSTMTensor = 0
	LSTMInputWeights      LSTMTensor = 1 // the first of four
	LSTMRecurrentWeights  LSTMTensor = 5 // the first of four
	LSTMPeepholeInput     LSTMTensor = 9
	LSTMPeepholeForget    LSTMTensor = 10
	LSTMPeepholeOutput    LSTMTensor = 11
	LSTMBias              LSTMTensor = 12 // the first of four
	LSTMProjectionWeights LSTMTensor = 16
	LSTMProjectionBias    LSTMTensor = 17
	LSTMOutputState       LSTMTensor = 18
	LSTMCellState         LSTMTensor = 19
	LSTMNormWeights       LSTMTensor = 20 // the first of four
)

// Gates of an LSTM.
const (
	GateInput = iota
	GateForget
	GateCell
	GateOutput
)

// lstmTensors are those of LSTM, in the order of LSTMTensor.
var lstmTensors = []cellTensor{
	{"input", "BI", false},
	{"input-to-input weights", "UI", true}, {"input-to-forget weights", "UI", false},
	{"input-to-cell weights", "UI", false}, {"input-to-output weights", "UI", false},
	{"recurrent-to-input weights", "UO", true}, {"recurrent-to-forget weights", "UO", false},
	{"recurrent-to-cell weights", "UO", false}, {"recurrent-to-output weights", "UO", false},
	{"cell-to-input weights", "U", true}, {"cell-to-forget weights", "U", true}, {"cell-to-output weights", "U", true},
	{"input gate bias", "U", true}, {"forget gate bias", "U", false}, {"cell gate bias", "U", false}, {"output gate bias", "U", false},
	{"projection weights", "OU", true}, {"projection bias", "O", true},
	{"output state in", "BO", false}, {"cell state in", "BU", false},
	{"input layer norm weights", "U", true}, {"forget layer norm weights", "U", true},
	{"cell layer norm weights", "U", true}, {"output layer norm weights", "U", true},
}

// The tensors of BIDIRECTIONAL_SEQUENCE_LSTM besides those of its cells.
const (
	LSTMAux        = 39
	LSTMAuxWeights = 40 // forward and backward, the first of four each
)

// BidirectionalLSTMTensor is the place of a tensor of one of the two cells of BIDIRECTIONAL_SEQUENCE_LSTM.
func BidirectionalLSTMTensor(t LSTMTensor, backward bool) int {
	weights, states, norm := 0, 17, 28
	if backward {
		weights, states, norm = 17, 19, 32
	}
	switch {
	case t == LSTMInput:
		return 0
	case t < LSTMOutputState:
		return int(t) + weights
	case t < LSTMNormWeights:
		return int(t) + states
	}
	return int(t) + norm
}

func lstmSequence() []cellTensor {
	return append([]cellTensor{{"input", "TBI", false}}, lstmTensors[LSTMInputWeights:]...)
}

func lstmBidirectional() []cellTensor {
	list := make([]cellTensor, BidirectionalLSTMTensor(LSTMNormWeights+GateOutput, true)+1)
	for i, name := range []string{"forward", "backward"} {
		for t, tensor := range direction(name, i == 1, lstmTensors) {
			list[BidirectionalLSTMTensor(LSTMTensor(t), i == 1)] = tensor
		}
		for g, gate := range []string{"input", "forget", "cell", "output"} {
			t := cellTensor{name + " auxiliary-to-" + gate + " weights", string("Uu"[i]) + "A", true}
			list[LSTMAuxWeights+4*i+g] = t
		}
	}
	list[LSTMInput], list[LSTMAux] = cellTensor{"input", "TBI", false}, cellTensor{"auxiliary input", "TBA", true}
	return list
}

var lstmRules = []string{
	"the three operands of the input gate are all there or all left off; without them it is 1 minus the forget gate",
	"cell-to-forget and cell-to-output weights are both there or both left off; cell-to-input weights are there with them and the input gate only",
	"the projection bias is there with the projection weights only; without these the output size is that of the units",
	"layer norm weights are all there or all left off, that of the input gate only with it",
}

func init() {
	cell, sequence, both := lstmTensors, lstmSequence(), lstmBidirectional()
	parameters := []Operand{
		int32Of("activation", "of the cell: 0 none, 1 RELU, 3 RELU6, 4 TANH, 6 LOGISTIC"),
		realNumber("cell clip", "bound of the cell state's magnitude; 0: none"),
		realNumber("projection clip", "bound of the projected output's magnitude; 0: none"),
	}
	timeMajor := flag("time major", "")
	state := func(name, shape string) Operand { return (&cellTensor{name: name, shape: shape}).operand() }
	norm := operands(cell[LSTMNormWeights:])
	for i := range norm {
		norm[i] = norm[i].since(3)
	}
	norm[0] = norm[0].trailing()
	bothNorm := BidirectionalLSTMTensor(LSTMNormWeights, false)
	register(
		Row{
			Type: nn.OpLstm, Since: 1,
			Forms: one(cell[0].leading(floats), operands(cell[1:LSTMNormWeights]), parameters, norm),
			Outputs: []Operand{
				like("scratch", exactly(2)), state("output state out", "BO"), state("cell state out", "BU"), state("result", "BO"),
			},
			Rules: append(lstmRules[:len(lstmRules):len(lstmRules)],
				"scratch is [batch, 4 * units], or 3 * units without an input gate: the input (where there is one), cell, forget and output gates"),
			rules: typed[SequenceLSTM]{
				attrs: func(p *params, a *SequenceLSTM) {
					a.read(p)
					checkLSTMParts(p, cell, func(t LSTMTensor) int { return int(t) })
				},
				shapes: lstmCellShapes,
			},
		},
		Row{
			Type: nn.OpUnidirectionalSequenceLstm, Since: 3,
			Forms: one(sequence[0].leading(floats), operands(sequence[1:LSTMNormWeights]), parameters, timeMajor,
				operands(sequence[LSTMNormWeights:])),
			Outputs: []Operand{like("result", exactly(3)), state("output state out", "BO").since(4).trailing(),
				state("cell state out", "BU").since(4)},
			Rules: append(lstmRules[:len(lstmRules):len(lstmRules)], "the result has the input's layout and the output size"),
			rules: typed[SequenceLSTM]{
				attrs: func(p *params, a *SequenceLSTM) {
					a.read(p)
					a.TimeMajor = p.flag("time major")
					checkLSTMParts(p, sequence, func(t LSTMTensor) int { return int(t) })
				},
				shapes: lstmShapes,
			},
		},
		Row{
			Type: nn.OpBidirectionalSequenceLstm, Since: 3,
			Forms: one(both[0].leading(floats), operands(both[1:bothNorm]), parameters, flag("merge outputs", ""), timeMajor,
				operands(both[bothNorm:])),
			Outputs: []Operand{
				like("forward or merged result", exactly(3)),
				like("backward result, or forward output state out where merged", Ranks{2, 3}).trailing(),
				like("forward output state out, or forward cell state out where merged", exactly(2)).since(4).trailing(),
				like("forward cell state out, or backward output state out where merged", exactly(2)).since(4),
				like("backward output state out, or backward cell state out where merged", exactly(2)).since(4),
				like("backward cell state out", exactly(2)).since(4).trailing(),
			},
			Rules: append(lstmRules[:len(lstmRules):len(lstmRules)], linkRules...),
			rules: typed[SequenceLSTM]{attrs: bidirectionalLSTMAttrs, shapes: bidirectionalLSTMShapes},
		},
	)
}

// SequenceLSTM are the attributes of LSTM, and of its sequences: TimeMajor and Merge are for the operations that have
// them. A clip of 0 is none.
type SequenceLSTM struct {
	Act       CellActivation `json:"act,omitempty"`
	CellClip  float64        `json:"cellClip,omitempty"`
	ProjClip  float64        `json:"projClip,omitempty"`
	TimeMajor bool           `json:"timeMajor,omitempty"`
	Merge     bool           `json:"merge,omitempty"`
}

func (SequenceLSTM) attrs() {}

// read decodes the parameters that all LSTMs have.
func (a *SequenceLSTM) read(p *params) {
	if a.Act = p.cellActivation(); a.Act == CellRelu1 {
		p.fail("activation %d", a.Act)
	}
	clip := func(name string) float64 {
		v, _ := p.real(name)
		if v < 0 {
			p.fail("%s is %v", name, v)
		}
		return v
	}
	a.CellClip, a.ProjClip = clip("cell clip"), clip("projection clip")
}

// checkLSTMParts tests which optional tensors of a cell go together. at gives their positions among the tensors.
func checkLSTMParts(p *params, tensors []cellTensor, at func(LSTMTensor) int) {
	if p.Undecided() != nil {
		return
	}
	positions := p.row.Tensors(p.Call)
	has := func(t LSTMTensor) bool { return at(t) < len(positions) && p.In(positions[at(t)]) != nil }
	together := func(what string, want bool, list ...LSTMTensor) {
		for _, t := range list {
			if has(t) != want {
				state := "is missing"
				if !want {
					state = "has no meaning"
				}
				p.fail("%s %s: %s", tensors[at(t)].name, state, what)
				return
			}
		}
	}
	gated := has(LSTMInputWeights)
	together("the input gate", gated, LSTMRecurrentWeights, LSTMBias)
	peephole := has(LSTMPeepholeForget)
	together("peephole connections", peephole, LSTMPeepholeOutput)
	together("peephole connection of the input gate", peephole && gated, LSTMPeepholeInput)
	if !has(LSTMProjectionWeights) {
		together("without projection weights", false, LSTMProjectionBias)
	}
	norm := has(LSTMNormWeights + GateForget)
	together("layer normalisation", norm, LSTMNormWeights+GateCell, LSTMNormWeights+GateOutput)
	together("layer normalisation of the input gate", norm && gated, LSTMNormWeights)
}

// projected tests that the output size is that of the units if there is no projection.
func projected(p *params, projection int, outputs, units uint32) error {
	if p.In(projection) == nil && outputs != units {
		return fmt.Errorf("output size %d of %d units without a projection", outputs, units)
	}
	return nil
}

func lstmCellShapes(p *params, _ *SequenceLSTM) ([]nn.Dims, error) {
	sizes, err := cellShapes(p, lstmTensors, true)
	if err != nil {
		return nil, err
	}
	gates := int64(4)
	if p.In(int(LSTMInputWeights)) == nil {
		gates = 3
	}
	scratch, err := toDim(gates * int64(sizes['U']))
	if err != nil {
		return nil, err
	}
	y := nn.Dims{sizes['B'], sizes['O']}
	return []nn.Dims{{sizes['B'], scratch}, y, {sizes['B'], sizes['U']}, y},
		projected(p, int(LSTMProjectionWeights), sizes['O'], sizes['U'])
}

func lstmShapes(p *params, a *SequenceLSTM) ([]nn.Dims, error) {
	sizes, err := cellShapes(p, lstmSequence(), a.TimeMajor)
	if err != nil {
		return nil, err
	}
	dims := []nn.Dims{sequenceDims(sizes, sizes['O'], a.TimeMajor), {sizes['B'], sizes['O']}, {sizes['B'], sizes['U']}}
	return dims[:len(p.Op.Outputs)], projected(p, int(LSTMProjectionWeights), sizes['O'], sizes['U'])
}

func bidirectionalLSTMAttrs(p *params, a *SequenceLSTM) {
	a.read(p)
	a.TimeMajor, a.Merge = p.flag("time major"), p.flag("merge outputs")
	p.mergeCount(a.Merge, 4)
	if p.Undecided() != nil {
		return
	}
	has := func(k int) bool { return p.In(k) != nil }
	linked := has(LSTMAuxWeights + GateForget)
	for i, backward := range []bool{false, true} {
		checkLSTMParts(p, lstmBidirectional(), func(t LSTMTensor) int { return BidirectionalLSTMTensor(t, backward) })
		for g := range 4 {
			k := LSTMAuxWeights + 4*i + g
			if gated := g != GateInput || has(BidirectionalLSTMTensor(LSTMInputWeights, backward)); has(k) != (linked && gated) {
				p.fail("input %d: auxiliary weights of some gates only", k)
			}
			p.linked(LSTMAux, k)
		}
	}
}

func bidirectionalLSTMShapes(p *params, a *SequenceLSTM) ([]nn.Dims, error) {
	sizes, err := cellShapes(p, lstmBidirectional(), a.TimeMajor)
	if err != nil {
		return nil, err
	}
	err = cmp.Or(backwardInput(sizes, p.linked(LSTMAux, LSTMAuxWeights+GateForget)),
		projected(p, BidirectionalLSTMTensor(LSTMProjectionWeights, false), sizes['O'], sizes['U']),
		projected(p, BidirectionalLSTMTensor(LSTMProjectionWeights, true), sizes['o'], sizes['u']))
	batch := sizes['B']
	return p.bidirectionalDims(sizes, sizes['O'], sizes['o'], a.TimeMajor, a.Merge, nn.Dims{batch, sizes['O']},
		nn.Dims{batch, sizes['U']}, nn.Dims{batch, sizes['o']}, nn.Dims{batch, sizes['u']}), err
}
