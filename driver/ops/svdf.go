package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// SVDFTensor is the place of a tensor among those of SVDF (Row.Tensors).
type SVDFTensor int

// The tensors of SVDF.
const (
	SVDFInput SVDFTensor = iota
	SVDFFeatureWeights
	SVDFTimeWeights
	SVDFBias
	SVDFState
)

var svdfTensors = []cellTensor{
	{"input", "BI", false}, {"feature weights", "FI", false}, {"time weights", "FM", false}, {"bias", "U", true},
	{"state in", "BS", false},
}

// SVDF are the attributes of SVDF. Rank divides the number of filters: it is the number of filters of a unit.
type SVDF struct {
	Act  CellActivation `json:"act,omitempty"`
	Rank int            `json:"rank"`
}

func (SVDF) attrs() {}

func init() {
	register(Row{
		Type: nn.OpSvdf, Since: 1,
		Forms: one(svdfTensors[0].leading(floats), operands(svdfTensors[1:]), int32Of("rank", "filters of a unit"),
			int32Of("activation", "0 none, 1 RELU, 2 RELU1, 3 RELU6, 4 TANH, 6 LOGISTIC")),
		Outputs: []Operand{like("state out", exactly(2)), like("result", exactly(2))},
		Rules: []string{
			"the state is [batch, filters * memory size]; its last number of each filter gives way to feature weights * input",
			"the result is the activation of the bias and, for each unit, the sum of its filters' state * time weights",
			"the state that comes out is moved by one: its last number of each filter is 0",
		},
		rules: typed[SVDF]{
			attrs: func(p *params, a *SVDF) { a.Rank, a.Act = p.atLeast("rank", 1), p.cellActivation() },
			shapes: func(p *params, a *SVDF) ([]nn.Dims, error) {
				sizes, err := cellShapes(p, svdfTensors, true)
				if err != nil {
					return nil, err
				}
				filters, units := sizes['F'], sizes['F']/uint32(a.Rank)
				if filters%uint32(a.Rank) != 0 {
					return nil, fmt.Errorf("%d filters of rank %d", filters, a.Rank)
				}
				if u, ok := sizes['U']; ok && u != units {
					return nil, fmt.Errorf("bias of %d units, the filters are of %d", u, units)
				}
				if uint64(sizes['S']) != uint64(filters)*uint64(sizes['M']) {
					return nil, fmt.Errorf("state of %d numbers, %d filters have a memory of %d", sizes['S'], filters, sizes['M'])
				}
				return []nn.Dims{{sizes['B'], sizes['S']}, {sizes['B'], units}}, nil
			},
		},
	})
}
