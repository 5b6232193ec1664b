package ops

import (
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

// lstmTensor describes a tensor of an LSTM. Its shape is a letter for each dimension, of lstmSizes.
type lstmTensor struct {
	name, shape string
	omissible   bool
}

var lstmSizes = map[byte]string{'T': "steps", 'B': "batch", 'I': "input size", 'U': "units", 'O': "output size"}

var lstmTensors = []lstmTensor{
	{"input", "TBI", false},
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

// operand is the row's operand of the tensor.
func (t *lstmTensor) operand() Operand {
	o := like(t.name, exactly(len(t.shape)))
	o.Omissible = t.omissible
	for i := range len(t.shape) {
		if i > 0 {
			o.Note += ", "
		}
		o.Note += lstmSizes[t.shape[i]]
	}
	o.Note = "[" + o.Note + "]"
	return o
}

func init() {
	state := func(name string, shape string) Operand {
		return (&lstmTensor{name: name, shape: shape}).operand().since(4)
	}
	inputs := []Operand{input(floats, exactly(3))}
	inputs[0].Note = "[steps, batch, input size]; [batch, steps, input size] where time major is false"
	for i := 1; i < len(lstmTensors); i++ {
		if LSTMTensor(i) == LSTMNormWeights {
			inputs = append(inputs,
				int32Of("activation", "of the cell: 0 none, 1 RELU, 3 RELU6, 4 TANH, 6 LOGISTIC"),
				realNumber("cell clip", "bound of the cell state's magnitude; 0: none"),
				realNumber("projection clip", "bound of the projected output's magnitude; 0: none"),
				flag("time major", ""))
		}
		inputs = append(inputs, lstmTensors[i].operand())
	}
	register(Row{
		Type: nn.OpUnidirectionalSequenceLstm, Since: 3,
		Forms:   one(inputs),
		Outputs: []Operand{like("result", exactly(3)), state("output state out", "BO").trailing(), state("cell state out", "BU")},
		Rules: []string{
			"the three operands of the input gate are all there or all left off; without them it is 1 minus the forget gate",
			"cell-to-forget and cell-to-output weights are both there or both left off; cell-to-input weights are there with them and the input gate only",
			"the projection bias is there with the projection weights only; without these the output size is that of the units",
			"layer norm weights are all there or all left off, that of the input gate only with it",
			"the result has the input's layout and the output size",
		},
		rules: typed[SequenceLSTM]{attrs: lstmAttrs, shapes: lstmShapes},
	})
}

// LSTMActivation is the activation of an LSTM's cell, by the numbers of the HAL.
type LSTMActivation int32

// Activations of an LSTM's cell.
const (
	LSTMNone     LSTMActivation = 0
	LSTMRelu     LSTMActivation = 1
	LSTMRelu6    LSTMActivation = 3
	LSTMTanh     LSTMActivation = 4
	LSTMLogistic LSTMActivation = 6
)

// SequenceLSTM are the attributes of UNIDIRECTIONAL_SEQUENCE_LSTM. A clip of 0 is none.
type SequenceLSTM struct {
	Act       LSTMActivation `json:"act,omitempty"`
	CellClip  float64        `json:"cellClip,omitempty"`
	ProjClip  float64        `json:"projClip,omitempty"`
	TimeMajor bool           `json:"timeMajor,omitempty"`
}

func (SequenceLSTM) attrs() {}

func lstmAttrs(p *params, a *SequenceLSTM) {
	if v, ok := p.int32("activation"); ok {
		switch a.Act = LSTMActivation(v); a.Act {
		case LSTMNone, LSTMRelu, LSTMRelu6, LSTMTanh, LSTMLogistic:
		default:
			p.fail("activation %d", v)
		}
	}
	clip := func(name string) float64 {
		v, _ := p.real(name)
		if v < 0 {
			p.fail("%s is %v", name, v)
		}
		return v
	}
	a.CellClip, a.ProjClip = clip("cell clip"), clip("projection clip")
	a.TimeMajor = p.flag("time major")
	checkLSTMParts(p)
}

// checkLSTMParts tests which optional tensors go together.
func checkLSTMParts(p *params) {
	tensors := p.row.Tensors(p.Call)
	has := func(t LSTMTensor) bool { return p.In(tensors[t]) != nil }
	together := func(what string, want bool, list ...LSTMTensor) {
		for _, t := range list {
			if has(t) != want {
				state := "is missing"
				if !want {
					state = "has no meaning"
				}
				p.fail("input %d (%s) %s: %s", tensors[t], lstmTensors[t].name, state, what)
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

func lstmShapes(p *params, a *SequenceLSTM) ([]nn.Dims, error) {
	sizes := map[byte]uint32{}
	for k, i := range p.row.Tensors(p.Call) {
		o, shape := p.In(i), lstmTensors[k].shape
		if o == nil {
			continue
		}
		if LSTMTensor(k) == LSTMInput && !a.TimeMajor {
			shape = "BTI"
		}
		for d, n := range o.Dims {
			letter := shape[d]
			if known, ok := sizes[letter]; ok && known != n {
				return nil, fmt.Errorf("input %d (%s) has dimensions %v; dimension %d is the %s, which is %d",
					i, lstmTensors[k].name, []uint32(o.Dims), d, lstmSizes[letter], known)
			}
			sizes[letter] = n
		}
	}
	if p.In(int(LSTMProjectionWeights)) == nil && sizes['O'] != sizes['U'] {
		return nil, fmt.Errorf("output size %d of %d units without a projection", sizes['O'], sizes['U'])
	}
	steps := nn.Dims{sizes['T'], sizes['B'], sizes['O']}
	if !a.TimeMajor {
		steps[0], steps[1] = steps[1], steps[0]
	}
	return []nn.Dims{steps, {sizes['B'], sizes['O']}, {sizes['B'], sizes['U']}}[:len(p.Op.Outputs)], nil
}
