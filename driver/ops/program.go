package ops

import (
	"errors"

	"github.com/nngpu/nngpu/driver/nn"
)

// Elementwise is the operation that does several elementwise ones at once. Only compilers make it. Its inputs and
// outputs are float tensors of one type; the outputs have one shape, to which the inputs broadcast.
const Elementwise = counted | 0xfffe

// Program are the attributes of Elementwise. Values are numbered: the inputs, the numbers, and the results of the
// steps.
type Program struct {
	Numbers []float32     `json:"numbers,omitempty"`
	Steps   []ProgramStep `json:"steps"`
	Results []int         `json:"results"` // by output, its value
}

// ProgramStep does the operation Op, without parameters and without an activation, on the values A and, where it takes two
// operands, B.
type ProgramStep struct {
	Op nn.OperationType `json:"op"`
	A  int              `json:"a"`
	B  int              `json:"b,omitempty"`
}

func (Program) attrs() {}

func init() {
	compiled[Elementwise] = &Row{
		Type: Elementwise, Forms: one(input(of(nn.TensorFloat32, nn.TensorFloat16), AnyRank)), Outputs: result(AnyRank),
		rules: typed[Program]{shapes: func(*params, *Program) ([]nn.Dims, error) {
			return nil, errors.New("made where shapes are known")
		}},
	}
}
