package ops

import (
	"fmt"

	"github.com/nngpu/nngpu/driver/nn"
)

// cellTensor describes a tensor of a recurrent cell. Its shape has a letter of cellSizes for each dimension.
type cellTensor struct {
	name, shape string
	omissible   bool
}

// cellSizes are the sizes that the tensors of a cell share. Lower-case letters are those of the backward cell.
var cellSizes = map[byte]string{
	'T': "steps", 'B': "batch", 'A': "auxiliary size", 'F': "filters", 'M': "memory size", 'S': "state size",
	'I': "input size", 'U': "units", 'O': "output size",
	'i': "backward input size", 'u': "backward units", 'o': "backward output size",
}

// operand describes the tensor as an operand of a row, of the type of input 0.
func (t *cellTensor) operand() Operand {
	o := like(t.name, exactly(len(t.shape)))
	o.Omissible = t.omissible
	for i := range len(t.shape) {
		if i > 0 {
			o.Note += ", "
		}
		o.Note += cellSizes[t.shape[i]]
	}
	o.Note = "[" + o.Note + "]"
	if t.shape[0] == 'T' {
		o.Note += "; batch before steps where time major is false"
	}
	return o
}

// leading describes the tensor as the operand that leads the list.
func (t *cellTensor) leading(s Types) Operand {
	o := t.operand()
	o.Types = fixed(s)
	return o
}

// operands are the operands of several tensors.
func operands(tensors []cellTensor) []Operand {
	var list []Operand
	for i := range tensors {
		list = append(list, tensors[i].operand())
	}
	return list
}

// cellShapes compares the tensors of a call with their description and returns the sizes, by letter.
func cellShapes(p *params, tensors []cellTensor, timeMajor bool) (map[byte]uint32, error) {
	sizes := map[byte]uint32{}
	for k, i := range p.row.Tensors(p.Call) {
		o, shape := p.In(i), tensors[k].shape
		if o == nil {
			continue
		}
		if shape[0] == 'T' && !timeMajor {
			shape = string([]byte{shape[1], shape[0], shape[2]})
		}
		for d, n := range o.Dims {
			letter := shape[d]
			if known, ok := sizes[letter]; ok && known != n {
				return nil, fmt.Errorf("input %d (%s) has dimensions %v; dimension %d is the %s, which is %d",
					i, tensors[k].name, []uint32(o.Dims), d, cellSizes[letter], known)
			}
			sizes[letter] = n
		}
	}
	return sizes, nil
}

// sequenceDims are the dimensions of a result with n numbers for each step and row.
func sequenceDims(sizes map[byte]uint32, n uint32, timeMajor bool) nn.Dims {
	if timeMajor {
		return nn.Dims{sizes['T'], sizes['B'], n}
	}
	return nn.Dims{sizes['B'], sizes['T'], n}
}

// CellActivation is the activation of a recurrent cell, by the numbers of the HAL.
type CellActivation int32

// Activations of recurrent cells. An LSTM cannot have RELU1.
const (
	CellNone     CellActivation = 0
	CellRelu     CellActivation = 1
	CellRelu1    CellActivation = 2
	CellRelu6    CellActivation = 3
	CellTanh     CellActivation = 4
	CellLogistic CellActivation = 6
)

// cellActivation reads the parameter of that name.
func (p *params) cellActivation() CellActivation {
	v, ok := p.int32("activation")
	a := CellActivation(v)
	if ok && (a < CellNone || a > CellLogistic || a == 5) {
		p.fail("activation %d", v)
	}
	return a
}

// direction renames the tensors of one of two cells, and the sizes of the backward one.
func direction(name string, backward bool, tensors []cellTensor) []cellTensor {
	var list []cellTensor
	for _, t := range tensors {
		shape := []byte(t.shape)
		for i, letter := range shape {
			if backward && letter != 'B' {
				shape[i] += 'a' - 'A'
			}
		}
		list = append(list, cellTensor{name + " " + t.name, string(shape), t.omissible})
	}
	return list
}

// linked tests the tensors that link the two cells of an operation to an earlier layer of such cells: the auxiliary
// input, which is the input of the backward cell where there are no auxiliary weights, else a second input of both. It
// reports whether it is the former.
func (p *params) linked(aux int, weights ...int) (parallel bool) {
	has := p.In(aux) != nil
	for _, i := range weights {
		if p.In(i) != nil && !has {
			p.fail("input %d: auxiliary weights without an auxiliary input", i)
		}
	}
	return has && p.In(weights[0]) == nil
}

// backwardInput compares the input size of the backward cell with that of its input.
func backwardInput(sizes map[byte]uint32, parallel bool) error {
	want := byte('I')
	if parallel {
		want = 'A'
	}
	if sizes['i'] != sizes[want] {
		return fmt.Errorf("%s %d, the %s is %d", cellSizes['i'], sizes['i'], cellSizes[want], sizes[want])
	}
	return nil
}

// mergeCount tests that the number of outputs is that of merged results, or that of one result for each direction.
func (p *params) mergeCount(merged bool, states int) {
	results := 2
	if merged {
		results = 1
	}
	if n := len(p.Op.Outputs); p.err == nil && n != results && n != results+states {
		p.fail("%d outputs; merge outputs is %v", n, merged)
	}
}

// bidirectionalDims are the dimensions of the outputs: results with n and m numbers for each step and row, or one with
// both, and then states.
func (p *params) bidirectionalDims(sizes map[byte]uint32, n, m uint32, timeMajor, merged bool, states ...nn.Dims) []nn.Dims {
	dims := []nn.Dims{sequenceDims(sizes, n, timeMajor), sequenceDims(sizes, m, timeMajor)}
	if merged {
		dims = []nn.Dims{sequenceDims(sizes, n+m, timeMajor)}
	}
	return append(dims, states...)[:len(p.Op.Outputs)]
}
