package ops

import "github.com/nngpu/nngpu/driver/nn"

// RNNTensor is the place of a tensor among those of an RNN (Row.Tensors).
type RNNTensor int

// The tensors of an RNN. The backward cell of BIDIRECTIONAL_SEQUENCE_RNN has four behind those of the forward one, like
// these from the weights on; then come the auxiliary input and its weights for each cell.
const (
	RNNInput            RNNTensor = 0
	RNNWeights          RNNTensor = 1
	RNNRecurrentWeights RNNTensor = 2
	RNNBias             RNNTensor = 3
	RNNState            RNNTensor = 4
	RNNBackward         RNNTensor = 4 // behind those of the forward cell
	RNNAux              RNNTensor = 9
	RNNAuxWeights       RNNTensor = 10 // forward, backward
)

var rnnTensors = []cellTensor{
	{"input", "BI", false}, {"weights", "UI", false}, {"recurrent weights", "UU", false}, {"bias", "U", false},
	{"hidden state in", "BU", false},
}

func rnnSequence() []cellTensor {
	return append([]cellTensor{{"input", "TBI", false}}, rnnTensors[RNNWeights:]...)
}

func rnnBidirectional() []cellTensor {
	list := append(rnnSequence()[:1], direction("forward", false, rnnTensors[RNNWeights:])...)
	list = append(list, direction("backward", true, rnnTensors[RNNWeights:])...)
	return append(list, cellTensor{"auxiliary input", "TBA", true},
		cellTensor{"forward auxiliary weights", "UA", true}, cellTensor{"backward auxiliary weights", "uA", true})
}

// RNN are the attributes of RNN, and of its sequences: TimeMajor and Merge are for the operations that have them.
type RNN struct {
	Act       CellActivation `json:"act,omitempty"`
	TimeMajor bool           `json:"timeMajor,omitempty"`
	Merge     bool           `json:"merge,omitempty"`
}

func (RNN) attrs() {}

func init() {
	act := int32Of("activation", "0 none, 1 RELU, 2 RELU1, 3 RELU6, 4 TANH, 6 LOGISTIC")
	cell, sequence, both := rnnTensors, rnnSequence(), rnnBidirectional()
	state := func(name string) Operand { return like(name, exactly(2)) }
	register(
		Row{
			Type: nn.OpRnn, Since: 1,
			Forms:   one(cell[0].leading(floats), operands(cell[1:]), act),
			Outputs: []Operand{state("hidden state out"), state("result")},
			Rules:   []string{"both outputs are the activation of weights * input + recurrent weights * state + bias"},
			rules: typed[RNN]{
				attrs: func(p *params, a *RNN) { a.Act = p.cellActivation() },
				shapes: func(p *params, _ *RNN) ([]nn.Dims, error) {
					sizes, err := cellShapes(p, cell, true)
					y := nn.Dims{sizes['B'], sizes['U']}
					return []nn.Dims{y, y}, err
				},
			},
		},
		Row{
			Type: nn.OpUnidirectionalSequenceRnn, Since: 3,
			Forms:   one(sequence[0].leading(floats), operands(sequence[1:]), act, int32Of("time major", "0 or 1")),
			Outputs: []Operand{like("result", exactly(3)), state("hidden state out").since(4).trailing()},
			Rules:   []string{"the result has the input's layout and as many numbers as units"},
			rules: typed[RNN]{
				attrs: func(p *params, a *RNN) {
					major, _ := p.int32("time major")
					if major != 0 && major != 1 {
						p.fail("time major %d", major)
					}
					a.Act, a.TimeMajor = p.cellActivation(), major == 1
				},
				shapes: func(p *params, a *RNN) ([]nn.Dims, error) {
					sizes, err := cellShapes(p, sequence, a.TimeMajor)
					dims := []nn.Dims{sequenceDims(sizes, sizes['U'], a.TimeMajor), {sizes['B'], sizes['U']}}
					return dims[:len(p.Op.Outputs)], err
				},
			},
		},
		Row{
			Type: nn.OpBidirectionalSequenceRnn, Since: 3,
			Forms: one(both[0].leading(floats), operands(both[1:]), act, flag("time major", ""), flag("merge outputs", "")),
			Outputs: []Operand{
				like("forward or merged result", exactly(3)),
				like("backward result, or forward state out where merged", Ranks{2, 3}).trailing(),
				state("forward state out, or backward state out where merged").since(4).trailing(),
				state("backward state out").since(4).trailing(),
			},
			Rules: linkRules,
			rules: typed[RNN]{
				attrs: func(p *params, a *RNN) {
					a.Act, a.TimeMajor, a.Merge = p.cellActivation(), p.flag("time major"), p.flag("merge outputs")
					p.mergeCount(a.Merge, 2)
					if p.Undecided() != nil {
						return
					}
					p.linked(int(RNNAux), int(RNNAuxWeights), int(RNNAuxWeights)+1)
					if (p.In(int(RNNAuxWeights)) == nil) != (p.In(int(RNNAuxWeights)+1) == nil) {
						p.fail("auxiliary weights of one direction only")
					}
				},
				shapes: func(p *params, a *RNN) ([]nn.Dims, error) {
					sizes, err := cellShapes(p, both, a.TimeMajor)
					if err == nil {
						err = backwardInput(sizes, p.linked(int(RNNAux), int(RNNAuxWeights)))
					}
					states := []nn.Dims{{sizes['B'], sizes['U']}, {sizes['B'], sizes['u']}}
					return p.bidirectionalDims(sizes, sizes['U'], sizes['u'], a.TimeMajor, a.Merge, states...), err
				},
			},
		},
	)
}

// linkRules are the rules of bidirectional cells.
var linkRules = []string{
	"merged, there is one result, with the numbers of the forward cell before those of the backward one",
	"results have the input's layout; states are there together or not at all",
	"an auxiliary input without auxiliary weights is the input of the backward cell; with them, which are there for both " +
		"cells, both read both inputs",
}
