// Package ops is the table of operations: what operands each takes, of which types, and what shape comes
// out. Validation, importers and the compiler read the same rows, so that they cannot disagree, and
// docs/operators.md is written from them.
//
// One family a file; adding an operation is adding a row. Facts are those of the NN HAL (feature levels 1
// to 8). Imports only driver/nn.
package ops

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/nngpu/nngpu/driver/nn"
)

// ErrNotConstant marks an error about a call that is valid, but whose parameters (a paddings or axes
// tensor, a shape) are computed or fed at run time, so that nothing can be decided when the model is
// compiled.
var ErrNotConstant = errors.New("parameter is not a constant")

// ErrOpenShape marks an error about a call whose input shapes are not known when the model is compiled.
var ErrOpenShape = errors.New("input dimensions are not known")

// Attrs are the parameters of an operation, decoded from its scalar and small constant operands. Fields
// that an operation does not use are zero. Pairs are height, width. Where Inferred.Fed names a parameter,
// its field (Pads, Perm, or Axes of MEAN) is nil.
type Attrs struct {
	Act        nn.Activation `json:"act,omitempty"`
	Stride     [2]int        `json:"stride,omitzero"`
	Dilation   [2]int        `json:"dilation,omitzero"`
	Window     [2]int        `json:"window,omitzero"`
	Pad        Pad           `json:"pad,omitzero"` // explicit, also where the operation names a scheme
	NCHW       bool          `json:"nchw,omitempty"`
	Multiplier int           `json:"multiplier,omitempty"` // DEPTHWISE_CONV_2D: Co / Ci
	Axes       []int         `json:"axes,omitempty"`       // 0 <= axis < rank, ascending (MEAN); one (softmax, CONCATENATION, EXPAND_DIMS unless known only at run time)
	Perm       []int         `json:"perm,omitempty"`       // output dimension i is input dimension Perm[i]
	Pads       [][2]int      `json:"pads,omitempty"`       // before and after, for each dimension
	// Value is what PAD and PAD_V2 fill with: the real value of a float type, the stored integer of a
	// quantised one (PAD: the zero point).
	Value        float64 `json:"value,omitempty"`
	Symmetric    bool    `json:"symmetric,omitempty"` // MIRROR_PAD: the edge is repeated
	AlignCorners bool    `json:"alignCorners,omitempty"`
	HalfPixel    bool    `json:"halfPixel,omitempty"`
	Beta         float64 `json:"beta,omitempty"`  // SOFTMAX, LOG_SOFTMAX
	Alpha        float64 `json:"alpha,omitempty"` // ELU
}

// Pad is explicit padding in elements.
type Pad struct {
	Top    int `json:"top,omitempty"`
	Bottom int `json:"bottom,omitempty"`
	Left   int `json:"left,omitempty"`
	Right  int `json:"right,omitempty"`
}

// Call is one operation of a graph with access to its operands.
type Call struct {
	Model *nn.Model
	Graph *nn.Graph
	Op    *nn.Operation

	row  *Row  // set while a row reads the call
	form *Form // the one that the inputs have
}

// In returns input operand i, nil when it is left off (fewer inputs, or lifetime NO_VALUE).
func (c *Call) In(i int) *nn.Operand {
	if i >= len(c.Op.Inputs) {
		return nil
	}
	o := &c.Graph.Operands[c.Op.Inputs[i]]
	if o.Lifetime == nn.NoValue {
		return nil
	}
	return o
}

// Out returns output operand i.
func (c *Call) Out(i int) *nn.Operand { return &c.Graph.Operands[c.Op.Outputs[i]] }

// Inferred is what the table knows of a call whose input shapes and parameters are known.
type Inferred struct {
	// Data lists the positions of the inputs that hold tensors for the kernel; the others are parameters,
	// decoded in Attrs. Positions of absent optional tensors are left out.
	Data  []int
	Attrs Attrs
	// Shapes has the dimensions of each output.
	Shapes []nn.Dims
	// Fed is the position of a parameter that is known only at run time, the last of Data; 0 for none. Its
	// values must be expected to be anything, among them values that contradict Shapes.
	Fed int
	// FedDims are the dimensions of that parameter, which its operand may leave open.
	FedDims nn.Dims
}

var table = map[nn.OperationType]*Row{}

// register adds rows; called by the init function of each family's file.
func register(rows ...Row) {
	for i := range rows {
		r := rows[i]
		if table[r.Type] != nil {
			panic(fmt.Sprintf("ops: %v stands twice in the table", r.Type))
		}
		table[r.Type] = &r
	}
}

// Lookup returns the row of t, nil when the table has none.
func Lookup(t nn.OperationType) *Row { return table[t] }

// All returns the rows in the order of their numbers.
func All() []*Row {
	return slices.SortedFunc(maps.Values(table), func(a, b *Row) int { return int(a.Type) - int(b.Type) })
}
